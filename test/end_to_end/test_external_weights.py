# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Weights in files beside the program: written, found by name, refused when they do not fit."""

import ast
import contextlib
import functools
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
import torch
from hypothesis import strategies as st
from oracle import peer
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import MODEL, absolute, of_largest
from peer_programs import FOLDER

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.passes.state.external_constants_pass import delegate_external_constants_pass_unlifted
from executorch.exir.serialize import deserialize_flat_tensor
from executorch.extension.flat_tensor.serialize.serialize import FlatTensorSerializer
from executorch.runtime import InvalidArgumentError, InvalidProgramError, NotFoundError, Runtime

FILE = "_default_external_constant"
X = (torch.linspace(-1, 1, 6).reshape(2, 3),)


class Model(torch.nn.Module):
    def __init__(self, seed: int = 0, width: int = 5) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.a, self.b = torch.nn.Linear(3, width), torch.nn.Linear(width, 2)
        self.register_buffer("scale", torch.tensor([1.0, 3.0]))
        self.register_buffer("calls", torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return self.b(self.a(x).relu()) * self.scale + torch.tensor([1.0, 2.0])


def compiled(external: object = True, model: torch.nn.Module | None = None) -> ExecutorchProgramManager:
    exported = torch.export.export(model or Model(), X)
    return to_edge(exported).to_executorch(ExecutorchBackendConfig(external_constants=external))  # type: ignore[arg-type]


@functools.cache
def compiled_once() -> ExecutorchProgramManager:
    return compiled()


def run(lowered: ExecutorchProgramManager, data: bytes | None) -> torch.Tensor:
    (out,) = Runtime.get().load_program(lowered.buffer, data_path=data).load_method("forward").execute(X)
    return out


def test_all_weights_go_to_one_file() -> None:
    program = compiled()
    assert set(program.data_files) == {FILE}
    _, entries = deserialize_flat_tensor(program.data_files[FILE])
    assert set(entries) == {"a.weight", "a.bias", "b.weight", "b.bias", "scale"}
    torch.testing.assert_close(run(program, program.data_files[FILE]), Model()(*X))


class Attributes(torch.nn.Module):
    """Weights that are neither parameters nor buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = torch.full((2, 3), 3.0), torch.nn.Module()
        self.b.offset = torch.full((2, 3), 2.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a * x + self.b.offset + torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize("strict", [False, True])
def test_tensor_attributes_are_weights_and_tensors_in_the_code_are_not(strict: bool) -> None:
    exported = torch.export.export(Attributes(), X, strict=strict)
    program = to_edge(exported).to_executorch(ExecutorchBackendConfig(external_constants=True))
    _, entries = deserialize_flat_tensor(program.data_files[FILE])
    assert set(entries) == {"a", "b.offset"}
    torch.testing.assert_close(run(program, program.data_files[FILE]), Attributes()(*X))


def test_a_function_chooses_the_file_of_each_weight() -> None:
    program = compiled(lambda node: "biases" if node.name.endswith("bias") else None)
    assert set(program.data_files) == {"biases"}
    _, entries = deserialize_flat_tensor(program.data_files["biases"])
    assert set(entries) == {"a.bias", "b.bias"}
    torch.testing.assert_close(run(program, program.data_files["biases"]), Model()(*X))


def test_one_program_runs_with_other_weights() -> None:
    program, other = compiled(), compiled(model=Model(1))
    assert program.buffer == other.buffer
    torch.testing.assert_close(run(program, other.data_files[FILE]), Model(1)(*X))


@needs_xnnpack
def test_weights_of_delegates_go_to_the_files_that_the_unlifted_module_names() -> None:
    model = Model()
    tagged = torch.export.export(model, X).module()
    delegate_external_constants_pass_unlifted(tagged, lambda node: "a" if node.name.startswith("a_") else None)
    lowered = to_edge_transform_and_lower(torch.export.export(tagged, X), partitioner=[XnnpackPartitioner()])
    program = lowered.to_executorch()
    assert set(program.data_files) == {"a"}
    buffers, _ = deserialize_flat_tensor(program.data_files["a"])
    assert sorted(map(len, buffers)) == [5 * 4, 5 * 3 * 4]
    torch.testing.assert_close(run(program, program.data_files["a"]), Model()(*X))
    with pytest.raises(NotFoundError, match="failed: Error::NotFound"):
        run(program, None)


def test_values_computed_from_external_weights_of_delegates_are_computed_at_run_time() -> None:
    class Gate(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = torch.nn.Parameter(torch.randn(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * torch.sigmoid(self.gate)

    model = Gate()
    tagged = torch.export.export(model, X).module()
    delegate_external_constants_pass_unlifted(tagged, lambda node: "gates")
    program = to_edge_transform_and_lower(
        torch.export.export(tagged, X), partitioner=[XnnpackPartitioner()]
    ).to_executorch()
    buffers, _ = deserialize_flat_tensor(program.data_files["gates"])
    assert list(map(len, buffers)) == [3 * 4]
    torch.testing.assert_close(run(program, program.data_files["gates"]), model(*X))


def _quantized() -> torch.nn.Module:
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_

    model = Model()
    model.a = torch.nn.Linear(3, 32)
    model.b = torch.nn.Linear(32, 2)
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int8)
    quantize_(model.eval(), config, filter_fn=lambda _, name: name == "b")
    return model


def _sequential() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(OrderedDict([("0", torch.nn.Linear(3, 5)), ("Last", torch.nn.Linear(5, 2))])).eval()


@needs_xnnpack
@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        pytest.param(_quantized, {3 * 32 * 4, 32 * 4, 32 * 2, 2 * 4}, id="tensor subclass"),
        pytest.param(_sequential, {3 * 5 * 4, 5 * 4, 5 * 2 * 4, 2 * 4}, id="digits and capitals"),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_weights_that_torch_names_anew_go_to_the_named_file(
    make: Callable[[], torch.nn.Module], sizes: set[int], strict: bool
) -> None:
    model = make()
    tagged = torch.export.export(model, X).module()
    delegate_external_constants_pass_unlifted(tagged, lambda node: "weights")
    exported = torch.export.export(tagged, X, strict=strict)
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    buffers, _ = deserialize_flat_tensor(program.data_files["weights"])
    assert sizes <= set(map(len, buffers))
    expected = model(*X)
    torch.testing.assert_close(run(program, program.data_files["weights"]), expected, **of_largest(expected, 0.02))


def test_methods_share_weights_and_different_values_of_one_weight_are_refused() -> None:
    model = Model()
    exported = torch.export.export(model, X)
    config = ExecutorchBackendConfig(external_constants=True)
    program = to_edge({"one": exported, "two": exported}).to_executorch(config)
    buffers, entries = deserialize_flat_tensor(program.data_files[FILE])
    assert len(buffers) == len(entries) == 5
    with pytest.raises(Exception, match=r"a\.weight"):
        to_edge({"one": exported, "two": torch.export.export(Model(1), X)}).to_executorch(config)


def test_files_are_written_beside_the_program_and_found_by_the_runner(tmp_path: Path) -> None:
    program = compiled()
    program.save(str(tmp_path / "model.pte"))
    program.write_tensor_data_to_file(tmp_path)
    out = Runtime.get().load_program(tmp_path / "model.pte", data_path=tmp_path / f"{FILE}.ptd")
    torch.testing.assert_close(out.load_method("forward").execute(X)[0], Model()(*X))
    starter = [sys.executable, "-m", "executorch.extension.executor_runner.command"]
    command = [*starter, f"--model_path={tmp_path}/model.pte", f"--data_path={tmp_path}/{FILE}.ptd"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "output 0: tensor(sizes=[2, 2], " in done.stdout


def test_a_program_without_its_weights_names_a_missing_one() -> None:
    program = compiled()
    with pytest.raises(NotFoundError, match=r"no data named 'a\.weight'"):
        run(program, None)
    biases = compiled(lambda node: "biases" if node.name.endswith("bias") else None).data_files["biases"]
    with pytest.raises(NotFoundError, match=r"no data named 'a\.weight'"):
        run(program, biases)


def test_weights_of_another_shape_are_refused_by_name() -> None:
    with pytest.raises(InvalidProgramError, match=r"'a\.weight'"):
        run(compiled(), compiled(model=Model(width=7)).data_files[FILE])


def test_an_invalid_data_file_is_refused() -> None:
    program = compiled()
    for data in (b"", b"\0" * 100, program.buffer):
        with pytest.raises(InvalidProgramError, match="data file"):
            run(program, data)
    with pytest.raises(OSError, match=r"nothing\.ptd"):
        Runtime.get().load_program(program.buffer, data_path="nothing.ptd")


@hypothesis.settings(derandomize=True, max_examples=300, deadline=None)
@hypothesis.given(st.data())
def test_no_damage_to_a_data_file_crashes_the_loader(data: st.DataObject) -> None:
    program = compiled_once()
    damaged = bytearray(program.data_files[FILE])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(len(damaged), 700) - 1))
        damaged[at] = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF]))
    if data.draw(st.booleans()):
        del damaged[data.draw(st.integers(0, len(damaged))) :]
    # InvalidArgumentError: a damaged offset makes data unaligned for its elements.
    with contextlib.suppress(InvalidProgramError, NotFoundError, InvalidArgumentError):
        run(program, bytes(damaged))


def test_a_data_file_of_the_peer_is_read() -> None:
    data = (FOLDER / "external.ptd").read_bytes()
    program = Runtime.get().load_program(FOLDER / "external.pte", data_path=data)
    (out,) = program.load_method("forward").execute([torch.ones(1, 3)])
    torch.testing.assert_close(out, torch.tensor([[1.0, 2.0788]]), **absolute(MODEL))


def test_the_documented_serializer_reads_what_it_wrote() -> None:
    serializer = FlatTensorSerializer()
    read = serializer.deserialize_to_named_data_store_output((FOLDER / "external.ptd").read_bytes(), "weights")
    entries = read.external_data["weights"]
    assert entries["a.weight"].tensor_layout is not None
    assert entries["a.weight"].tensor_layout.sizes == [5, 3]


@pytest.mark.skipif(not peer.is_installed(), reason=peer.MISSING)
def test_the_peer_reads_our_data_file(tmp_path: Path) -> None:
    program = compiled()
    program.save(str(tmp_path / "model.pte"))
    program.write_tensor_data_to_file(tmp_path)
    script = f"""
import torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch
module = _load_for_executorch("model.pte", "{FILE}.ptd")
print(module.forward([torch.linspace(-1, 1, 6).reshape(2, 3)])[0].tolist())
"""
    printed = peer.run_script(script, [], tmp_path).splitlines()[-1]
    torch.testing.assert_close(torch.tensor(ast.literal_eval(printed)), Model()(*X))
