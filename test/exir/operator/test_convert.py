# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Conversion of operators to out variants, and of names to operators."""

from typing import Any

import pytest
import torch

from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.error import ExportError
from executorch.exir.operator.convert import (
    get_out_args_from_opoverload,
    is_out_variant,
    output_to_aliased_input_map,
    require_out_variant,
    to_out_variant,
    unwrap_op_overload,
)

topk = torch.ops.aten.topk


def test_an_operator_and_its_name_say_the_same_of_out_variants() -> None:
    assert is_out_variant(topk.values) and is_out_variant("aten::topk", "values")
    assert not is_out_variant(topk.default) and not is_out_variant("aten::topk", "")


@pytest.mark.parametrize("name", ["aten::no_such_operator", "aten::topk", "no_namespace::topk", "topk"])
def test_an_unknown_name_is_named(name: str) -> None:
    with pytest.raises(ExportError, match="no such operator is registered"):
        is_out_variant(name, "no_such_overload")


def test_out_variants_come_with_the_names_of_their_out_arguments() -> None:
    assert to_out_variant(topk.default) == (topk.values, ("values", "indices"))
    assert to_out_variant(topk.values) == (topk.values, ("values", "indices"))
    assert to_out_variant(torch.ops.aten.softmax.int) == (torch.ops.aten.softmax.int_out, ("out",))
    assert require_out_variant(topk.default) is topk.values
    assert get_out_args_from_opoverload(topk.values) == ("values", "indices")


def test_the_operator_of_a_call_is_found_in_every_dialect() -> None:
    assert unwrap_op_overload(topk.default) is topk.default
    assert unwrap_op_overload(exir_ops.edge.aten.topk.default) is topk.default


@pytest.mark.parametrize("target", [None, 42, "aten.topk", topk, len])
def test_other_objects_than_operators_are_refused(target: object) -> None:
    with pytest.raises(TypeError, match="expected an OpOverload"):
        unwrap_op_overload(target)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (torch.ops.aten.relu.default._schema, {}),
        (torch.ops.aten.view.default._schema, {}),  # a view writes nothing
        (torch.ops.aten.relu_.default._schema, {0: 0}),
        (topk.values._schema, {0: 5, 1: 6}),
        (
            torch._C.parse_schema("my::swap(Tensor(a!) x, int n, Tensor(b!) y) -> (Tensor(b!), Tensor(a!))"),
            {0: 2, 1: 0},
        ),
        (torch._C.parse_schema("my::count(Tensor(a!) x) -> (Tensor, Tensor(a!))"), {1: 0}),
        (torch._C.parse_schema("my::both(Tensor(a!) x, Tensor(a!) y) -> Tensor(a!)"), {0: 0}),
    ],
)
def test_the_schema_determines_which_results_are_written_arguments(schema: Any, expected: dict[int, int]) -> None:
    assert output_to_aliased_input_map(schema) == expected
