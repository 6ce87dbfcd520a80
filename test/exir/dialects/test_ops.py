# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The operator namespaces."""

import copy
import pickle
import subprocess
import sys

import pytest
import torch
from oracle.kernels.core_operators import core_operators

from executorch.exir.dialects._ops import bind_pattern_to_op, ops
from executorch.exir.dialects.backend._ops import BackendOpOverload
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.error import ExportError
from executorch.exir.operator.convert import find_out_variant, to_copy_variant


def test_an_edge_operator_is_one_object_that_wraps_the_aten_overload():
    add = ops.edge.aten.add.Tensor
    assert isinstance(add, EdgeOpOverload)
    assert add is ops.edge.aten.add.Tensor
    assert add._op is torch.ops.aten.add.Tensor
    assert add.name() == "aten::add.Tensor"
    assert str(add) == "aten.add.Tensor"
    assert add._schema.arguments[0].name == "self"
    assert copy.deepcopy(add) is add
    assert pickle.loads(pickle.dumps(add)) is add


def test_tensors_in_the_schema_of_an_edge_operator_name_their_dtypes():
    schema = ops.edge.aten.sigmoid.default._schema
    taken, returned = schema.arguments[0].allowed_types, schema.returns[0].allowed_types
    assert {torch.bool, torch.uint8, torch.int64, torch.float16, torch.float64} <= taken
    assert {torch.float32, torch.float64} <= returned
    assert torch.int64 not in returned
    gather = ops.edge.aten.gather.default._schema
    assert [hasattr(item, "allowed_types") for item in gather.arguments] == [True, False, True, False]
    assert torch.float32 not in gather.arguments[2].allowed_types
    pools = ops.edge.aten.max_pool2d_with_indices.default._schema
    assert pools.returns[1].allowed_types == {torch.int64}


def test_the_schema_of_an_edge_operator_reads_like_that_of_the_wrapped_one():
    for op in core_operators():
        edge = getattr(getattr(ops.edge.aten, op._schema.name.split("::")[1]), op._overloadname)
        assert str(edge._schema) == str(op._schema)
        assert edge._schema == op._schema
        assert edge._schema.is_mutable == op._schema.is_mutable
        own_items = [*op._schema.arguments, *op._schema.returns]
        for item, own in zip([*edge._schema.arguments, *edge._schema.returns], own_items, strict=True):
            assert (item.name, str(item.type), repr(item)) == (own.name, str(own.type), repr(own))
            if "Tensor" in str(item.type) and not item.is_out:
                assert item.allowed_types


def test_an_operator_that_the_table_lacks_allows_every_dtype_that_a_program_can_hold():
    assert torch.complex64 in ops.edge.aten.cholesky_inverse.default._schema.arguments[0].allowed_types


def test_calling_an_edge_operator_computes():
    assert ops.edge.aten.add.Tensor(torch.ones(2), torch.ones(2)).tolist() == [2.0, 2.0]


def test_an_operator_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError):
        _ = ops.edge.aten.no_such_operator
    with pytest.raises(AttributeError):
        _ = ops.edge.aten.add.no_such_overload


@pytest.mark.parametrize(
    ("functional", "out"),
    [
        ("aten.add.Tensor", "aten::add.out"),
        ("aten.sum.dim_IntList", "aten::sum.IntList_out"),
        ("aten._to_copy.default", "aten::_to_copy.out"),
        ("aten.full.default", "aten::full.out"),
        ("aten.any.default", "aten::any.all_out"),
        ("aten.split_with_sizes_copy.default", "aten::split_with_sizes_copy.out"),
        ("aten.max.dim", "aten::max.dim_max"),
        ("aten.native_layer_norm.default", "aten::native_layer_norm.out"),
        ("aten.arange.start_step", "aten::arange.start_out"),
        ("dim_order_ops._to_dim_order_copy.default", "dim_order_ops::_to_dim_order_copy.out"),
    ],
)
def test_the_out_variant_is_found_by_its_schema(functional, out):
    namespace, name, overload = functional.split(".")
    op = getattr(getattr(getattr(ops.edge, namespace), name), overload)
    assert op.to_out_variant().name() == out


def test_every_core_aten_operator_on_tensors_has_an_out_variant():
    giving_tensors = [op for op in core_operators() if any("Tensor" in str(item.type) for item in op._schema.returns)]
    assert len(giving_tensors) > 150
    assert [op.name() for op in giving_tensors if find_out_variant(to_copy_variant(op) or op) is None] == []


def test_an_operator_without_an_out_variant_is_an_error():
    with torch.library._scoped_library("p1_no_out", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        for documented in (ExportError, RuntimeError):
            with pytest.raises(documented, match="p1_no_out::twice"):
                ops.edge.p1_no_out.twice.default.to_out_variant()


def test_a_pattern_can_be_bound_to_a_backend_operator():
    with torch.library._scoped_library("p1_backend", "DEF") as library:

        @bind_pattern_to_op(library, "add_relu(Tensor x, Tensor y) -> Tensor")
        def add_relu(x, y):
            return torch.relu(x + y)

        op = ops.backend.p1_backend.add_relu.default
        assert isinstance(op, BackendOpOverload)
        assert op(torch.tensor([1.0, -3.0]), torch.ones(2)).tolist() == [2.0, 0.0]

        @bind_pattern_to_op(library, "twice")
        def twice(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        assert ops.backend.p1_backend.twice.default(torch.ones(1)).item() == 2.0


def test_quantized_operators_exist_without_further_imports():
    script = (
        "from executorch.exir.dialects._ops import ops;print(ops.edge.quantized_decomposed.quantize_per_tensor.default)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "quantized_decomposed.quantize_per_tensor.default", done.stderr
