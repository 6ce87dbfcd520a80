# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The steps of the pipeline, one after the other, on a module: results and metadata after each, and what each saves."""

from copy import deepcopy
from typing import Any

import torch
from models.module_kinds import Kind
from oracle.tolerances import LAYER, ONE_ROUNDING
from torch.export import ExportedProgram, export
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.decompose.decomposition import decompose
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.program import pipeline
from executorch.exir.rewrite.program_copy import copy_program

EDGE = EdgeCompileConfig()
BACKEND = ExecutorchBackendConfig(check_target=False, reinplace_extra_ops=None, tune_for_optimized_kernels=True)


def _flat_inputs(program: ExportedProgram, call: tuple[Any, ...]) -> list[Any]:
    given = iter(pytree.tree_leaves(deepcopy(call)))
    constants = {**program.state_dict, **program.constants}
    return [
        next(given) if spec.target is None else deepcopy(constants[spec.target])
        for spec in program.graph_signature.input_specs
    ]


def _run(program: ExportedProgram, call: tuple[Any, ...]) -> list[Any]:
    for module in all_graph_modules(program.graph_module):
        module.recompile()
    with torch.no_grad():
        return list(program.graph_module(*_flat_inputs(program, call)))


def _text(program: ExportedProgram) -> str:
    return "\n".join(str(module.graph) for module in all_graph_modules(program.graph_module))


def _size(program: ExportedProgram) -> tuple[int, int]:
    """Return the number of calls, and the bytes of their results and of the constants."""
    nodes = [n for module in all_graph_modules(program.graph_module) for n in module.graph.nodes if n.op != "output"]
    fakes = [leaf for n in nodes for leaf in pytree.tree_leaves(n.meta.get("val")) if isinstance(leaf, torch.Tensor)]
    static = [fake for fake in fakes if all(isinstance(size, int) for size in fake.shape)]
    return sum(n.op == "call_function" for n in nodes), sum(fake.nbytes for fake in static)


def _assert_kept(before: list[Any], after: list[Any], tolerance: float, what: str) -> None:
    assert len(before) == len(after), what
    for one, other in zip(before, after, strict=True):
        if isinstance(one, torch.Tensor):
            close = torch.allclose(other, one, rtol=tolerance, atol=tolerance * float(one.abs().max()), equal_nan=True)
            assert close and other.dtype == one.dtype, f"{what}: {one} became {other}"
        else:
            assert one == other, what


def _assert_metadata(graph_module: GraphModule, handles: bool, what: str) -> None:
    for module in all_graph_modules(graph_module):
        for node in module.graph.nodes:
            if node.op == "call_function":
                assert "val" in node.meta, f"{what}: {node} has no value"
                assert not handles or node.meta.get("debug_handle") is not None, f"{what}: {node} has no debug handle"
                assert node.meta.get("stack_trace") or node.meta.get("from_node"), f"{what}: {node} comes from nowhere"


# Eager's own matrix products differ by as much when their operands lie elsewhere.
ROUNDING = ONE_ROUNDING["atol"]
ROUNDED = {"fold_batch_norm": LAYER["atol"]}


def walk_steps(program: ExportedProgram, call: tuple[Any, ...], steps: list[Any], handles: bool) -> None:
    """Run the steps, comparing after each that changed the graph."""
    expected, text = _run(program, call), _text(program)
    for step in steps:
        name = step.__name__
        step(program)
        changed = _text(program)
        if changed != text:
            _assert_kept(expected, _run(program, call), ROUNDED.get(name, ROUNDING), name)
            _assert_metadata(program.graph_module, handles, name)
        text = changed


def steps_before_out_variants() -> list[Any]:
    """Return the steps after which torch can still run the graph."""
    steps = pipeline.steps_to_out_variants(BACKEND, "forward")
    return steps[: [step.__name__ for step in steps].index("ReplaceSymOpsPass")]


def export_kind(kind: Kind) -> ExportedProgram:
    """Export a module with the first of its calls."""
    return export(deepcopy(kind.module), deepcopy(kind.calls[0]), dynamic_shapes=kind.sizes, strict=False)


def assert_every_step_keeps(kind: Kind) -> None:
    """Assert that each step keeps the results, and gives each node a value and an origin."""
    exported, call = export_kind(kind), kind.calls[0]
    walk_steps(decompose(exported), call, pipeline.steps_to_edge(EDGE), handles=False)
    edge = copy_program(to_edge(exported).exported_program())
    walk_steps(edge, call, steps_before_out_variants(), handles=True)


def assert_step_saves(name: str, kind: Kind) -> None:
    """Assert that the step of this name saves calls or bytes of a module, and that each step keeps its results."""
    assert_every_step_keeps(kind)
    exported = export_kind(kind)

    def final_size(left_out: str) -> tuple[int, int]:
        program = decompose(exported)
        for step in [*pipeline.steps_to_edge(EDGE), *steps_before_out_variants()]:
            if step.__name__ != left_out:
                step(program)
        return _size(program)

    with_it, without_it = final_size("none"), final_size(name)
    assert with_it != without_it and all(one <= other for one, other in zip(with_it, without_it, strict=True)), (
        f"{name}: expected fewer calls or bytes than {without_it} without it, found {with_it}"
    )
