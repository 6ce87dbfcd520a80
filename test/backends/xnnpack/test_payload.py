# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The payload's bytes: the description in Python is that of the schema file, and no bytes crash who loads them."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from torch import nn

from executorch.backends.xnnpack.lowering.graph_writer import GraphWriter
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.backends.xnnpack.serialization.payload import (
    XNN_GRAPH,
    ConstantData,
    deserialize_payload,
    serialize_payload,
)
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.schema import BackendDelegateInlineData
from executorch.exir.serialize import MalformedProgramError, deserialize_pte, serialize_pte
from executorch.runtime import Runtime

DATA = Path(__file__).parents[2] / "data" / "xnnpack"
SCHEMA = Path(__file__).parents[3] / "backends" / "xnnpack" / "serialization" / "xnnpack_graph.fbs"


def _graph() -> tuple[g.XNNGraph, ConstantData]:
    constants = ConstantData()
    tensor = g.TensorValue(g.DataType.FP32, 2, [2, 3], constants.add(bytes(24)), g.INVALID_ID, 0, 0)
    per_channel = g.QuantizedTensorValue(tensor, g.PerChannelQuant([0.5, 1.0], -1))
    node = g.XNode(g.Add(0, 0, 1), 7, g.OutputMinMax(0.0, 6.0))
    graph = g.XNNGraph(
        "0", [node, g.XNode(g.StaticReshape(1, [6], 1, 2), 8)], [g.XValue(tensor), g.XValue(per_channel)]
    )
    return graph, constants


def test_a_payload_is_read_back_as_it_was_written() -> None:
    graph, constants = _graph()
    payload = serialize_payload(graph, constants)
    found, data = deserialize_payload(payload)
    assert found == graph
    assert bytes(data) == constants.bytes()
    assert payload[4:8] == b"XH00"
    assert deserialize_payload(payload)[0].xnodes[0].xnode_union == g.Add(0, 0, 1)


def test_a_payload_cut_anywhere_is_refused() -> None:
    payload = serialize_payload(*_graph())
    for size in range(0, len(payload) - 24, 7):
        with pytest.raises(MalformedProgramError):
            deserialize_payload(payload[:size])


def test_the_schema_file_describes_the_same_tables() -> None:
    text = re.sub(r"//.*", "", SCHEMA.read_text())
    tables = {
        name: [field.split(":")[0].strip() for field in body.split(";") if field.strip()]
        for name, body in re.findall(r"table (\w+) \{([^}]*)\}", text)
    }
    for table, fields in XNN_GRAPH.tables.items():
        layout = table.__name__ if table.__name__ in tables else table.__bases__[0].__name__
        assert tables[layout] == [field.name for field in fields], table.__name__
    (members,) = re.findall(r"union XNodeUnion \{([^}]*)\}", text)
    assert [member.split(":")[0].strip() for member in members.split(",") if member.strip()] == [
        kind.__name__ for kind in g.NODE_KINDS
    ]


def _images() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3, groups=4),
        nn.Flatten(),
        nn.Linear(16, 5),
    )


class _Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.project = nn.LayerNorm(8), nn.Linear(8, 24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.project(self.norm(x)).view(1, 5, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        attended = nn.functional.scaled_dot_product_attention(q, k, v)
        return torch.cat((attended.round().copysign(v), attended.sum(2, keepdim=True)), 2).transpose(1, 2)


class _Masked(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = (x > x.mean()) & ~(x == 0)[:, [4, 2, 3, 0, 1]]
        weights = torch.softmax((x @ x.mT).masked_fill(seen[..., :5], -9.0), -1)
        return torch.where(seen.any(-1, keepdim=True), weights @ x, 0.0)


# Changed sizes may need more memory than exists, which is an error like any other.
RUN_CHANGED = """
import random, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer
import numpy as np
program, seed, first, last = open(sys.argv[1], "rb").read(), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
draw = random.Random(seed)
inputs = [np.ones(eval(sys.argv[5]), np.float32)]
ran = 0
for _ in range(400):
    changed = bytearray(program)
    for _ in range(draw.randint(1, 3)):
        changed[draw.randrange(first, last)] = draw.choice((0, 1, 2, 7, 64, 127, 128, 255, draw.randrange(256)))
    try:
        _load_for_executorch_from_buffer(bytes(changed)).run_method("forward", inputs)
        ran += 1
    except RuntimeError:
        pass
print("ran", ran)
"""


def _lowered(model: nn.Module, shape: tuple[int, ...]) -> bytes:
    torch.manual_seed(0)
    exported = torch.export.export(model.eval(), (torch.ones(shape),))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    return lowered.to_executorch(ExecutorchBackendConfig()).buffer


PROGRAMS: dict[str, tuple[Callable[[], bytes], tuple[int, ...]]] = {
    "images": (lambda: _lowered(_images(), (1, 3, 8, 8)), (1, 3, 8, 8)),
    "tokens": (lambda: _lowered(_Tokens(), (1, 5, 8)), (1, 5, 8)),
    "masks": (lambda: _lowered(_Masked(), (1, 5, 8)), (1, 5, 8)),
    "integers": ((DATA / "quantized.pte").read_bytes, (1, 3, 8, 8)),
    "quantized rows": ((DATA / "quantized_rows.pte").read_bytes, (2, 12)),
    "quantized images": ((DATA / "quantized_images.pte").read_bytes, (1, 3, 4, 5)),
}


@needs_xnnpack
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", PROGRAMS)
def test_changed_payloads_run_or_are_refused(name: str, seed: int, tmp_path: Path) -> None:
    make, shape = PROGRAMS[name]
    program = make()
    first = program.index(b"XH00") - 4
    (tmp_path / "model.pte").write_bytes(program)
    size = int.from_bytes(program[first + 14 : first + 18], "little") + 32
    arguments = [str(tmp_path / "model.pte"), str(seed), str(first), str(first + size), str(shape)]
    done = subprocess.run([sys.executable, "-c", RUN_CHANGED, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


class _Scalars(nn.Module):
    def forward(self, x: torch.Tensor, scale: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return (x - y) * scale, -scale


@needs_xnnpack
def test_payloads_list_arguments_in_any_order_and_scalars_as_vectors() -> None:
    inputs = (torch.randn(3, 2), torch.tensor(2.5), torch.randn(3, 2))
    exported = torch.export.export(_Scalars(), inputs)
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    file = deserialize_pte(lowered.to_executorch().buffer)
    (delegate,) = file.program.backend_delegate_data
    graph, data = deserialize_payload(delegate.data)
    graph.input_ids.reverse()
    graph.output_ids.reverse()
    for value in graph.xvalues:
        tensor = value.xvalue_union
        assert isinstance(tensor, g.TensorValue)
        if not tensor.dims:
            tensor.num_dims, tensor.dims = 1, [1]
    changed = serialize_payload(graph, ConstantData.kept(graph.constant_data, data))
    file.program.backend_delegate_data[0] = BackendDelegateInlineData(changed)
    method = Runtime.get().load_program(bytes(serialize_pte(file))).load_method("forward")
    torch.testing.assert_close(tuple(method.execute(inputs)), _Scalars()(*inputs))


@needs_xnnpack
def test_a_node_of_an_unknown_kind_is_named() -> None:
    program = _lowered(nn.ReLU(), (2, 3))
    first = program.index(b"XH00") - 4
    tag, messages = g.NODE_KINDS.index(g.Clamp) + 1, []
    size = int.from_bytes(program[first + 14 : first + 18], "little") + 32
    for place in (position for position in range(first + 30, first + size) if program[position] == tag):
        changed = program[:place] + bytes([200]) + program[place + 1 :]
        try:
            Runtime.get().load_program(changed).load_method("forward")
        except RuntimeError as error:
            messages.append(str(error))
    assert any(f"of kind 200, of which {len(g.NODE_KINDS)} are known" in message for message in messages), messages


@needs_xnnpack
def test_nodes_without_readers_do_not_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    finish = GraphWriter.payload

    def with_more(writer: GraphWriter) -> bytes:
        first, second = writer.value(torch.float32, [2, 3]), writer.value(torch.float32, [2, 3])
        writer.node(g.Abs(0, first), 0)
        writer.node(g.Negate(first, second), 0)
        return finish(writer)

    monkeypatch.setattr(GraphWriter, "payload", with_more)
    method = Runtime.get().load_program(_lowered(nn.ReLU(), (2, 3))).load_method("forward")
    torch.testing.assert_close(method.execute([-torch.ones(2, 3)])[0], torch.zeros(2, 3))


def _refused(changed: Callable[[g.XNNGraph, ConstantData], None], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the error of a payload whose graph was changed before it was written."""
    write = GraphWriter.payload

    def with_change(writer: GraphWriter) -> bytes:
        changed(writer._graph, writer._constants)
        return write(writer)

    with monkeypatch.context() as patched:
        patched.setattr(GraphWriter, "payload", with_change)
        with pytest.raises(Exception, match="xnnpack payload") as refused:
            Runtime.get().load_program(_lowered(nn.ReLU(), (2, 3))).load_method("forward")
    return str(refused.value)


@needs_xnnpack
def test_a_second_value_of_an_external_id_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def add_second_input(graph: g.XNNGraph, _: ConstantData) -> None:
        value = g.TensorValue(g.DataType.FP32, 2, [200, 300], 0, 0, g.FLAG_EXTERNAL_INPUT, len(graph.xvalues))
        graph.xvalues.append(g.XValue(value))
        graph.xnodes[0].xnode_union.input_id = value.id_out

    assert "3 values are arguments, expected one for each of 2" in _refused(add_second_input, monkeypatch)


@needs_xnnpack
def test_a_payload_without_a_constant_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def drop_table(_: g.XNNGraph, constants: ConstantData) -> None:
        constants.offsets.clear()

    assert "the constant table is missing or lacks its entry 0" in _refused(drop_table, monkeypatch)
