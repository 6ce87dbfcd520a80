# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The type of data loaders that pybind11 modules of users make for `_load_for_executorch_from_data_loader`.

`pybindings_data_loader.h` declares the C++ class. Python cannot make an object of it.
"""

from executorch.extension.pybindings._portable_lib import PyDataLoader

__all__ = ["PyDataLoader"]
