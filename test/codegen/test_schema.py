# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Schemas are read as PyTorch, which prints them, means them."""

import pytest
import torch

from executorch.codegen.cpp_types import declaration
from executorch.codegen.schema import SchemaError, parse_schema


def _out_variants() -> list[torch._C.FunctionSchema]:
    schemas = torch._C._jit_get_all_schemas()
    return [s for s in schemas if s.name.startswith("aten::") and any(a.is_out for a in s.arguments)]


def test_every_out_variant_of_torch_is_read_with_its_names_and_mutations() -> None:
    schemas = _out_variants()
    assert len(schemas) > 1000
    for expected in schemas:
        found = parse_schema(str(expected))
        assert found.qualified_name == expected.name + (f".{expected.overload_name}" if expected.overload_name else "")
        assert [a.name for a in found.arguments] == [a.name for a in expected.arguments]
        assert [a.is_mutated for a in found.arguments] == [
            a.alias_info is not None and a.alias_info.is_write for a in expected.arguments
        ]
        assert found.returns == len(expected.returns)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
            "Tensor& add_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& other, "
            "const Scalar& alpha, Tensor& out)",
        ),
        (
            "index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!)",
            "Tensor& index_tensor_out(KernelRuntimeContext& ctx, const Tensor& self, "
            "ArrayRef<std::optional<Tensor>> indices, Tensor& out)",
        ),
        (
            "max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) "
            "-> (Tensor(a!) values, Tensor(b!) indices)",
            "std::tuple<Tensor&, Tensor&> max_dim_max(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, "
            "bool keepdim, Tensor& max, Tensor& max_values)",
        ),
        (
            "split_copy.Tensor_out(Tensor self, SymInt split_size, int dim=0, *, Tensor(a!)[] out) -> ()",
            "void split_copy_tensor_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t split_size, "
            "int64_t dim, ArrayRef<Tensor> out)",
        ),
        (
            "mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) "
            "-> Tensor(a!)",
            "Tensor& mean_out(KernelRuntimeContext& ctx, const Tensor& self, std::optional<ArrayRef<int64_t>> dim, "
            "bool keepdim, std::optional<ScalarType> dtype, Tensor& out)",
        ),
        (
            "my::op.out(Tensor? bias, Scalar? low, str mode, float[]? scales, bool[2] mask, *, Tensor(a!) out) "
            "-> Tensor(a!)",
            "Tensor& op_out(KernelRuntimeContext& ctx, const std::optional<Tensor>& bias, "
            "const std::optional<Scalar>& low, std::string_view mode, std::optional<ArrayRef<double>> scales, "
            "ArrayRef<bool> mask, Tensor& out)",
        ),
    ],
)
def test_a_schema_gives_the_cpp_signature_of_its_kernel(schema: str, expected: str) -> None:
    parsed = parse_schema(schema)
    assert declaration(parsed, parsed.function_name) == expected


@pytest.mark.parametrize("text", ["", "add", "add.out(Tensor self", "add.out(Tensor) -> Tensor", "a.b.c(int x) -> int"])
def test_an_invalid_schema_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)
    assert repr(text) in str(caught.value)


def test_a_type_that_no_kernel_can_take_is_named() -> None:
    with pytest.raises(SchemaError, match="'source' has type Storage"):
        declaration(parse_schema("set.out(Storage source, *, Tensor(a!) out) -> Tensor(a!)"), "set_out")
