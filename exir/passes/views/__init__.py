# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Copies that show existing memory become views, and views become copies for the edge dialect."""
