# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The runtime in Python: `portable_lib` exports the names of the compiled module `_portable_lib`; `aten_lib` and
`_aten_lib` do the same with ATen's tensors and kernels."""
