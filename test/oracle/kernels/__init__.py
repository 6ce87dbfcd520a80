# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Single kernels on torch tensors, compared with eager PyTorch."""
