# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What became of a lowered program: where each operator runs, why, and what it costs."""
