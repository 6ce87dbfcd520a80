# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""ExecuTorch's documented names below ``torch::executor`` for kernels and typed entry points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from executorch.codegen.cpp_types import declaration, return_type
from executorch.codegen.library_yaml import KernelRow
from executorch.codegen.schema import Schema

_HEADING = "\n// Documented ExecuTorch names.\n"

# Libraries whose kernels have documented names.
_NATIVE_LIBRARIES = ("executorch::kernels::portable", "executorch::kernels::quantized")

_WRAPPERS = "executorch::kernels::quantized::documented"

# Operators whose kernel is not named after the operator and its overload.
_KERNELS = {
    "aten::_log_softmax.out": "log_softmax_out",
    "aten::_softmax.out": "softmax_out",
    "aten::_to_copy.out": "to_copy_out",
    "aten::max.dim_max": "max_out",
    "aten::max_pool2d_with_indices_backward.grad_input": "max_pool2d_with_indices_backward_out",
    "aten::mean.out": "mean_dim_out",
    "aten::min.dim_min": "min_out",
    "aten::sum.IntList_out": "sum_dim_out",
    "aten::where.self_out": "where_out",
    "quantized_decomposed::add.out": "quantized_add_out",
    "quantized_decomposed::choose_qparams.Tensor_out": "choose_qparams_tensor_out",
    "quantized_decomposed::choose_qparams_symmetric.Tensor_out": "choose_qparams_symmetric_tensor_out",
    "quantized_decomposed::dequantize_per_tensor.Tensor_out": "dequantize_per_tensor_tensor_args_out",
    "quantized_decomposed::embedding_2bit.dtype_out": "quantized_embedding_2bit_dtype_out",
    "quantized_decomposed::embedding_2bit.out": "quantized_embedding_2bit_out",
    "quantized_decomposed::embedding_4bit.dtype_out": "quantized_embedding_4bit_dtype_out",
    "quantized_decomposed::embedding_4bit.out": "quantized_embedding_4bit_out",
    "quantized_decomposed::embedding_byte.dtype_out": "quantized_embedding_byte_dtype_out",
    "quantized_decomposed::embedding_byte.out": "quantized_embedding_byte_out",
    "quantized_decomposed::mixed_linear.out": "quantized_mixed_linear_out",
    "quantized_decomposed::mixed_mm.out": "quantized_mixed_mm_out",
    "quantized_decomposed::quantize_per_tensor.Tensor_out": "quantize_per_tensor_tensor_args_out",
}


def _kernel_name(schema: Schema) -> str:
    rule = schema.name + (f"_{schema.overload}" if schema.overload else "")
    return _KERNELS.get(schema.qualified_name, rule)


def native_aliases(rows: Iterable[KernelRow], types: str) -> str:
    """``torch::executor::native::<kernel>`` for the kernels of the portable and the quantized library.

    Quantized kernels can be called without a context as well. types: using-declarations that signatures need.
    """
    functions: dict[str, str] = {}
    wrapped: dict[str, KernelRow] = {}
    for row in rows:
        namespace, _, _ = row.function.rpartition("::")
        if namespace in _NATIVE_LIBRARIES and not row.key:
            name = _kernel_name(row.schema)
            functions.setdefault(name, row.function)
            if row.schema.namespace == "quantized_decomposed" and row.takes_context:
                wrapped.setdefault(name, row)
    if not functions:
        return ""
    lines = (
        f"using ::{_WRAPPERS}::{name};\n"
        if name in wrapped
        else f"using ::{function};\n"
        if function.endswith(f"::{name}")
        else f"inline constexpr auto& {name} = ::{function};\n"
        for name, function in functions.items()
    )
    scope = "torch::executor::native"
    aliases = f"namespace {scope} {{\n{''.join(lines)}}}  // namespace {scope}\n"
    return _HEADING + _wrappers(wrapped, types) + aliases


def _wrappers(rows: Mapping[str, KernelRow], types: str) -> str:
    """Two functions a kernel: with a context that may lack temporary memory, and without a context."""
    if not rows:
        return ""
    text = "#include <executorch/runtime/kernel/entry_point_scope.h>\n"
    text += f"\nnamespace {_WRAPPERS} {{\n{types}\n"
    for name, row in rows.items():
        arguments = "".join(f", {a.name}" for a in row.schema.arguments)
        text += f"inline {declaration(row.schema, name)} {{\n"
        text += "  const ::executorch::ET_RUNTIME_NAMESPACE::internal::EntryPointScope entry_point_scope(ctx);\n"
        text += f"  return ::{row.function}(ctx{arguments});\n}}\n"
        text += "// Ends the program if the kernel fails.\n"
        text += f"inline {declaration(row.schema, name, takes_context=False)} {{\n  KernelRuntimeContext ctx;\n"
        text += f"  {return_type(row.schema)} result = {name}(ctx{arguments});\n"
        text += "  ET_CHECK_MSG(ctx.failure_state() == ::executorch::runtime::Error::Ok, "
        text += f'"{row.schema.qualified_name} failed");\n  return result;\n}}\n'
    return text + f"\n}}  // namespace {_WRAPPERS}\n\n"


def entry_point_aliases(namespaces: Iterable[str]) -> str:
    """``torch::executor::<ns>::<name>_outf`` for the entry points of the operators' namespaces."""
    text = ""
    for namespace in namespaces:
        scope = f"torch::executor::{namespace}"
        text += f"namespace {scope} {{\nusing namespace ::executorch::kernels::{namespace};\n}}  // namespace {scope}\n"
    return f"{_HEADING}{text}" if text else ""
