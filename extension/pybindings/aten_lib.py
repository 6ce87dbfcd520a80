# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs with ATen's tensors and kernels: the interface of `portable_lib`, in ATen mode.

Operators run on torch's own kernels, custom operators included, as they are registered when a program is loaded;
operators that torch lacks run on the portable library. XNNPACK delegates run if the extension was built with XNNPACK.
Everything else, tensors without a size bound included, works as in `portable_lib`.

The extension is built on request, because it is compiled against torch. To build it from a checkout, in an environment
with torch:

    EXECUTORCH_CMAKE_ARGS=-DEXECUTORCH_BUILD_ATEN=ON pip install --no-build-isolation .

Without the extension, importing this module raises an ImportError with these instructions.
"""

from executorch.extension.pybindings import portable_lib

try:
    import torch  # noqa: F401 - it loads the libraries that the extension is linked with

    from executorch.extension.pybindings import _aten_lib
except ImportError as error:
    raise ImportError(
        f"aten_lib is not built ({error}): in an environment with torch and from a checkout, "
        "`EXECUTORCH_CMAKE_ARGS=-DEXECUTORCH_BUILD_ATEN=ON pip install --no-build-isolation .` builds it"
    ) from error

__all__ = portable_lib.__all__
# A data loader is of one type in both.
globals().update({name: getattr(_aten_lib, name) for name in __all__ if name != "PyDataLoader"})
PyDataLoader = portable_lib.PyDataLoader
