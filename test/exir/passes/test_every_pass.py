# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every step of the pipeline on every kind of module: results, metadata, and whom each one helps."""

import importlib
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
from models import make
from models.module_kinds import KINDS, Function, Kind
from torch import nn
from torch.export import ExportedProgram, export
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.decompose.decomposition import decompose
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.program import pipeline
from executorch.exir.rewrite.program_copy import copy_program

importlib.import_module("torch.ao.quantization.fx._decomposed")  # defines operators of quantized_decomposed


def _layers(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(*layers).eval()


def _of(function: Callable[..., Any], *inputs: torch.Tensor) -> Kind:
    return Kind(Function(function), [inputs])


def _quantized(x: torch.Tensor) -> torch.Tensor:
    q, parameters = torch.ops.quantized_decomposed, (0.1, 3, -128, 127, torch.int8)
    real = q.dequantize_per_tensor(x, *parameters)
    return q.quantize_per_tensor(real, *parameters) + 1


# Patterns that are rare in the generated modules.
REWRITABLE = {
    "convolutions": Kind(_layers(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), [(torch.randn(1, 2, 6, 6),)]),
    "activations": _of(lambda x: nn.functional.hardswish(x) + nn.functional.silu(x), torch.randn(2, 3)),
    "region": Kind(_layers(*(nn.Conv2d(2, 2, 1) for _ in range(8))), [(torch.randn(1, 2, 3, 3),)]),
    "rearranged": _of(lambda x: x.transpose(0, 1).permute(1, 0).reshape(-1).view(2, 3).sin() + x, torch.randn(2, 3)),
    "repeated": _of(lambda x: (x * 2).sin() + (x * 2).sin() + x.expand(2, 3) * 1, torch.randn(2, 3)),
    "formats": _of(
        lambda x: x.to(memory_format=torch.channels_last).to(memory_format=torch.contiguous_format) + 1,
        torch.randn(1, 2, 3, 3),
    ),
    "mixed dtypes": _of(lambda x, i: (x + i, i / 2, x * 2, x[0] + 1), torch.randn(3), torch.arange(3)),
    "mask": _of(lambda x: x + torch.triu(torch.ones(3, 3), 1).masked_fill(torch.eye(3) > 0, 2.0), torch.randn(3, 3)),
    "integers": _of(_quantized, torch.tensor([1, -5, 7], dtype=torch.int8)),
}
ALL_KINDS = {**KINDS, **REWRITABLE}
EDGE = EdgeCompileConfig()
BACKEND = ExecutorchBackendConfig(check_target=False, reinplace_extra_ops=None, tune_for_optimized_kernels=True)


def _flat_inputs(program: ExportedProgram, call: tuple[Any, ...]) -> list[Any]:
    given = iter(pytree.tree_leaves(deepcopy(call)))
    held = {**program.state_dict, **program.constants}
    return [
        next(given) if spec.target is None else deepcopy(held[spec.target])
        for spec in program.graph_signature.input_specs
    ]


def _run(program: ExportedProgram, call: tuple[Any, ...]) -> list[Any]:
    for held in all_graph_modules(program.graph_module):
        held.recompile()
    with torch.no_grad():
        return list(program.graph_module(*_flat_inputs(program, call)))


def _text(program: ExportedProgram) -> str:
    return "\n".join(str(held.graph) for held in all_graph_modules(program.graph_module))


def _size(program: ExportedProgram) -> tuple[int, int]:
    """Return the number of calls, and the bytes of their results and of the constants."""
    nodes = [n for held in all_graph_modules(program.graph_module) for n in held.graph.nodes if n.op != "output"]
    fakes = [leaf for n in nodes for leaf in pytree.tree_leaves(n.meta.get("val")) if isinstance(leaf, torch.Tensor)]
    static = [fake for fake in fakes if all(isinstance(size, int) for size in fake.shape)]
    return sum(n.op == "call_function" for n in nodes), sum(fake.nbytes for fake in static)


def _name(step: Any) -> str:
    cells = [cell.cell_contents for cell in getattr(step, "__closure__", None) or ()]
    return next((type(cell).__name__ for cell in cells if hasattr(cell, "call")), getattr(step, "__qualname__", ""))


def _assert_kept(before: list[Any], after: list[Any], tolerance: float, what: str) -> None:
    assert len(before) == len(after), what
    for one, other in zip(before, after, strict=True):
        if isinstance(one, torch.Tensor):
            close = torch.allclose(other, one, rtol=tolerance, atol=tolerance * float(one.abs().max()), equal_nan=True)
            assert close and other.dtype == one.dtype, f"{what}: {one} became {other}"
        else:
            assert one == other, what


def _assert_metadata(graph_module: GraphModule, handles: bool, what: str) -> None:
    for held in all_graph_modules(graph_module):
        for node in held.graph.nodes:
            if node.op == "call_function":
                assert "val" in node.meta, f"{what}: {node} has no value"
                assert not handles or node.meta.get("debug_handle") is not None, f"{what}: {node} has no debug handle"
                assert node.meta.get("stack_trace") or node.meta.get("from_node"), f"{what}: {node} comes from nowhere"


# Eager's own matrix products differ by as much when their operands lie elsewhere.
ROUNDING = 1e-6
ROUNDED = {"fold_batch_norm": 1e-5}


def _walk(program: ExportedProgram, call: tuple[Any, ...], steps: list[Any], handles: bool) -> None:
    """Run the steps, comparing after each that changed the graph."""
    expected, text = _run(program, call), _text(program)
    for step in steps:
        name = _name(step)
        step(program)
        changed = _text(program)
        if changed != text:
            _assert_kept(expected, _run(program, call), ROUNDED.get(name, ROUNDING), name)
            _assert_metadata(program.graph_module, handles, name)
        text = changed


def _steps_that_still_run_eagerly() -> list[Any]:
    steps = pipeline.steps_to_out_variants(BACKEND, "forward")
    return steps[: [_name(step) for step in steps].index("ReplaceSymOpsPass")]


def _exported(kind: Kind) -> ExportedProgram:
    return export(deepcopy(kind.module), deepcopy(kind.calls[0]), dynamic_shapes=kind.sizes, strict=False)


@pytest.mark.parametrize("what", ALL_KINDS)
def test_every_step_keeps_results_and_the_origin_of_nodes(what: str) -> None:
    kind = ALL_KINDS[what]
    exported, call = _exported(kind), kind.calls[0]
    _walk(decompose(exported), call, pipeline.steps_to_edge(EDGE), handles=False)
    edge = copy_program(to_edge(exported).exported_program())
    _walk(edge, call, _steps_that_still_run_eagerly(), handles=True)


# Each step that is there to save something, with a module that it makes smaller: fewer calls or bytes.
SAVES = {
    "RemoveNoopPass": "repeated",
    "CSEPass": "repeated",
    "CancelRearrangementsPass": "rearranged",
    "FoldQuantizationPass": "integers",
    "fold_batch_norm": "convolutions",
    "fold_constants": "mask",
    "recompose_activations": "activations",
    "DeadCodeEliminationPass": "rearranged",
}


@pytest.mark.parametrize("name", SAVES)
def test_a_step_that_is_there_to_save_something_does(name: str) -> None:
    exported = _exported(ALL_KINDS[SAVES[name]])

    def final_size(left_out: str) -> tuple[int, int]:
        program = decompose(exported)
        for step in [*pipeline.steps_to_edge(EDGE), *_steps_that_still_run_eagerly()]:
            if _name(step) != left_out:
                step(program)
        return _size(program)

    with_it, without_it = final_size("none"), final_size(name)
    assert with_it != without_it and all(one <= other for one, other in zip(with_it, without_it, strict=True))


@pytest.mark.parametrize("name", ["mlp", "decoder"])
def test_every_step_keeps_the_results_of_a_real_model(name: str) -> None:
    model, inputs = make(name)
    edge = copy_program(to_edge(export(model, inputs)).exported_program())
    _walk(edge, inputs, _steps_that_still_run_eagerly(), handles=True)
