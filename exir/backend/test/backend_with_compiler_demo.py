# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""BackendWithCompilerDemo: the smallest backend that really compiles something."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.delegate.delegate_mapping import debug_handles, one_to_one
from executorch.exir.backend.test.demo_payload import encode
from executorch.exir.schema import CompileSpec

# Operators that the compiler accepts → their names in the payload. The last two show that a partitioner can keep
# operators whole; the demo's runtime lacks them and rejects such a program at load.
NAMES = {
    "aten.add.Tensor": "add",
    "aten.sub.Tensor": "sub",
    "aten.mul.Tensor": "mul",
    "aten.sin.default": "sin",
    "aten.mm.default": "mm",
    "aten.linear.default": "linear",
    "aten.scaled_dot_product_attention.default": "scaled_dot_product_attention",
    "aten.upsample_nearest2d.vec": "upsample_nearest2d",
}


@final
class BackendWithCompilerDemo(BackendDetails):
    """Compiles add, sub, mul, sin, mm and linear on float32, and updates of buffers that the partition owns, to the
    payload that `demo_payload` describes.

    RuntimeError: any other operator or dtype.
    """

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        handles = debug_handles(edge_program.graph)
        return PreprocessResult(
            processed_bytes=encode(edge_program, NAMES, BackendWithCompilerDemo.__name__),
            debug_handle_map=one_to_one(handles),
            _delegate_info_meta="test",
        )
