# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Documented passes that no pipeline runs; users call them."""
