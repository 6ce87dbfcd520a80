# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Documented demo backends and partitioners, which lower but do not run."""
