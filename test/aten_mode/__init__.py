# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The build in which a tensor is `at::Tensor`."""
