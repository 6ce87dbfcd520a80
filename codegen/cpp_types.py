# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Map schema types to C++ argument types; see docs/architecture.md, "Kernels"."""

from __future__ import annotations

from executorch.codegen.schema import Argument, Schema, SchemaError

# base type → C++ value type
_VALUE = {
    "Tensor": "Tensor",
    "Scalar": "Scalar",
    "int": "int64_t",
    "float": "double",
    "bool": "bool",
    "ScalarType": "ScalarType",
    "MemoryFormat": "MemoryFormat",
    "Layout": "Layout",
    "Device": "Device",
    "str": "std::string_view",
    # Always None: programs cannot contain generators.
    "Generator": "int64_t",
}
_BY_REFERENCE = {"Tensor", "Scalar"}


def argument_type(argument: Argument) -> str:
    """The C++ type of one argument. Raises ``SchemaError`` for a schema type that kernels cannot take."""
    value = _VALUE.get(argument.base)
    if value is None:
        raise SchemaError(
            f"argument '{argument.name}' has type {argument.base}, which no kernel can take; known: {sorted(_VALUE)}"
        )
    if argument.is_mutated:
        return "ArrayRef<Tensor>" if argument.is_list else f"{value}&"
    if argument.is_list:
        item = f"std::optional<{value}>" if argument.is_optional_item else value
        value = f"ArrayRef<{item}>"
    if argument.is_optional:
        value = f"std::optional<{value}>"
    if argument.base in _BY_REFERENCE and not argument.is_list:
        return f"const {value}&"
    return value


def return_type(schema: Schema) -> str:
    """``Tensor&`` for one output, a tuple of references for several, ``void`` for lists and none."""
    if schema.returns == 0:
        return "void"
    # An operator may also write arguments that it does not return (running statistics); they come first.
    outputs = schema.outputs[-schema.returns :]
    if not outputs or any(o.is_list for o in outputs):
        return "void"
    if len(outputs) == 1:
        return "Tensor&"
    return "std::tuple<" + ", ".join("Tensor&" for _ in outputs) + ">"


def argument_types(schema: Schema, *, takes_context: bool = True) -> list[str]:
    """The C++ types of a kernel's parameters."""
    context = ["KernelRuntimeContext&"] if takes_context else []
    return [*context, *(argument_type(a) for a in schema.arguments)]


def declaration(schema: Schema, name: str, *, takes_context: bool = True, context_mark: str = "") -> str:
    """The C++ declaration of a kernel called ``name`` for ``schema``; ``context_mark`` stands before the context."""
    context = [f"{context_mark}KernelRuntimeContext& ctx"] if takes_context else []
    arguments = ", ".join([*context, *(f"{argument_type(a)} {a.name}" for a in schema.arguments)])
    return f"{return_type(schema)} {name}({arguments})"
