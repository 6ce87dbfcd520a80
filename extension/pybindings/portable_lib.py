# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Loading and running programs with the C++ runtime; `executorch.runtime` is the interface above it.

Inputs are a list or tuple (or one tensor): numpy arrays, objects with a buffer or with `__dlpack__` (torch tensors
among them) for tensors, and `int`, `float`, `bool`, `str` or `None` where the method takes those. Tensors must have
the method's dtype and rank; any layout is taken, and copied if it is not the method's own.

Output tensors are of the kind of the first input tensor: torch for torch, numpy for numpy and buffers, and for
another library its own if it follows the array API standard. Without an input tensor they are torch's if `torch` has
been imported, else numpy's. An element type that numpy lacks (bfloat16, without `ml_dtypes` imported) comes as a
`Tensor`, which any reader of DLPack takes.

With `clone_outputs=True` outputs have memory of their own. With `clone_outputs=False` they show the method's memory
where that is possible: no copy is made, they stay valid memory after method, program and source are gone, and the next
call of the method overwrites what they show.

A bundled program (`.bpte`) is loaded by `_load_bundled_program_from_buffer`, its program by
`_load_for_executorch_from_bundled_program`; `verify_result_with_bundled_expected_output` runs one of its test cases and
raises `InvalidArgumentError` if an output is not within the tolerances.

Names of the documented interface whose subject is not there (the old profiler) raise `NotSupportedError` when they are
called.

While a program loads or runs, other Python threads run. Errors are the classes of `executorch.runtime.errors`.
"""

from executorch.extension.pybindings._portable_lib import (
    BundledModule,
    ExecuTorchExecution,
    ExecuTorchMethod,
    ExecuTorchModule,
    ExecuTorchProgram,
    MethodMeta,
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
    "_load_program",
    "_load_program_from_buffer",
    "_reset_profile_results",
    "_set_backend_options",
    "_threadpool_get_thread_count",
    "_unsafe_reset_threadpool",
]
