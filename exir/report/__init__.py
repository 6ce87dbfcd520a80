# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Reports on a lowered program: where each operator runs, why, and its cost."""
