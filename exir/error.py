# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Errors of the compiler: each names stage, node, operator, dtypes, module path, source line and reason.

A function that may find no result returns a `Rejection` in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from torch._export.verifier import SpecViolationError

if TYPE_CHECKING:
    from torch.fx import Node


# Frames of PyTorch and of code generated from graphs. A node in a branch then has the line that calls `cond`.
_NOT_THE_USERS = ("/site-packages/torch/", '"<eval_with_key>')


class ExportErrorType(Enum):
    """Kind of an `ExportError`."""

    INVALID_INPUT_TYPE = 1
    INVALID_OUTPUT_TYPE = 2
    VIOLATION_OF_SPEC = 3
    NOT_SUPPORTED = 4
    MISSING_PROPERTY = 5
    UNINITIALIZED = 6


def source_line(node: Node) -> str:
    """Return `file:line, in function` of the user's code for `node`, or "" if it is not recorded.

    It is the innermost line outside PyTorch: nodes of a module of torch.nn have the line that calls the module.
    """
    return line_of_trace(node.meta.get("stack_trace"))


def line_of_trace(trace: object) -> str:
    """Return the source line of a stack trace, which is text or None."""
    frames = [line.strip() for line in str(trace or "").splitlines() if line.strip().startswith("File ")]
    users = [frame for frame in frames if not any(it in frame.replace("\\", "/") for it in _NOT_THE_USERS)]
    chosen = (users or frames)[-1:]
    return chosen[0].replace('File "', "").replace('", line ', ":") if chosen else ""


def module_name(node: Node | None) -> str:
    """Return the path of the innermost nn.Module of `node`; "" for the model itself, or if it is not recorded."""
    stack = node.meta.get("nn_module_stack") if node is not None else None
    # The values are (path, type); before decomposition, a path is an expression of what was traced.
    return str(list(stack.values())[-1][0]).removeprefix("L['self'].") if stack else ""


def module_path(node: Node) -> str:
    """Return path and type of the innermost nn.Module for messages; "" if it is not recorded."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    kind = list(stack.values())[-1][1]
    return f"{module_name(node) or '<root>'} ({getattr(kind, '__name__', kind)})"


def _tensor_text(value: object) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{str(value.dtype).removeprefix('torch.')}{[str(size) for size in value.shape]}".replace("'", "")
    if isinstance(value, (tuple, list)):
        return f"({', '.join(_tensor_text(item) for item in value)})"
    return repr(value)


def operator_name(target: object) -> str:
    """Return the name of a call target: `aten.add.Tensor` for operators, `module.function` for Python functions."""
    name = getattr(target, "_name", None) or getattr(target, "_op", None) or target
    if isinstance(name, str):
        return name
    if isinstance(getattr(target, "name", None), str) or not hasattr(target, "__name__"):
        return str(target)
    return f"{getattr(target, '__module__', '')}.{target.__name__}"


def describe_node(node: Node) -> str:
    """Describe a node: name, operator, dtypes and sizes of arguments and results, module path, source line."""
    parts = [f"node '{node.name}'"]
    if node.op in ("call_function", "call_method"):
        parts.append(f"operator {operator_name(node.target)}")
        args = [_tensor_text(arg.meta["val"]) for arg in node.all_input_nodes if "val" in arg.meta]
        parts.append(f"arguments ({', '.join(args)})")
    if "val" in node.meta:
        parts.append(f"result {_tensor_text(node.meta['val'])}")
    if module_path(node):
        parts.append(f"module {module_path(node)}")
    parts.append(f"at {source_line(node) or 'no recorded source line'}")
    return ", ".join(parts)


@dataclass(frozen=True)
class Rejection:
    """No result: `reason` completes "the node is rejected because", as a clause."""

    reason: str


class ExportError(Exception):
    """A fault found while a program is compiled.

    `ExportError(stage, node, why)`: stage is the name of the step, node the offending fx node (or a name, or None).
    `ExportError(error_code, message)` with an `ExportErrorType` is the short form that users' passes raise.
    """

    def __init__(
        self,
        stage: str | ExportErrorType | None = None,
        node: Node | str | None = None,
        why: str = "",
        *,
        error_code: ExportErrorType | None = None,
        message: str = "",
    ) -> None:
        if (stage is None) == (error_code is None) or (why and message):
            raise TypeError("ExportError takes (stage, node, why), or (error_code, message)")
        stage, why = stage if stage is not None else error_code, why or message
        assert stage is not None
        self.error_code = stage if isinstance(stage, ExportErrorType) else ExportErrorType.VIOLATION_OF_SPEC
        self.stage = stage.name if isinstance(stage, ExportErrorType) else stage
        self.node = node
        self.why = why
        where = "" if node is None else node if isinstance(node, str) else describe_node(node)
        super().__init__(f"[{self.stage}] " + ": ".join(part for part in (where, why) if part))


_MAX_LINES = 20


class VerificationError(ExportError, SpecViolationError):
    """A graph breaks a rule of its dialect. It is also a `SpecViolationError`, which torch's verifiers raise.

    `findings` has every offending node. The message has a line for each operator and reason, with the first node and
    the number of others.
    """

    def __init__(self, stage: str, findings: list[tuple[Node | str | None, str]]) -> None:
        first_node, first_why = findings[0]
        super().__init__(stage, first_node, first_why)
        self.findings = findings
        groups: dict[object, list[tuple[Node | str | None, str]]] = {}
        for node, why in findings:
            groups.setdefault((getattr(node, "target", node), why), []).append((node, why))
        lines = [_line(stage, group) for group in groups.values()]
        more = len(lines) - _MAX_LINES
        self.args = ("\n".join([*lines[:_MAX_LINES], *([f"and {more} more"] if more > 0 else [])]),)


def _line(stage: str, group: list[tuple[Node | str | None, str]]) -> str:
    """Return the text of findings that differ only in the node."""
    text = str(ExportError(stage, *group[0]))
    return text if len(group) == 1 else f"{text} (and {len(group) - 1} more such nodes)"


class InternalError(Exception):
    """An invariant of the compiler is broken: a bug to report, not an error in the model."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


def internal_assert(pred: bool, assert_msg: str) -> None:
    """Raise `InternalError` with `assert_msg` unless `pred` is true."""
    if not pred:
        raise InternalError(assert_msg)
