# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The order of all transformations, with the reason for each place. No other module decides it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType

from torch import fx
from torch.export import ExportedProgram

from executorch.exir.capture import EdgeCompileConfig, ExecutorchBackendConfig
from executorch.exir.error import ExportError
from executorch.exir.passes.edge.aten_to_edge_pass import AtenToEdgePass
from executorch.exir.passes.edge.debug_handle_generator_pass import DebugHandleGeneratorPass
from executorch.exir.passes.edge.inferred_sizes_pass import InferredSizesPass
from executorch.exir.passes.edge.memory_format_ops_pass import MemoryFormatOpsPass
from executorch.exir.passes.edge.promote_dtypes_pass import PromoteDtypesPass
from executorch.exir.passes.edge.remove_graph_asserts_pass import RemoveGraphAssertsPass
from executorch.exir.passes.edge.replace_sym_ops_pass import ReplaceSymOpsPass
from executorch.exir.passes.edge.scalar_to_tensor_pass import ScalarToTensorPass
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.passes.memory.spec_prop_pass import SpecPropPass, constant_names
from executorch.exir.passes.quantized.fold_quantization_pass import FoldQuantizationPass
from executorch.exir.passes.quantized.fuse_quantized_pass import fuse_quantized
from executorch.exir.passes.quantized.quantization_parameters import check_quantization_parameters
from executorch.exir.passes.quantized.quantized_rows import look_up_quantized_rows
from executorch.exir.passes.simplify.cancel_rearrangements_pass import CancelRearrangementsPass
from executorch.exir.passes.simplify.cse_pass import CSEPass
from executorch.exir.passes.simplify.dead_code_elimination_pass import DeadCodeEliminationPass
from executorch.exir.passes.simplify.fold_batch_norm import fold_batch_norm
from executorch.exir.passes.simplify.fold_constants import fold_constants
from executorch.exir.passes.simplify.lower_permute_rank_pass import LowerPermuteRankPass
from executorch.exir.passes.simplify.recompose_activations import recompose_activations
from executorch.exir.passes.simplify.recompose_linear import recompose_linear
from executorch.exir.passes.simplify.remove_noop_pass import RemoveNoopPass
from executorch.exir.passes.simplify.split_complex_pass import SplitComplexPass
from executorch.exir.passes.simplify.use_channels_last_pass import UseChannelsLastPass
from executorch.exir.passes.state.external_constants_pass import tag_external_constants, tag_external_mutable_weights
from executorch.exir.passes.state.insert_write_back_for_buffers_pass import insert_write_back_for_buffers
from executorch.exir.passes.state.mutable_calls import restore_mutable_calls
from executorch.exir.passes.state.reinplace import DEFAULT_INPLACEABLE_OPS, reinplace_pass
from executorch.exir.passes.views.functional_views_pass import FunctionalViewsPass
from executorch.exir.passes.views.normalize_views_pass import NormalizeViewsPass
from executorch.exir.passes.views.replace_view_copy_with_view_pass import ReplaceViewCopyWithViewPass
from executorch.exir.program.target import target_operators
from executorch.exir.rewrite.program_constants import drop_unused_constants, lift_tensor_attributes
from executorch.exir.rewrite.program_signature import sync_signature
from executorch.exir.rewrite.scalar_inputs_to_tensors import scalar_inputs_to_tensors

Step = Callable[[ExportedProgram], None]


def _named(implementation: Callable[..., object], step: Step) -> Step:
    """Give a step the name and the docstring of the pass that it runs: docs/_ext/pipeline_steps.py lists them."""
    return functools.update_wrapper(step, implementation, updated=())


def _on_graph(graph_pass: Callable[..., object]) -> Step:
    def step(program: ExportedProgram) -> None:
        if isinstance(graph_pass, GraphPass):
            graph_pass.rewrite(program.graph_module)  # the end of a lowering generates the code once
        else:
            graph_pass(program.graph_module)

    return _named(graph_pass if isinstance(graph_pass, FunctionType) else type(graph_pass), step)


def _set_specs() -> Step:
    def step(program: ExportedProgram) -> None:
        SpecPropPass().propagate(program.graph_module, constant_names(program))

    return _named(SpecPropPass, step)


def _reinplace(config: ExecutorchBackendConfig) -> Step:
    wanted = DEFAULT_INPLACEABLE_OPS | (config.reinplace_extra_ops or frozenset())

    def step(program: ExportedProgram) -> None:
        reinplace_pass(program, wanted)

    return _named(reinplace_pass, step)


def _fuse_quantized(config: ExecutorchBackendConfig) -> Step:
    def step(program: ExportedProgram) -> None:
        target = target_operators(config.target_manifest)
        fuse_quantized(program, lambda name: target.find(name) is not None)

    return _named(fuse_quantized, step)


def _tag_external_constants(config: ExecutorchBackendConfig) -> Step:
    chosen = config.external_constants

    def step(program: ExportedProgram) -> None:
        tag_external_constants(program, chosen if callable(chosen) else None)

    return _named(tag_external_constants, step)


def steps_to_edge(config: EdgeCompileConfig) -> list[Step]:
    """Core ATen → edge. Every step rewrites the graph in place."""
    steps: list[Step] = [
        # First: asserts keep unread values alive, and the verifier refuses them because they are not Core ATen.
        _on_graph(RemoveGraphAssertsPass()),
        _on_graph(FunctionalViewsPass()),  # before steps that read layouts: copies are contiguous, views are not
        _on_graph(SplitComplexPass()),  # calls that move elements are copies now
        _on_graph(RemoveNoopPass()),  # matmul's decomposition leaves expands and views that change nothing
        _on_graph(LowerPermuteRankPass()),  # the clones between permutes and views are gone
        _on_graph(InferredSizesPass()),  # views are copies now, and no-ops are gone
        _on_graph(ScalarToTensorPass()),  # before promotion, which reads the dtypes of tensors
        _on_graph(PromoteDtypesPass()),  # before dim orders: it inserts _to_copy
    ]
    if not config._skip_dim_order:
        steps.append(_on_graph(MemoryFormatOpsPass()))  # after all passes that insert copies
    return [
        *steps,
        _on_graph(AtenToEdgePass()),  # from here on the graph is in the edge dialect
        lift_tensor_attributes,  # the scalars that became tensors are constants of the program
        check_quantization_parameters,  # before anything computes with them; constants are found by name now
        look_up_quantized_rows,  # before a step dequantizes whole tables
        _on_graph(DeadCodeEliminationPass()),  # operands of removed asserts and scalars
        _on_graph(DebugHandleGeneratorPass()),  # numbers the nodes that backends will see
        sync_signature,  # nodes were renamed and replaced
    ]


def steps_to_out_variants(config: ExecutorchBackendConfig, method: str) -> list[Step]:
    """Edge (and delegates) → out variants with specs, ready to be planned. Every step rewrites the graph in place."""
    is_external = bool(config.external_constants or config.external_mutable_weights)
    steps: list[Step] = [
        # First, on nodes outside delegates: later steps remove pairs of quantize and dequantize. Not with weights in
        # another file, which users may exchange: the fused scales and offsets are computed from the weights.
        *([_fuse_quantized(config)] if config.fuse_quantized and not is_external else []),
        _on_graph(FoldQuantizationPass()),  # between operators that both compute on integers
        _on_graph(CancelRearrangementsPass()),  # before no-ops: a permute and its inverse become one
        _on_graph(RemoveNoopPass()),  # users' passes and delegation may leave some
        # Before equal calls become one: equal activations do so too.
        *([recompose_activations, recompose_linear] if config.tune_for_optimized_kernels else []),
        _on_graph(CSEPass()),  # before folding, so that equal constants are folded once
    ]
    if config.external_constants:
        steps.append(_tag_external_constants(config))  # instead of folding: weights found by name must not change
    if config.external_mutable_weights:
        steps.append(tag_external_mutable_weights)
    if not is_external:
        steps.append(fold_batch_norm)  # before folding, which would spend work on weights that change
    if config.tune_for_optimized_kernels:
        steps.append(_on_graph(UseChannelsLastPass()))  # no batch norm divides a region; copies of constants are folded
    if not is_external:
        steps.append(fold_constants)  # transposed weights, masks
    steps += [
        scalar_inputs_to_tensors,  # before ReplaceSymOpsPass: it reads the arithmetic on sizes
        drop_unused_constants,  # weights that only delegates use are in their payloads
        _on_graph(DeadCodeEliminationPass()),
        _on_graph(ReplaceSymOpsPass()),  # the runtime's own arithmetic on sizes
        restore_mutable_calls,  # after all steps that need a functional graph
        *([_reinplace(config)] if config.run_reinplace_pass else []),  # before write-backs: it makes them unnecessary
        insert_write_back_for_buffers,  # after all steps that move code: nothing may follow the writes
        _on_graph(NormalizeViewsPass()),  # reshaping operators in one form
        _set_specs(),  # the last step that reads fake values
        _on_graph(for_method(config.sym_shape_eval_pass, method)),  # bounds, before anything is allocated
    ]
    if config.remove_view_copy:
        steps.append(_on_graph(ReplaceViewCopyWithViewPass()))  # before out variants: a view allocates nothing
    steps.append(_on_graph(config.to_out_var_pass))
    return steps


def for_method(configured: object, method: str) -> Callable[[fx.GraphModule], object]:
    """Return the configured pass of a method: one for all methods, or from a dict by name.

    Raises ExportError if the dict lacks the method.
    """
    if isinstance(configured, dict):
        if method not in configured:
            raise ExportError("configuration", None, f"no pass for method '{method}', found {sorted(configured)}")
        configured = configured[method]
    return configured  # type: ignore[return-value]
