# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Taps give the values of a model's nodes from its program."""

import pytest
import torch
from oracle.tolerances import LAYERS
from torch.export import export

from executorch.backends.xnnpack import XnnpackPartitioner
from executorch.devtools.intermediate_output_tap import (
    FULL_TENSOR,
    STATS,
    StatReducer,
    find_tap_nodes,
    get_reducer,
    select_all,
    select_all_call_function,
    select_any,
    select_by_module_class,
    select_by_module_path,
    select_by_op_type,
    select_not,
    strip_taps_,
    tap_compare,
    tap_intermediate_outputs_,
)
from executorch.exir import to_edge_transform_and_lower


class _Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layers(data).softmax(-1)
        return result


_DATA = (torch.randn(3, 4),)


@pytest.mark.parametrize("partitioner", [[], [XnnpackPartitioner()]], ids=["kernels", "delegate"])
def test_statistics_of_every_call_are_those_of_the_model(partitioner: list[XnnpackPartitioner]) -> None:
    table, specs = tap_compare(_Model().eval(), _DATA, partitioner)
    assert len(specs) == 4 and table["module_path"][0] == "layers.0"
    for field in STATS.fields:
        expected, found = (torch.tensor(table[f"{side}_{field}"].tolist()) for side in ("aot", "rt"))
        torch.testing.assert_close(found, expected, **LAYERS)


def test_whole_tensors_are_compared_in_decibels() -> None:
    rule = (select_by_module_class("Linear"), FULL_TENSOR)
    table, specs = tap_compare(_Model().eval(), _DATA, [XnnpackPartitioner()], rules=rule)
    assert [spec.module_class for spec in specs] == ["Linear", "Linear"]
    assert (table["sqnr_db"] > 80).all() and list(table["rt_numel"]) == [24, 6]


def test_taps_are_outputs_until_they_are_stripped() -> None:
    program, specs = tap_intermediate_outputs_(export(_Model().eval(), _DATA), max_taps=2)
    assert [spec.output_index for spec in specs] == [1, 2]
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    assert len(find_tap_nodes(edge.exported_program().graph_module)) == 2
    strip_taps_(edge)
    assert not find_tap_nodes(edge.exported_program().graph_module)


def test_selectors_combine() -> None:
    nodes = list(export(_Model().eval(), _DATA).graph.nodes)

    def found(selector: object) -> list[str]:
        return [node.name for node in nodes if selector(node)]  # type: ignore[operator]

    assert found(select_by_op_type("aten.relu.default")) == ["relu"]
    assert found(select_by_module_path("layers.*")) == ["linear", "relu", "linear_1"]
    assert found(select_all(select_by_module_path("layers.*"), select_not(select_by_op_type("linear.default")))) == [
        "relu"
    ]
    assert found(select_any(select_by_op_type("softmax.int"), select_by_module_class("ReLU"))) == ["relu", "softmax"]
    assert len(found(select_all_call_function())) == 4


def test_rules_without_a_match_are_an_error_or_a_warning() -> None:
    rule = (select_by_op_type("aten.tan.default"), STATS)
    with pytest.raises(ValueError, match="no rule matched"):
        tap_intermediate_outputs_(export(_Model(), _DATA), rule)
    with pytest.warns(UserWarning, match="no rule matched"):
        assert tap_intermediate_outputs_(export(_Model(), _DATA), rule, error_on_empty=False)[1] == []
    with pytest.raises(ValueError, match="at least one rule"):
        tap_intermediate_outputs_(export(_Model(), _DATA), [])


def test_reducers_are_found_by_name_and_cannot_take_the_name_of_another() -> None:
    assert get_reducer("STATS") is STATS
    with pytest.raises(ValueError, match="Unknown reducer"):
        get_reducer("median")
    with pytest.raises(ValueError, match="reserved for a built-in reducer"):
        get_reducer(StatReducer("STATS", (), FULL_TENSOR.emit, FULL_TENSOR.eager))
