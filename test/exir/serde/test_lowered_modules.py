# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Saving and loading of programs with delegates."""

import io
import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from torch.export import Dim, ExportedProgram, export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeProgramManager, load, save, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.test.backend_with_compiler_demo import BackendWithCompilerDemo
from executorch.exir.format.named_data import NamedDataStore
from executorch.exir.lowered_backend_module import get_lowered_backend_modules
from executorch.exir.serde.serialize import deserialize, serialize
from executorch.runtime import Runtime


class _TwoDelegates(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(3, 4)
        self.second = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        sums = torch.cumsum(self.first(x).relu(), 0)
        return self.second(sums), sums


class _Branches(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        (result,) = torch.cond(x.sum() > 0, lambda x: (self.linear(x),), lambda x: (x.relu() * 2,), (x,))
        return result


def _lowered(model: torch.nn.Module) -> EdgeProgramManager:
    program = export(model.eval(), (torch.ones(2, 3),), dynamic_shapes=({0: Dim("rows", max=8)},))
    return to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])


def _again(program: ExportedProgram) -> ExportedProgram:
    file = io.BytesIO()
    save(program, file)
    return load(file)


@needs_xnnpack
def test_a_loaded_program_with_delegates_is_emitted_as_the_saved_one() -> None:
    model = _TwoDelegates()
    lowered = _lowered(model)
    loaded = _again(lowered.exported_program())
    x = torch.randn(5, 3)
    torch.testing.assert_close(loaded.module()(x), model(x))
    assert EdgeProgramManager({"forward": loaded}).to_executorch().buffer == lowered.to_executorch().buffer


@needs_xnnpack
def test_delegates_in_branches_are_saved_and_loaded() -> None:
    model = _Branches()
    lowered = _lowered(model)
    emitted = EdgeProgramManager({"forward": _again(lowered.exported_program())}).to_executorch()
    method = Runtime.get().load_program(emitted.buffer).load_method("forward")
    assert method is not None
    for x in (torch.ones(5, 3), -torch.ones(2, 3)):
        torch.testing.assert_close(method.execute([x])[0], model(x))
    (plan,) = emitted.executorch_program.execution_plan
    assert len(plan.delegates) == len(lowered.to_executorch().executorch_program.execution_plan[0].delegates) > 0


class _Sines(torch.nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def forward(self, x: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        results = tuple(torch.sin(x) + i for i in range(self.count))
        return results if self.count > 1 else results[0]


class _Host(torch.nn.Module):
    def __init__(self, lowered: torch.nn.Module) -> None:
        super().__init__()
        self.lowered = lowered

    def forward(self, x: torch.Tensor) -> Any:
        return self.lowered(x)


@pytest.mark.parametrize("count", [1, 2], ids=["one tensor", "two tensors"])
@pytest.mark.parametrize("edge", [False, True], ids=["exported", "edge"])
def test_a_model_that_calls_a_lowered_module_is_saved_and_loaded(count: int, edge: bool) -> None:
    x = torch.randn(3)
    lowered = to_backend(BackendWithCompilerDemo.__name__, to_edge(export(_Sines(count), (x,))).exported_program(), [])
    program = export(_Host(lowered), (x,))
    if edge:
        program = to_edge(program).exported_program()
    loaded = _again(program)
    assert [node.name for node in loaded.graph.nodes] == [node.name for node in program.graph.nodes]
    torch.testing.assert_close(loaded.module()(x), _Sines(count)(x))


def test_a_delegate_keeps_its_named_data_and_compile_specs() -> None:
    program = _lowered(_TwoDelegates()).exported_program()
    store = NamedDataStore()
    store.add_named_data("bytes", b"\x00\xff", alignment=16)
    store.add_named_data("tensor", torch.ones(2, 3), external_tag="weights")
    before = get_lowered_backend_modules(program.graph_module)
    before[0]._named_data_store_output = store.get_named_data_store_output()
    after = get_lowered_backend_modules(_again(program).graph_module)
    for attribute in ("backend_id", "processed_bytes", "compile_specs", "named_data_store_output"):
        assert [getattr(module, attribute) for module in after] == [getattr(module, attribute) for module in before]


def _named_data(**entry: int) -> str:
    return json.dumps({"buffers": [""], "pte_data": {"key": entry}, "external_data": {}})


def _first_delegate(program: Any) -> Any:
    nodes = program["graph_module"]["graph"]["nodes"]
    return next(node["inputs"][0] for node in nodes if node["target"].endswith("executorch_call_delegate"))


@pytest.mark.parametrize("name", ["forward", "training", "a.b", ""])
def test_a_delegate_with_an_invalid_or_existing_attribute_name_is_refused(name: str) -> None:
    data = serialize(_lowered(_TwoDelegates()).exported_program())
    program = json.loads(data.exported_program)
    _first_delegate(program)["name"] = name
    with pytest.raises(ValueError, match=f"expected the name of a new attribute, found '{name}'"):
        deserialize(replace(data, exported_program=json.dumps(program).encode()))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("backend_id", None, "KeyError: 'backend_id'"),
        ("backend_id", 3, "TypeError: expected a string, found 3"),
        ("processed_bytes", "*", "Only base64 data is allowed"),
        ("compile_specs", 3, "TypeError"),
        ("original_module", [], "TypeError"),
        (
            "named_data_store",
            _named_data(buffer_index=1, alignment=1),
            "expected the index of one of 1 buffers, found 1",
        ),
        ("named_data_store", _named_data(buffer_index=0, alignment=0), "alignment must be at least 1, found 0"),
    ],
)
def test_an_invalid_delegate_is_refused(field: str, value: Any, message: str) -> None:
    data = serialize(_lowered(_TwoDelegates()).exported_program())
    program = json.loads(data.exported_program)
    argument = _first_delegate(program)["arg"]
    fields = json.loads(argument["as_string"])
    if value is None:
        del fields[field]
    else:
        fields[field] = value
    argument["as_string"] = json.dumps(fields)
    with pytest.raises(ValueError, match=message):
        deserialize(replace(data, exported_program=json.dumps(program).encode()))
