# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What of a model's size are weights, and what are delegates."""
