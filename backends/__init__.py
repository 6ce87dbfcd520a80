# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Backends, a package each."""
