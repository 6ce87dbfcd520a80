# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Graphs of exported programs as plain data, for tools that draw them."""
