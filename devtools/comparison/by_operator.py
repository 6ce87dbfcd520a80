# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""compare(): compare a model with a program lowered from it, operator by operator."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.utils._pytree import tree_leaves

from executorch.devtools.checked_program import checked_program
from executorch.devtools.comparison.delegate_bisect import Part, bisect_wrong_delegates
from executorch.devtools.comparison.delegate_probe import can_open, values_inside
from executorch.devtools.comparison.relower import check_alike, lower_as, plan_of
from executorch.devtools.comparison.result import Comparison, OperatorGap, Step
from executorch.devtools.etdump.recording import record_runs
from executorch.devtools.etrecord.record import ETRecord
from executorch.devtools.inspector.attribution import DELEGATE_CALL, attribute, handles_of, handles_of_node
from executorch.devtools.inspector.compare_results import (
    as_float,
    cosine_similarity,
    mean_squared_error,
    signal_to_noise,
)
from executorch.devtools.inspector.debug_values import DebugBuffer
from executorch.devtools.inspector.event import Event
from executorch.devtools.inspector.event_block import BlockSettings, blocks_of
from executorch.devtools.inspector.numeric_gap import Pair, pairs_of
from executorch.devtools.inspector.reference_run import Computed, Reference
from executorch.devtools.inspector.sources import source_of_node
from executorch.devtools.inspector.time_scale import TimeScale
from executorch.exir import ExecutorchProgramManager, to_edge
from executorch.exir.error import module_path, source_line
from executorch.exir.graph_module import debug_handles_of
from executorch.exir.serialize.regular_file import read_regular_file

_MAX_STEPS = 1.01  # tolerated difference of quantized values: both sides round, so one step; the rest is for floats
Lower = Callable[[ExportedProgram], ExecutorchProgramManager]


def compare(
    model: torch.nn.Module | ExportedProgram,
    program: ExecutorchProgramManager | bytes | str | os.PathLike[str],
    inputs: Sequence[Any],
    *,
    method: str = "forward",
    lower: Lower | None = None,
    rtol: float = 1e-3,
    atol: float = 1e-5,
    begin: Callable[[Step], None] = lambda step: None,
) -> Comparison:
    """Run the exported model and the program on `inputs`; report the operators whose values differ.

    Args:
        model: a module, or the result of torch.export.export.
        program: the result of `to_executorch`, or the bytes or path of a `.pte` file.
        inputs: the positional arguments.
        method: the program's method that corresponds to the model.
        lower: lowers the model exactly as the file was lowered; the result maps instructions to operators. Required
            unless the file comes from `to_edge(…).to_executorch()` or from `to_edge_transform_and_lower` with the
            default XNNPACK partitioner.
        rtol, atol: an operator differs if an element differs by more than `atol` plus `rtol` times the largest
            magnitude of the model's value.
        begin: called at the start of each step.

    Raises: ValueError if the file's instructions differ from those of the lowered model; errors of the runtime.
    """
    begin(Step.LOWERING)
    exported = model if isinstance(model, ExportedProgram) else torch.export.export(model, tuple(inputs))
    lowered, data = _lowered_and_bytes(program, exported, lower, method)
    edge = to_edge(exported).exported_program()
    reference = Reference(edge)
    begin(Step.MODEL)
    computed = reference.run(inputs)
    begin(Step.PROGRAM)
    recording = record_runs(data, tree_leaves(tuple(inputs)), method=method, debug_bytes=_debug_bytes(computed))
    settings = BlockSettings(TimeScale.NS, TimeScale.MS, DebugBuffer(recording.values).inflate)
    block, returned = blocks_of(recording.trace, settings)[-1], recording.returned
    own = method if method in lowered.debug_handle_map else "forward"
    attribute([block], _record_of(lowered, own), "forward", edge)
    begin(Step.DELEGATES)
    tensors = [tensor for pair in pairs_of(computed.values, block.events) for tensor in _tensors(pair)]
    pairs = [pair for _, pair in tensors]
    values = [_ComparedValue.of(pair, part) for part, pair in tensors] + _inside(
        data, method, block.events, computed.last()
    )
    plan = plan_of(checked_program(data).program.execution_plan, method)
    parts, notes = bisect_wrong_delegates(pairs, lowered, own, plan, lambda a, b: _differs(a, b, rtol, atol))
    values += [
        _ComparedValue.of_part(part, node) for part in parts if (node := _counterpart(part, computed)) is not None
    ]
    begin(Step.FIRST)
    with torch.no_grad():
        expected = tree_leaves(Reference(exported).returned(inputs))
    pairs_of_outputs = zip(_only_tensors(expected), _only_tensors(returned), strict=False)
    differ = any(_differs(a, b, rtol, atol) for a, b in pairs_of_outputs)
    return Comparison(_gaps(values, reference, computed, inputs, rtol, atol), differ, notes)


def _record_of(lowered: ExecutorchProgramManager, method: str) -> ETRecord:
    """Return the record of one method, as `forward`."""
    return ETRecord(
        _debug_handle_map={"forward": lowered.debug_handle_map.get(method, {})},
        _delegate_map={"forward": lowered.delegate_map.get(method, {})},
        _instruction_id_to_num_outs_map={"forward": lowered.instruction_id_to_num_outs_map.get(method, {})},
    )


def _lowered_and_bytes(
    program: ExecutorchProgramManager | bytes | str | os.PathLike[str],
    exported: ExportedProgram,
    lower: Lower | None,
    method: str,
) -> tuple[ExecutorchProgramManager, bytes]:
    """Return the program with its maps to operators, and its bytes. A file is lowered again to get the maps."""
    if isinstance(program, ExecutorchProgramManager):
        return program, program.buffer
    data = program if isinstance(program, bytes) else read_regular_file(program)
    lowered = lower(exported) if lower else lower_as(data, exported, method)
    check_alike(lowered, data, method)
    return lowered, data


def _only_tensors(values: Iterable[object]) -> list[torch.Tensor]:
    return [value for value in values if isinstance(value, torch.Tensor)]


@dataclass(frozen=True)
class _ComparedValue:
    """A value that the program computed for `node` in its `turn`-th run (-1: the last one).

    nodes: all fused nodes, the operator's own first. part: index of the result, for a node with several. step: scale of
    a quantized value, else 0. ran: the kernel or delegate that computed it. inside: computed by an operator inside a
    delegate.
    """

    node: fx.Node
    turn: int
    nodes: tuple[fx.Node, ...]
    expected: torch.Tensor
    found: torch.Tensor
    step: float
    ran: str
    instruction: int
    inside: bool
    part: int | None = None

    @staticmethod
    def of(pair: Pair, part: int | None) -> _ComparedValue:
        ran = pair.event.delegate_backend_name or pair.event.name.removeprefix("native_call_")
        is_quantized = pair.found.dtype in (torch.int8, torch.uint8) and "quantize_per" in str(pair.node.target)
        return _ComparedValue(
            node=pair.node,
            turn=pair.turn,
            nodes=pair.nodes,
            expected=pair.expected,
            found=pair.found,
            step=1.0 if is_quantized else 0.0,
            ran=ran,
            instruction=pair.event._instruction_id or 0,
            inside=False,
            part=part,
        )

    @staticmethod
    def of_part(part: Part, node: fx.Node) -> _ComparedValue:
        return _ComparedValue(
            node=node,
            turn=-1,
            nodes=(node,),
            expected=part.expected,
            found=part.found,
            step=0.0,
            ran=f"{part.backend}: recompiled up to this node",
            instruction=part.instruction,
            inside=True,
        )


def _counterpart(part: Part, computed: Computed) -> fx.Node | None:
    """The model's node that corresponds to a delegate's node."""
    handles = set(debug_handles_of(part.node))
    alike = [node for node in computed.values if handles_of_node(node) & handles]
    same = [node for node in alike if str(node.target) == str(part.node.target)]
    return next(iter(same or alike[-1:]), None)


def _inside(data: bytes, method: str, events: Sequence[Event], values: Mapping[fx.Node, Any]) -> list[_ComparedValue]:
    """Values of operators inside the delegates that can be opened."""
    inner_values = []
    for event in events:
        backend, instruction = event.delegate_backend_name, event._instruction_id
        if event.name != DELEGATE_CALL or backend is None or instruction is None or not can_open(backend):
            continue
        handles = set(handles_of(event))
        for inside in values_inside(data, method, instruction, event.debug_data, event.num_outputs, values, handles):
            inner_values.append(
                _ComparedValue(
                    node=inside.node,
                    turn=-1,
                    nodes=inside.nodes,
                    expected=inside.expected,
                    found=inside.found,
                    step=inside.step,
                    ran=f"{backend}: {inside.kind}",
                    instruction=instruction,
                    inside=True,
                )
            )
    return inner_values


def _gaps(
    values: Sequence[_ComparedValue],
    reference: Reference,
    computed: Computed,
    inputs: Sequence[Any],
    rtol: float,
    atol: float,
) -> list[OperatorGap]:
    """One gap for each operator in the model's order. An operator that ran several times reports its first difference.

    Differences propagate: an operator differs by itself if it also differs when the model's operator reads the
    program's operands.
    """
    alone = reference.run_with(inputs, computed, _known_once(values, computed)).values
    gaps: dict[tuple[fx.Node, str, int], tuple[tuple[int, int, bool], OperatorGap]] = {}
    for compared in values:
        tolerance = atol + _MAX_STEPS * compared.step
        gap = replace(
            _measured(compared.nodes, compared.expected, compared.found, rtol, tolerance),
            ran=compared.ran,
            instruction=compared.instruction,
        )
        times = alone.get(compared.node, [])
        own = times[compared.turn] if -len(times) <= compared.turn < len(times) else None
        own = own[compared.part] if compared.part is not None and isinstance(own, (tuple, list)) else own
        if gap.differs and isinstance(own, torch.Tensor) and own.shape == compared.found.shape:
            gap = replace(gap, differs=_differs(own, compared.found, rtol, tolerance))
        key = (compared.node, compared.ran, compared.instruction)
        # List values from inside a delegate before the delegate's outputs.
        place = (computed.moments[compared.node][compared.turn], compared.instruction, not compared.inside)
        if key not in gaps or (gap.differs and not gaps[key][1].differs):
            gaps[key] = (place, gap)
    return [gap for _, gap in sorted(gaps.values(), key=lambda item: item[0])]


def _known_once(values: Sequence[_ComparedValue], computed: Computed) -> dict[fx.Node, Any]:
    """The program's values of the nodes that ran once, converted to what their readers expect."""
    known: dict[fx.Node, Any] = {}
    parts: dict[fx.Node, dict[int, torch.Tensor]] = {}
    for compared in values:
        if len(computed.values[compared.node]) > 1 or compared.found.dtype != compared.expected.dtype:
            continue
        if compared.part is None:
            known[compared.node] = compared.found
        else:
            parts.setdefault(compared.node, {})[compared.part] = compared.found
    for node, results in parts.items():
        if len(results) == len(computed.values[node][0]):
            known[node] = tuple(results[number] for number in sorted(results))
    return known


def _debug_bytes(computed: Computed) -> int:
    """Bytes needed to record every value and every delegate argument, each aligned to 64 bytes."""
    total = 1 << 20
    for value in tree_leaves(list(computed.values.values())):
        if isinstance(value, torch.Tensor):
            total += 3 * (value.numel() * value.dtype.itemsize + 64)
    return total


def _tensors(pair: Pair) -> list[tuple[int | None, Pair]]:
    """(index, tensor pair) of each result that can be compared."""
    if isinstance(pair.expected, (tuple, list)) and isinstance(pair.found, list):
        parts = enumerate(zip(pair.expected, pair.found, strict=False))
        pairs = [(number, replace(pair, expected=a, found=b)) for number, (a, b) in parts]
        return [(number, part) for number, part in pairs if _is_comparable(part)]
    return [(None, pair)] if _is_comparable(pair) else []


def _is_comparable(pair: Pair) -> bool:
    return (
        isinstance(pair.expected, torch.Tensor)
        and isinstance(pair.found, torch.Tensor)
        and pair.expected.shape == pair.found.shape
        # A fused operator returns quantized integers: compare them dequantized.
        and pair.expected.is_floating_point() == pair.found.is_floating_point()
    )


def _differs(expected: torch.Tensor, found: torch.Tensor, rtol: float, atol: float) -> bool:
    a = as_float(expected)
    return _largest(expected, found) > atol + rtol * float(a.abs().max() if a.numel() else 0)


def _largest(expected: torch.Tensor, found: torch.Tensor) -> float:
    if not expected.numel():
        return 0.0
    a, b = expected.detach().to(torch.float64), found.detach().to(torch.float64)
    if bool((a.isfinite() != b.isfinite()).any()):
        return math.inf
    return float((as_float(a) - as_float(b)).abs().max())


def _measured(
    nodes: Sequence[fx.Node], expected: torch.Tensor, found: torch.Tensor, rtol: float, atol: float
) -> OperatorGap:
    a, b = as_float(expected), as_float(found)
    node = nodes[0]
    return OperatorGap(
        operator=" + ".join(str(node.target) for node in nodes),
        node=node.name,
        module=module_path(node).split(" (")[0],
        source=source_line(node),
        ran="",
        instruction=0,
        mse=mean_squared_error(a, b),
        sqnr=signal_to_noise(a, b),
        cosine=cosine_similarity(a, b),
        largest=_largest(expected, found),
        differs=_differs(expected, found, rtol, atol),
        handles=tuple(sorted({handle for node in nodes for handle in handles_of_node(node)})),
        sources=tuple(map(source_of_node, nodes)),
    )
