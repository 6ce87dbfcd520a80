# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Loading and running programs with the C++ runtime; `executorch.runtime` is the interface above it.

Inputs are a list or tuple (or one tensor). Tensors are numpy arrays or objects with a buffer or `__dlpack__`, such as
torch tensors; other inputs are `int`, `float`, `bool`, `str` or `None`. Tensors must have the method's dtype and rank;
a tensor whose layout differs from the method's is copied.

Output tensors belong to the library of the first input tensor: torch for torch, numpy for numpy and buffers, and
another library if it follows the array API standard. Without an input tensor they are torch tensors if `torch` has
been imported, else numpy arrays. Where numpy lacks the element type (bfloat16, without `ml_dtypes` imported), the
output is a `Tensor`, which DLPack consumers can read.

With `clone_outputs=True` outputs have memory of their own. With `clone_outputs=False` they are views of the method's
memory where that is possible: nothing is copied, the next call of the method overwrites them, and their memory stays
valid after method, program and source are gone.

A bundled program (`.bpte`) is loaded by `_load_bundled_program_from_buffer`, its program by
`_load_for_executorch_from_bundled_program`, with weights outside of it from bytes (`data_map_buffer`) or a file
(`data_path`); `verify_result_with_bundled_expected_output` runs one of its test cases and raises `InvalidArgumentError`
if an output exceeds the tolerances.

`_load_for_executorch_from_data_loader` takes a `PyDataLoader`, which a pybind11 module of the user makes: C++ code that
reads compressed or remote programs.

Documented functions of features that this build lacks (the old profiler) raise `NotSupportedError` when called.

While a program loads or runs, other Python threads run. Errors are the classes of `executorch.runtime.errors`.
"""

from executorch.extension.pybindings._portable_lib import (
    BundledModule,
    ExecuTorchExecution,
    ExecuTorchMethod,
    ExecuTorchModule,
    ExecuTorchProgram,
    MethodMeta,
    PyDataLoader,
    Tensor,
    TensorInfo,
    ThreadPool,
    Verification,
    _create_profile_block,
    _default_max_planned_bytes,
    _dump_profile_results,
    _execute_async,
    _get_operator_names,
    _get_registered_backend_names,
    _is_available,
    _load_bundled_program_from_buffer,
    _load_for_executorch,
    _load_for_executorch_from_buffer,
    _load_for_executorch_from_bundled_program,
    _load_for_executorch_from_data_loader,
    _load_program,
    _load_program_from_buffer,
    _reset_profile_results,
    _set_backend_options,
    _threadpool_get_thread_count,
    _unsafe_reset_threadpool,
)

__all__ = [
    "BundledModule",
    "ExecuTorchExecution",
    "ExecuTorchMethod",
    "ExecuTorchModule",
    "ExecuTorchProgram",
    "MethodMeta",
    "PyDataLoader",
    "Tensor",
    "TensorInfo",
    "ThreadPool",
    "Verification",
    "_create_profile_block",
    "_default_max_planned_bytes",
    "_dump_profile_results",
    "_execute_async",
    "_get_operator_names",
    "_get_registered_backend_names",
    "_is_available",
    "_load_bundled_program_from_buffer",
    "_load_for_executorch",
    "_load_for_executorch_from_buffer",
    "_load_for_executorch_from_bundled_program",
    "_load_for_executorch_from_data_loader",
    "_load_program",
    "_load_program_from_buffer",
    "_reset_profile_results",
    "_set_backend_options",
    "_threadpool_get_thread_count",
    "_unsafe_reset_threadpool",
]
