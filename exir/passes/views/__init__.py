# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Passes from views to copies (for the Edge dialect), and from copies to views of the memory plan."""
