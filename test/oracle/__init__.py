# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What tests compare with: eager PyTorch, the peer, and single kernels."""
