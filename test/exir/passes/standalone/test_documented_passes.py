# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Documented passes that the pipeline does not need."""

import logging
from pathlib import Path

import pytest
import torch
from torch.export import ExportedProgram, export

from executorch.exir import to_edge
from executorch.exir.memory_planning import filter_nodes
from executorch.exir.passes import DebugPass, LegalizePortableDimOrderPass, ToOutVarPass
from executorch.exir.passes.convert_constant_dim_order_pass import convert_constant_dim_order_pass
from executorch.exir.passes.prune_empty_tensors_pass import PruneEmptyTensorsPass
from executorch.exir.passes.remove_unused_parameters_pass import remove_unused_parameters_pass


def _calls(program: ExportedProgram) -> list[str]:
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


def test_a_mean_reads_a_copy_in_the_default_dim_order() -> None:
    class Mean(torch.nn.Module):
        def forward(self, image: torch.Tensor) -> torch.Tensor:
            return image.mean((2, 3))

    image = torch.randn(1, 3, 4, 5).to(memory_format=torch.channels_last)
    edge = to_edge(export(Mean(), (image,)))
    legal = edge.transform([LegalizePortableDimOrderPass()])
    assert sum("_to_dim_order_copy" in call for call in _calls(legal.exported_program())) == 1
    torch.testing.assert_close(legal.exported_program().module()(image), image.mean((2, 3)))
    assert legal.to_executorch().buffer
    plain = to_edge(export(Mean(), (image.contiguous(),))).exported_program()
    assert not LegalizePortableDimOrderPass()(plain.graph_module).modified


def test_parameters_without_readers_are_removed() -> None:
    class Half(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

        def forward(self, data: torch.Tensor) -> torch.Tensor:
            return self.used(data)

    model, data = Half(), torch.randn(1, 2)
    program = remove_unused_parameters_pass(export(model, (data,)))
    assert list(program.state_dict) == ["used.weight", "used.bias"]
    assert program.graph_signature.parameters == ("used.weight", "used.bias")
    torch.testing.assert_close(program.module()(data), model(data))


def test_constants_with_other_strides_become_contiguous() -> None:
    class Table(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", torch.randn(3, 2).t())

        def forward(self, data: torch.Tensor) -> torch.Tensor:
            return data + self.table

    model, data = Table(), torch.randn(2, 3)
    program = convert_constant_dim_order_pass(export(model, (data,)))
    assert program.state_dict["table"].is_contiguous()
    assert all(node.meta["val"].is_contiguous() for node in program.graph.nodes if node.op == "placeholder")
    torch.testing.assert_close(program.module()(data), model(data))


def test_empty_tensors_leave_concatenations() -> None:
    class Join(torch.nn.Module):
        def forward(self, data: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.cat([data, data[:0]]), torch.cat([data[:0], data[2:]])

    data = torch.randn(2, 3)
    program = to_edge(export(Join(), (data,))).transform([PruneEmptyTensorsPass()]).exported_program()
    joined, nothing = program.module()(data)
    torch.testing.assert_close(joined, data)
    assert nothing.shape == (0, 3)
    assert sum("aten.cat" in call for call in _calls(program)) == 1
    assert any("aten.full" in call for call in _calls(program))


def test_a_graph_is_written_with_specs_and_source_lines(tmp_path: Path) -> None:
    planned = to_edge(export(torch.nn.ReLU(), (torch.ones(2),))).to_executorch().exported_program()
    file = tmp_path / "graph.txt"
    show = DebugPass("after planning", show_src=True, show_spec=True, log_filename=str(file))
    assert not show(planned.graph_module).modified
    text = file.read_text()
    assert text.startswith("after planning")
    for expected in ("relu", "TensorSpec(", "      > "):
        assert expected in text


def test_a_graph_is_logged_whatever_level_is_configured(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph_module = export(torch.nn.ReLU(), (torch.ones(2),)).graph_module
    show = DebugPass("to the handler")
    show(graph_module)
    show.enable_debug_pass = False
    show(graph_module)
    assert caplog.text.count("to the handler") == 1
    monkeypatch.setattr(logging.root, "handlers", [])
    show.msg, show.enable_debug_pass = "to standard error", True
    show(graph_module)
    assert capsys.readouterr().err.startswith("to standard error\nCode is:")


def test_out_variants_are_made_of_a_graph_without_specs() -> None:
    class Split(torch.nn.Module):
        def forward(self, data: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return torch.split(data, 10)

    graph_module = to_edge(export(Split(), (torch.ones(10),))).exported_program().graph_module
    changed = ToOutVarPass()(graph_module).graph_module
    (split,) = [node for node in changed.graph.nodes if "split" in str(node.target)]
    assert [value.shape for value in split.meta["val"]] == [(10,)]
    assert len(list(filter_nodes([split.args, split.kwargs]))) == 2


def test_a_subclass_decides_which_operands_of_cat_are_removed() -> None:
    class KeepAll(PruneEmptyTensorsPass):
        def remove_empty_tensors_from_cat(self, graph_module: torch.fx.GraphModule, cat_node: torch.fx.Node) -> None:
            seen.append(cat_node.name)

    class Join(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cat([x, x[:0]])

    seen: list[str] = []
    program = to_edge(export(Join(), (torch.ones(2, 3),))).exported_program()
    assert not KeepAll()(program.graph_module).modified
    assert len(seen) == 1
