# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The partitioner: which nodes become a delegate, and why others do not."""
