# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The registry of example models and the commands that export them."""

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from models.timm_models import create_model as create_timm_model
from oracle.tolerances import FEW_ROUNDINGS, LAYERS

from executorch.devtools import parse_etrecord
from executorch.examples.devtools.scripts import gen_sample_etrecord
from executorch.examples.models import (
    MODEL_NAME_TO_MODEL,
    Model,
    UnavailableModelError,
    UnknownModelError,
    available_models,
    find_model,
)
from executorch.examples.models.llama.export_llama_lib import build_model
from executorch.examples.models.model_base import EagerModelBase
from executorch.examples.models.model_factory import EagerModelFactory
from executorch.examples.models.timm_image_model import TimmImageModel
from executorch.examples.models.wav2letter import Wav2Letter
from executorch.examples.portable.scripts import export
from executorch.examples.portable.utils import export_to_edge, export_to_exec_prog
from executorch.examples.xnnpack import MODEL_NAME_TO_OPTIONS, QuantType, XNNPACKOptions, aot_compiler
from executorch.examples.xnnpack.quantization import example
from executorch.examples.xnnpack.quantization.utils import quantize
from executorch.extension.llm.export.config.llm_config import LlmConfig
from executorch.runtime import Runtime

# vit holds 330 MB, ic4 170 MB.
BIG = {"vit", "ic4"}
TINY = ("deep_autoencoder", "ds_cnn", "mobilenet_v1_025", "resnet8")


def _build(name: str) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any] | None, Any]:
    torch.manual_seed(0)
    return EagerModelFactory.create_model(*find_model(name))


def _run(program: bytes, inputs: tuple[Any, ...]) -> list[torch.Tensor]:
    method = Runtime.get().load_program(program).load_method("forward")
    return list(method.execute(torch.utils._pytree.tree_leaves(inputs)))


@pytest.fixture(scope="module")
def timm_without_torchvision() -> None:
    create_timm_model("resnet18")  # importing timm also imports torchvision, which these models do not use


def test_every_name_of_the_enum_is_registered() -> None:
    assert set(MODEL_NAME_TO_MODEL) == {str(name) for name in Model}


@pytest.mark.sampled
@pytest.mark.parametrize("name", [n for n in available_models() if n not in BIG])
def test_a_registered_model_is_built_with_its_example_inputs(name: str, timm_without_torchvision: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transformers imports torchao, which warns of its CUDA libraries
        model, inputs, keywords, shapes = _build(name)
    assert isinstance(model, torch.nn.Module)
    assert torch.utils._pytree.tree_leaves(inputs)
    assert keywords is None
    assert (shapes is not None) == (name in ("llama", "llama2"))


@pytest.mark.parametrize(("name", "millions"), [("mv2", 3.504872), ("resnet18", 11.689512), ("resnet50", 25.557032)])
def test_a_model_of_a_paper_has_as_many_parameters_as_published(name: str, millions: float) -> None:
    assert sum(p.numel() for p in _build(name)[0].parameters()) == round(millions * 1e6)


@pytest.mark.parametrize(
    "name", ["mv2", "resnet18", "resnet50", "mv3", "dl3", "whisper", "mobilebert", "llama2", "conv1d"]
)
def test_a_built_model_accepts_its_example_inputs(name: str, timm_without_torchvision: None) -> None:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        model, inputs, _, _ = _build(name)
        first = torch.utils._pytree.tree_leaves(model(*inputs))[0]
    assert first.isfinite().all()


@pytest.mark.parametrize("name", ["add", "mul", "linear", "softmax", "lstm", "add_mul", "conv1d", *TINY])
def test_an_exported_model_computes_what_the_eager_model_computes(name: str) -> None:
    model, inputs, _, _ = _build(name)
    actual = _run(export_to_exec_prog(model, inputs).buffer, inputs)
    for a, e in zip(actual, torch.utils._pytree.tree_leaves(model(*inputs)), strict=True):
        torch.testing.assert_close(a, e, **FEW_ROUNDINGS)


def test_the_decoder_runs_with_other_numbers_of_tokens_than_it_was_exported_with() -> None:
    from executorch.examples.models.llama import Llama2Model
    from executorch.examples.models.llama.model import DecoderSizes

    sizes = DecoderSizes(vocabulary=50, dim=16, hidden=32, layers=2, heads=2, max_tokens=16)
    model, inputs, _, shapes = EagerModelFactory.create_model("llama", Llama2Model.__name__, sizes=sizes)
    edge = export_to_edge(model, inputs, dynamic_shapes=shapes)
    longer = (torch.tensor([[5, 6, 7, 8, 9, 10, 11]]),)
    actual = _run(edge.to_executorch().buffer, longer)[0]
    torch.testing.assert_close(actual, model(*longer), **LAYERS)


@pytest.mark.parametrize(
    ("module", "class_name"),
    [
        ("llama", "Llama2Model"),
        ("qwen2_5", "Qwen2_5Model"),
        ("qwen3", "Qwen3Model"),
        ("phi_4_mini", "Phi4MiniModel"),
        ("smollm2", "SmolLM2Model"),
        ("gemma3", "Gemma3Model"),
    ],
)
@pytest.mark.parametrize("use_cache", [False, True])
def test_a_language_model_is_built_from_its_configuration(
    module: str, class_name: str, use_cache: bool, tmp_path: Path
) -> None:
    params = tmp_path / "params.json"
    params.write_text(json.dumps({"dim": 32, "n_layers": 2, "n_heads": 2, "vocab_size": 50, "hidden_dim": 64}))
    config = LlmConfig()
    config.base.params = str(params)
    config.model.use_kv_cache = use_cache
    config.export.max_seq_length = config.export.max_context_length = 8
    torch.manual_seed(0)
    model, inputs, keywords, shapes = EagerModelFactory.create_model(module, class_name, llm_config=config)
    assert keywords is None and shapes is None
    assert inputs[0].shape == ((1, 3) if use_cache else (1, 7))
    result = model(*inputs)
    assert result.shape == (1, 50)
    torch.manual_seed(0)
    torch.testing.assert_close(result, build_model(config)(*inputs), rtol=0, atol=0)


def test_a_family_of_language_models_is_not_built_without_a_configuration() -> None:
    with pytest.raises(UnavailableModelError, match="pass llm_config"):
        EagerModelFactory.create_model("qwen3", "Qwen3Model")


def test_the_portable_command_writes_a_program_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export.main(["--model_name", "add", "-o", str(tmp_path), "--segment_alignment", "0x4000"])
    assert capsys.readouterr().out.strip() == f"wrote {tmp_path / 'add.pte'}"
    result = _run((tmp_path / "add.pte").read_bytes(), (torch.tensor([2.0]), torch.tensor([3.0])))
    assert result[0].item() == 5


def test_the_portable_command_writes_weights_beside_the_program(tmp_path: Path) -> None:
    export.main(["--model_name", "linear", "-o", str(tmp_path), "--external_constants"])
    (weights,) = tmp_path.glob("*.ptd")
    assert weights.name == "_default_external_constant.ptd"
    x = torch.randn(3, 3)
    method = Runtime.get().load_program(tmp_path / "linear.pte", data_path=weights).load_method("forward")
    assert method.execute([x])[0].shape == (3, 3)


def test_the_record_command_writes_a_record_that_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "etrecord.bin"
    gen_sample_etrecord.main(["-m", "add", "-o", str(path)])
    assert capsys.readouterr().out.strip() == f"wrote {path}"
    record = parse_etrecord(str(path))
    assert record.edge_dialect_program is not None
    assert set(record.graph_map or {}) == {"aten_dialect_output/forward"}


@pytest.mark.parametrize(
    ("flags", "file", "delegated"),
    [
        (["--delegate"], "linear_xnnpack_fp32.pte", True),
        (["--delegate", "--quantize", "--test_after_export"], "linear_xnnpack_q8.pte", True),
        (["--no-delegate"], "linear_fp32.pte", False),
    ],
)
def test_the_xnnpack_command_writes_a_program_that_runs(
    flags: list[str], file: str, delegated: bool, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    aot_compiler.main(["--model_name", "linear", "-o", str(tmp_path), "--etrecord", str(tmp_path / "etrecord"), *flags])
    program = (tmp_path / file).read_bytes()
    assert (b"XnnpackBackend" in program) == delegated
    assert _run(program, (torch.randn(3, 3),))[0].shape == (3, 3)
    assert (tmp_path / "etrecord").exists()


def test_the_quantization_example_writes_a_program_without_delegates(tmp_path: Path) -> None:
    torch.manual_seed(0)
    example.main(["--model_name", "linear", "-o", str(tmp_path)])
    program = (tmp_path / "linear_quantized.pte").read_bytes()
    assert b"XnnpackBackend" not in program and b"quantized" in program
    assert _run(program, (torch.randn(3, 3),))[0].shape == (3, 3)


@pytest.mark.parametrize(
    "command", [export.main, aot_compiler.main, example.main], ids=["portable", "xnnpack", "quantization"]
)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet81", "did you mean resnet8 or resnet18"),
        ("llava", "example model 'llava' is not available: its 7 billion parameters"),
    ],
)
def test_a_command_refuses_a_name_that_it_cannot_build(
    command: Any, name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        command(["--model_name", name])
    assert message in capsys.readouterr().err


def test_quantization_of_a_model_without_a_known_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        aot_compiler.main(["--model_name", "lstm", "--quantize"])
    assert "no quantization is known for example model 'lstm': expected one of: linear" in capsys.readouterr().err


def test_a_model_of_which_nothing_can_be_quantized_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(MODEL_NAME_TO_OPTIONS, "softmax", XNNPACKOptions(QuantType.DYNAMIC_PER_CHANNEL, True))
    with pytest.raises(SystemExit, match="2"):
        aot_compiler.main(["--model_name", "softmax", "--quantize", "-o", str(tmp_path)])
    printed = capsys.readouterr().err
    assert "NothingQuantizedError: example model 'softmax' with QuantType.DYNAMIC_PER_CHANNEL" in printed
    assert not list(tmp_path.iterdir())


def test_the_python_function_warns_if_nothing_can_be_quantized() -> None:
    model, inputs, _, _ = _build("softmax")
    exported = torch.export.export(model, inputs).module()
    with pytest.warns(UserWarning, match="nothing of the model is quantized"):
        quantized = quantize(exported, inputs, QuantType.DYNAMIC_PER_CHANNEL)
    assert torch.equal(quantized(*inputs), model(*inputs))


def test_every_convolution_of_the_speech_model_is_quantized() -> None:
    model = Wav2Letter(num_classes=8).eval()
    inputs = (torch.randn(1, 1, 700),)
    kind = MODEL_NAME_TO_OPTIONS["w2l"].quantization
    quantized = quantize(torch.export.export(model, inputs).module(), inputs, kind, strict=True)
    convolutions = quantized.graph.find_nodes(op="call_function", target=torch.ops.aten.conv1d.default)
    dequantize = torch.ops.quantized_decomposed
    assert len(convolutions) == 12
    for convolution in convolutions:
        activation, weight = convolution.args[:2]
        assert activation.target is dequantize.dequantize_per_tensor.default
        assert weight.target is dequantize.dequantize_per_channel.default


def test_quantization_of_no_kind_is_refused() -> None:
    model, inputs, _, _ = _build("linear")
    with pytest.raises(ValueError, match=r"QuantType\.NONE"):
        quantize(torch.export.export(model, inputs).module(), inputs, QuantType.NONE)


def test_quantizable_names_are_registered() -> None:
    assert set(MODEL_NAME_TO_OPTIONS) <= set(MODEL_NAME_TO_MODEL)


@pytest.mark.parametrize("name", sorted(set(MODEL_NAME_TO_MODEL) - set(available_models())))
def test_a_model_without_a_definition_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnavailableModelError, match=name):
        find_model(name)
    with pytest.raises(UnavailableModelError, match=name):
        EagerModelFactory.create_model(*MODEL_NAME_TO_MODEL[name])


def test_an_unknown_name_module_or_class_is_refused() -> None:
    with pytest.raises(UnknownModelError, match="did you mean mv2"):
        find_model("mv22")
    with pytest.raises(ValueError, match=r"no module of example models is named 'nothing': known: .*toy_model"):
        EagerModelFactory.create_model("nothing", "AddModule")
    with pytest.raises(ValueError, match="Model class 'Nothing' not found in module 'toy_model'"):
        EagerModelFactory.create_model("toy_model", "Nothing")


def test_a_model_of_a_missing_package_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ImportError, match=r"MV3Model needs timm and torchvision .*pip install timm"):
        _build("mv3")


def test_every_class_implements_the_interface_of_example_models() -> None:
    for name in available_models():
        module, class_name = find_model(name)
        found = getattr(importlib.import_module(f"executorch.examples.models.{module}"), class_name)
        assert issubclass(found, EagerModelBase)
    assert issubclass(TimmImageModel, EagerModelBase)
