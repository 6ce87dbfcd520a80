# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""References of the tests: eager PyTorch, the peer, and single kernels."""
