# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Independent checks of a finished plan."""
