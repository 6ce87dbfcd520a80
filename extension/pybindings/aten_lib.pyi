# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
from executorch.extension.pybindings.portable_lib import *  # noqa: F403 - the same names
