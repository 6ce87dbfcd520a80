# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A plan as a function of the inputs' sizes: the stacking of the plan for the largest sizes, with the actual sizes.

A tensor stands on the highest end of those below it that are alive together with it, as in the plan for the largest
sizes. When a tensor shrinks, all tensors above it sink, so no tensor is ever higher than planned.

          ┌─────C─────┐          offset(C) = max(offset(A) + size(A), offset(B) + size(B))
    ┌──A──┘┌──B───────┘          size(A) = 4 * s0 * s1, rounded up; s0, s1: sizes of inputs
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import sympy
import torch
from torch.export.graph_signature import ExportGraphSignature, InputKind
from torch.fx import GraphModule

from executorch.exir.memory.arenas import lifespan_of
from executorch.exir.memory.check.by_lifespans import check_by_lifespans
from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.memory.lifetimes.in_place import takes_over
from executorch.exir.memory.problem import Lifespan
from executorch.exir.memory.sizes.size_steps import NotExpressible, Operation, SizeStep, SizeSteps
from executorch.exir.tensor import TensorSpec, ViewSpec

PARAMETRIC_PLAN = "parametric_plan"
"""Key of `graph_module.meta` under which a method has its ParametricPlan."""
PARAMETRIC_ARENA = 1
"""The arena with the parametric plan; the tensors of all other arenas keep their places."""
KEPT_ARENA = 2
"""The arena of inputs and state: their places must not depend on the sizes of other inputs."""

_SAMPLES = 4
# (input, dimension) → its symbolic size and the largest size allowed.
_InputSizes: TypeAlias = dict[tuple[int, int], tuple[torch.SymInt, int]]


@dataclass(frozen=True)
class ParametricPlan:
    """Step numbers: `offsets` of each planned tensor of the arena, in bytes; `sizes` of each dimension of the dynamic
    ones; `height` of the arena, in bytes."""

    steps: SizeSteps
    offsets: dict[TensorSpec, SizeStep]
    sizes: dict[TensorSpec, tuple[SizeStep, ...]]
    height: SizeStep

    def need(self, input_sizes: Mapping[tuple[int, int], int]) -> int:
        """Return the bytes of the arena for inputs of these sizes: (input, dimension) → size."""
        return self.steps.evaluate(input_sizes)[self.height]

    def shape_steps(self, spec: TensorSpec) -> tuple[SizeStep, ...]:
        """Return the steps of a tensor's sizes; () if it is static."""
        if not spec.is_dynamic_shape_tensor:
            return ()
        return self.sizes[spec] if spec in self.sizes else _shape_steps(self.steps, spec)

    def offset_step(self, spec: TensorSpec) -> SizeStep:
        """Return the step of the offset of a planned tensor, or of a view of one."""
        if isinstance(spec, ViewSpec):
            return self.steps.add(Operation.ADD, self.offsets[spec.base], self.steps.constant(spec.byte_offset))
        return self.offsets[spec]


def keep_apart(specs: Sequence[TensorSpec], names: Mapping[TensorSpec, str]) -> None:
    """Put inputs and state into their own arena. Raises MemoryPlanningError if the user put one into arena 1."""
    for spec in specs:
        if spec.mem_id is None:
            spec.mem_id = KEPT_ARENA
        elif spec.mem_id == PARAMETRIC_ARENA:
            raise MemoryPlanningError(
                names[spec], "inputs and state cannot be in arena 1 of a plan that is parametric in shape"
            )


def make_parametric(
    graph_module: GraphModule,
    names: Mapping[TensorSpec, str],
    sizes: Sequence[int],
    in_place: Mapping[TensorSpec, TensorSpec],
    signature: ExportGraphSignature | None,
) -> ParametricPlan | None:
    """Return the plan of arena 1 as a function of the inputs' sizes, checked at samples; None if it is constant.

    names: the planned tensors, with places and lifetimes set. sizes: of the arenas. in_place: result → operand.
    Raises MemoryPlanningError if tensors that are alive together are planned to share bytes.
    """
    members = [spec for spec in names if spec.mem_id == PARAMETRIC_ARENA]
    steps, leaves = SizeSteps(), _input_sizes(graph_module, signature)
    _bind_symbols(steps, leaves)
    shapes = {spec: _shape_steps(steps, spec) for spec in members if spec.is_dynamic_shape_tensor}
    if all(steps.rows[step][0] is Operation.CONSTANT for shape in shapes.values() for step in shape):
        return None
    offsets: dict[TensorSpec, SizeStep] = {}
    ends: list[SizeStep] = []
    groups = _groups(members, in_place)
    for group, below in zip(groups, _supports(groups, names), strict=True):
        offset = steps.largest([ends[other] for other in below])
        size = steps.largest([_bytes(steps, spec, shapes.get(spec)) for spec in group])
        ends.append(steps.add(Operation.ADD, offset, size))
        offsets |= dict.fromkeys(group, offset)
    plan = ParametricPlan(steps, offsets, shapes, steps.largest(ends))
    _check(plan, {spec: names[spec] for spec in members}, sizes, in_place, leaves)
    return plan


def _input_sizes(graph_module: GraphModule, signature: ExportGraphSignature | None) -> _InputSizes:
    """Return the dynamic dimensions of the method's inputs, in the order of the inputs."""
    user_inputs = None
    if signature is not None:
        user_inputs = {
            input_spec.arg.name for input_spec in signature.input_specs if input_spec.kind is InputKind.USER_INPUT
        }
    sizes = {}
    inputs = [
        n for n in graph_module.graph.nodes if n.op == "placeholder" and (user_inputs is None or n.name in user_inputs)
    ]
    for index, node in enumerate(inputs):
        spec = node.meta.get("spec")
        if isinstance(spec, TensorSpec) and spec.symbolic_shape is not None:
            for dim, (size, bound) in enumerate(zip(spec.symbolic_shape, spec.shape, strict=True)):
                if isinstance(size, torch.SymInt) and bound and not size.node.expr.is_number:
                    sizes[index, dim] = size, bound
    return sizes


def _bind_symbols(steps: SizeSteps, leaves: _InputSizes) -> None:
    """Bind each symbol to the input size that it is, or from which it follows as (size - b) / a."""
    for (index, dim), (size, _) in leaves.items():
        expr = size.node.expr
        free = list(expr.free_symbols)
        if len(free) != 1 or free[0] in steps.symbols:
            continue
        form = sympy.Poly(expr, free[0]) if expr.is_polynomial(free[0]) else None
        if form is None or form.degree() != 1 or not all(coefficient.is_Integer for coefficient in form.all_coeffs()):
            continue
        factor, summand = (int(coefficient) for coefficient in form.all_coeffs())
        if factor < 1:
            continue
        step = steps.add(Operation.INPUT_SIZE, index, dim)
        if summand:
            step = steps.add(Operation.ADD, step, steps.constant(-summand))
        steps.symbols[free[0]] = step if factor == 1 else steps.add(Operation.DIVIDE, step, steps.constant(factor))


def _shape_steps(steps: SizeSteps, spec: TensorSpec) -> tuple[SizeStep, ...]:
    """Return the steps of the sizes. A size that depends on data, or that no operation expresses, is its bound."""
    sizes = []
    for size, bound in zip(spec.symbolic_shape or spec.shape, spec.shape, strict=True):
        try:
            sizes.append(steps.expression(size.node.expr if isinstance(size, torch.SymInt) else size))
        except NotExpressible:
            sizes.append(steps.constant(bound))
    return tuple(sizes)


def _bytes(steps: SizeSteps, spec: TensorSpec, shape: tuple[SizeStep, ...] | None) -> SizeStep:
    if shape is None:
        return steps.constant(spec.allocated_memory)
    count = steps.constant(spec.dtype.itemsize)
    for size in shape:
        count = steps.add(Operation.MULTIPLY, count, size)
    return steps.rounded_up(count, spec.alignment)


def _groups(members: Sequence[TensorSpec], in_place: Mapping[TensorSpec, TensorSpec]) -> list[list[TensorSpec]]:
    """Group the tensors by place, lowest first: a result at its operand's place moves with the operand."""
    group_of: dict[TensorSpec, list[TensorSpec]] = {}
    groups: list[list[TensorSpec]] = []
    for spec in sorted(members, key=lambda member: lifespan_of(member).first):
        operand = in_place.get(spec)
        if operand is not None and operand in group_of and takes_over(spec, operand):
            group = group_of[operand]
        else:
            group = []
            groups.append(group)
        group.append(spec)
        group_of[spec] = group
    # At equal places, empty groups come first.
    return sorted(groups, key=lambda group: (group[0].mem_offset or 0, group[0].nbytes()))


def _supports(groups: Sequence[Sequence[TensorSpec]], names: Mapping[TensorSpec, str]) -> list[list[int]]:
    """Return, for each group, the groups that it stands on directly."""
    lifespans = [
        Lifespan(min(lifespan_of(spec).first for spec in group), max(lifespan_of(spec).last for spec in group))
        for group in groups
    ]
    below: list[int] = []  # for each group, all groups below it, as bits
    supports = []
    for index, group in enumerate(groups):
        meeting = [i for i in range(index) if lifespans[i].meets(lifespans[index])]
        implied = mask = 0
        kept = []
        for other in reversed(meeting):
            _check_order(groups[other][0], group[0], names)
            mask |= 1 << other
            if not implied >> other & 1:
                kept.append(other)
            implied |= below[other]
        below.append(mask)
        supports.append(kept)
    return supports


def _check_order(lower: TensorSpec, upper: TensorSpec, names: Mapping[TensorSpec, str]) -> None:
    if (lower.mem_offset or 0) + lower.nbytes() > (upper.mem_offset or 0) and upper.nbytes():
        raise MemoryPlanningError(
            f"{names[lower]} and {names[upper]}",
            "share bytes while both are alive: such a plan cannot be made parametric in shape",
        )


def _check(
    plan: ParametricPlan,
    names: Mapping[TensorSpec, str],
    sizes: Sequence[int],
    in_place: Mapping[TensorSpec, TensorSpec],
    leaves: _InputSizes,
) -> None:
    """Check the plan by lifespans for the smallest and largest sizes, and some in between."""
    ranges: dict[sympy.Symbol, tuple[int, int]] = {}
    for size, bound in leaves.values():
        for symbol in size.node.expr.free_symbols:
            within = size.node.shape_env.var_to_range[symbol]
            upper = ranges.get(symbol, (0, bound))[1]
            if size.node.expr == symbol:
                upper = min(upper, bound)
            upper = min(upper, int(within.upper)) if within.upper.is_finite else upper
            ranges[symbol] = (min(int(within.lower), upper), upper)
    chance = random.Random(0)
    kept = {spec: (spec.shape, spec.mem_offset) for spec in names}
    for sample in range(_SAMPLES):
        sampled = {symbol: _sampled(*ends, sample / (_SAMPLES - 1), chance) for symbol, ends in ranges.items()}
        inputs = {at: int(size.node.expr.subs(sampled)) for at, (size, _) in leaves.items()}
        if any(inputs[at] > bound for at, (_, bound) in leaves.items()):
            continue  # the runtime rejects such inputs
        values = plan.steps.evaluate(inputs)
        try:
            for spec in names:
                spec.mem_offset = values[plan.offsets[spec]]
                spec.shape = [values[step] for step in plan.sizes[spec]] if spec in plan.sizes else spec.shape
                if spec.mem_offset > (kept[spec][1] or 0):
                    raise MemoryPlanningError(names[spec], f"sizes {sampled} move it up: {spec.debug()}")
            check_by_lifespans(names, [0, min(values[plan.height], sizes[PARAMETRIC_ARENA])], False, in_place)
        finally:
            for spec, (shape, offset) in kept.items():
                spec.shape, spec.mem_offset = shape, offset


def _sampled(lower: int, upper: int, part: float, chance: random.Random) -> int:
    """Return an end of the range for the parts 0 and 1, else a random size up to that part of the range."""
    if part in (0.0, 1.0):
        return lower if part == 0.0 else upper
    return chance.randint(lower, lower + int((upper - lower) * part))
