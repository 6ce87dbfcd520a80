# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The runtime in Python: `portable_lib` has the names, `_portable_lib` is the compiled module behind it;
`aten_lib` and `_aten_lib` are the same with ATen's tensors and kernels."""
