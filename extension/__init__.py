# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Libraries on top of the runtime: the Python binding, loaders, modules, tensors, programs."""
