# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What is built on the runtime: the Python binding, loaders, modules, tensors, programs."""
