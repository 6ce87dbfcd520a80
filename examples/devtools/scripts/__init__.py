# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Documented scripts that write a bundled program and an ETRecord."""
