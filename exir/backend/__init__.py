# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Partitioners, backends and delegates: the documented interfaces, and their use in a program."""
