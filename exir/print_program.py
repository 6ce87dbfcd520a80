# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Print programs and nodes as readable text."""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass
from typing import TextIO

from torch import fx

from executorch.exir.schema import (
    DelegateCall,
    ExecutionPlan,
    FrameList,
    FreeCall,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Program,
    Tensor,
    TensorShapeDynamism,
)


def _value(plan: ExecutionPlan, index: int, show_meminfo: bool, mark_dynamic: bool) -> str:
    value = plan.values[index].val
    if not isinstance(value, Tensor):
        entries = [getattr(value, entry.name) for entry in fields(value)]
        return f"%{index}={entries[0] if entries else None}"
    text = f"%{index}:{value.scalar_type.name}{value.sizes}"
    if mark_dynamic and value.shape_dynamism != TensorShapeDynamism.STATIC:
        text += "?"
    place = value.allocation_info
    if show_meminfo and place is not None:
        text += f"@{place.memory_id}+{(place.memory_offset_high << 32) + place.memory_offset_low}"
    elif show_meminfo and value.data_buffer_idx:
        text += f"@constant {value.data_buffer_idx}"
    return text


def _instruction(
    plan: ExecutionPlan, arguments: KernelCall | DelegateCall | MoveCall | JumpFalseCall | FreeCall
) -> tuple[str, list[int]]:
    if isinstance(arguments, KernelCall):
        op = plan.operators[arguments.op_index]
        return f"{op.name}.{op.overload}" if op.overload else op.name, list(arguments.args)
    if isinstance(arguments, DelegateCall):
        return f"delegate {plan.delegates[arguments.delegate_index].id}", list(arguments.args)
    if isinstance(arguments, MoveCall):
        return "move", [arguments.move_from, arguments.move_to]
    if isinstance(arguments, JumpFalseCall):
        return f"jump to {arguments.destination_instruction} if false", [arguments.cond_value_index]
    return "free", [arguments.value_index]


def print_program(
    program: Program, show_meminfo: bool = True, mark_dynamic_shape_tensor: bool = False, out: TextIO | None = None
) -> None:
    """Print each method: arenas in bytes, inputs, instructions with their values, outputs.

    A tensor is printed as %value:DTYPE[sizes]@arena+offset, with "?" if its shape is dynamic.
    """
    out = out or sys.stdout
    for plan in program.execution_plan:

        def show(index: int, plan: ExecutionPlan = plan) -> str:
            return _value(plan, index, show_meminfo, mark_dynamic_shape_tensor)

        print(f"method {plan.name}: arenas {plan.non_const_buffer_sizes[1:]} bytes", file=out)
        print(f"  inputs  {', '.join(map(show, plan.inputs))}", file=out)
        for chain in plan.chains:
            for index, instruction in enumerate(chain.instructions):
                name, args = _instruction(plan, instruction.instr_args)
                print(f"  {index:4} {name}({', '.join(map(show, args))})", file=out)
        print(f"  outputs {', '.join(map(show, plan.outputs))}", file=out)


def pretty_print(obj: object, indent: int = 0, out: TextIO | None = None) -> None:
    """Print dataclasses, lists, tuples and dicts, one field or item a line, indented by two spaces a level."""
    out = out or sys.stdout
    rows: list[tuple[str, object]]
    if is_dataclass(obj) and not isinstance(obj, type):
        opening, rows, closing = (
            f"{type(obj).__name__}(",
            [(f"{f.name}=", getattr(obj, f.name)) for f in fields(obj)],
            ")",
        )
    elif isinstance(obj, dict):
        opening, rows, closing = "{", [(f"{key!r}: ", value) for key, value in obj.items()], "}"
    elif isinstance(obj, (list, tuple)) and any(is_dataclass(item) for item in obj):
        opening, rows, closing = "[", [("", item) for item in obj], "]"
    else:
        print(repr(obj), end="", file=out)
        return
    print(opening, file=out)
    for label, value in rows:
        print("  " * (indent + 1) + label, end="", file=out)
        pretty_print(value, indent + 1, out)
        print(",", file=out)
    print("  " * indent + closing, end="" if indent else "\n", file=out)


def pretty_print_stacktraces(obj: FrameList) -> str:
    """Return the stack trace of one instruction as text (`emit_stacktrace=True` records it), outermost frame first."""
    frames = (f'    File "{f.filename}", line {f.lineno}, in {f.name}\n{f.context} \n' for f in obj.items)
    return f"Traceback (most recent call last): \n{''.join(frames)}\n"


def add_cursor_to_graph(graph: fx.Graph, finding_node: fx.Node) -> str:
    """Return the graph as text, with an arrow at a node."""
    lines = ["graph():"]
    for node in graph.nodes:
        text = node.format_node()
        if node.op == "output" or text:
            lines.append(("--> " if node is finding_node else "    ") + str(text))
    return "\n".join(lines)


def inspect_node(graph: fx.Graph, node: fx.Node) -> str:
    """Return the graph as text with an arrow at `node`, and the node's stack trace."""
    trace = node.meta.get("stack_trace", "")
    heading = "Traceback (most recent call last):\n" if trace else ""
    return (
        f"Here is the node in the graph module:\n{add_cursor_to_graph(graph, node)}\n"
        f"This node {node.name} has metadata of:\n"
        f"The node stacktrace:\n{heading}{trace}\n"
    )
