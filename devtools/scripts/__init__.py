# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Documented scripts of the developer tools."""
