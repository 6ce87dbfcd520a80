# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Plans for sizes that are only known at run time."""
