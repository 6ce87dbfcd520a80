# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The configurations of lowering to the Edge dialect, and from there to a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from torch._ops import OpOverload
from torch.fx import Node

from executorch.exir.dialects.operator_table import OperatorTable
from executorch.exir.dynamic_shape import DynamicMemoryPlanningMode
from executorch.exir.error import ExportError, ExportErrorType
from executorch.exir.pass_base import PassType
from executorch.exir.passes.memory.memory_planning_pass import MemoryPlanningPass
from executorch.exir.passes.memory.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass
from executorch.exir.passes.memory.to_out_var_pass import ToOutVarPass


@dataclass
class EdgeCompileConfig:
    """Options of lowering to the Edge dialect. Fields marked "addition" are not in ExecuTorch 1.4.

    _check_ir_validity: run the dialects' verifiers.
    _skip_dim_order: keep memory formats (`_to_copy`, `clone`) instead of dim orders.
    _core_aten_ops_exception_list: operators outside of Core ATen that may stay in the graph.
    preserve_ops: operators that are not decomposed, and may stay in the graph.
    strict: `to_executorch` refuses a program with fallbacks from a requested partitioner (addition; see
        report/lowering_report.py).
    unroll_recurrent: unroll the steps of LSTM, GRU and RNN layers, for kernel libraries without the operators
        `recurrent::…`, and for backends that support only the steps; sequences then have one length (addition; see
        dialects/recurrent_ops.py).
    """

    _check_ir_validity: bool = True
    _skip_dim_order: bool = False
    _core_aten_ops_exception_list: list[OpOverload] = field(default_factory=list)
    preserve_ops: list[OpOverload] = field(default_factory=list)
    strict: bool = False
    unroll_recurrent: bool = False

    def __post_init__(self) -> None:
        """Replace None by empty lists."""
        self._core_aten_ops_exception_list = self._core_aten_ops_exception_list or []
        self.preserve_ops = self.preserve_ops or []


@dataclass
class ExecutorchBackendConfig:
    """Options of `to_executorch`. Fields marked "addition" are not in ExecuTorch 1.4.

    passes: passes on the edge program, which run first.
    memory_planning_pass, sym_shape_eval_pass: one pass, or a dict by method name.
    to_out_var_pass: the pass that creates out variants and allocations.
    emit_stacktrace: store the stack trace of each instruction.
    extract_delegate_segments: store payloads of delegates as segments instead of in the flatbuffer.
    segment_alignment, constant_tensor_alignment, delegate_alignment: in bytes; None for the serializer's default.
    remove_view_copy: turn copies that only change the shape into views.
    external_constants: parameters, buffers and tensor attributes go to a .ptd file: True (all, to one file), or a
        function from a weight's placeholder node to the name of its file (without ending), None for the program itself.
    external_mutable_weights: parameters whose gradients a method returns go to a .ptd file.
    emit_mutable_buffer_names: store the names of mutable buffers.
    do_quant_fusion_and_const_prop: first replace quantized patterns by operators on integers, and fold calls on
        constants (passes/quantized/quant_fusion_pass.py).
    run_reinplace_pass: write parts of state (KV caches) in place instead of copying the state.
    reinplace_extra_ops: further edge operators to run in place where that is safe (passes/state/reinplace.py).
    fuse_quantized: outside of delegates, replace dequantize, compute, quantize by operators on int8,
        `quantized_fused::…`, if the target has their kernels (addition; passes/quantized/fuse_quantized_pass.py).
    tune_for_optimized_kernels: outside of delegates, store images between convolutions in channels last, and compute
        hardsigmoid, hardswish, silu, and products of one row with transposed matrices by one operator each (addition;
        docs/passes.md). Faster with this project's optimized kernels; runtimes of ExecuTorch 1.4 may lack these
        operators or misread layouts.
    check_target: raise an error for calls without a kernel on the target, by operator, dtypes and dim order, and for
        delegates that their backend rejects (addition; program/target.py).
    target_manifest: the operators of the target: the path of a table (form: dialects/operator_table.py) or of a kernel
        library's functions.yaml, or names ("aten::add.out", …); None: the kernel libraries beside this package.

    A field that is not supported yet raises `ExportError` when it is set.
    """

    passes: list[PassType] = field(default_factory=list)
    memory_planning_pass: PassType | dict[str, PassType] = field(default_factory=MemoryPlanningPass)
    propagate_device_config: object = None
    to_out_var_pass: PassType = field(default_factory=ToOutVarPass)
    dynamic_memory_planning_mode: DynamicMemoryPlanningMode = DynamicMemoryPlanningMode.UPPER_BOUND
    emit_stacktrace: bool = False
    extract_delegate_segments: bool = True
    segment_alignment: int = 128
    constant_tensor_alignment: int | None = None
    delegate_alignment: int | None = None
    sym_shape_eval_pass: PassType | dict[str, PassType] = field(default_factory=ConstraintBasedSymShapeEvalPass)
    remove_view_copy: bool = True
    external_constants: bool | Callable[[Node], str | None] = False
    external_mutable_weights: bool = False
    emit_mutable_buffer_names: bool = False
    do_quant_fusion_and_const_prop: bool = False
    run_reinplace_pass: bool = True
    enable_non_cpu_memory_planning: bool = True
    reinplace_extra_ops: frozenset[object] | None = None
    fuse_quantized: bool = True
    tune_for_optimized_kernels: bool = False
    check_target: bool = True
    target_manifest: OperatorTable | Path | str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        defaults = {entry.name: entry.default for entry in fields(self)}
        for name in _NOT_SUPPORTED:
            if getattr(self, name) != defaults[name]:
                raise ExportError(
                    ExportErrorType.NOT_SUPPORTED,
                    f"ExecutorchBackendConfig.{name}={getattr(self, name)!r} is not supported yet",
                )


_NOT_SUPPORTED = ("propagate_device_config",)
