# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The configurations of examples/models/*/config, which documented commands name."""

import json
from pathlib import Path

import pytest

from executorch.examples.models import llama
from executorch.extension.llm.export.config.llm_config import LlmConfig
from executorch.extension.llm.export.export_llm import main, read_config
from executorch.runtime import Runtime

MODELS = Path(llama.__file__).parent.parent
CONFIGS = sorted(MODELS.glob("*/config/*.yaml"))
SIZES = {"dim": 64, "n_layers": 1, "n_heads": 2, "n_kv_heads": 1, "vocab_size": 128, "hidden_dim": 64}


@pytest.fixture
def adapter(monkeypatch):
    """The environment that configurations with an adapter read."""
    monkeypatch.setenv("LORA_ADAPTER_CHECKPOINT", "adapter.safetensors")
    monkeypatch.setenv("LORA_ADAPTER_CONFIG", "adapter_config.json")


@pytest.mark.parametrize("file", CONFIGS, ids=lambda file: file.stem)
def test_a_documented_configuration_is_read(file, adapter):
    config = read_config(["--config", str(file)])
    assert isinstance(config, LlmConfig)
    assert set(json.loads(config.base.metadata)) == {"get_bos_id", "get_eos_ids"}


def test_the_default_scope_of_quantization_may_be_given():
    config = read_config(["quantization.quantize_scope=full"])
    config.refuse_unsupported()
    assert config.quantization.quantize_scope == "full"


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["llama_bf16", "llama_q8da4w", "llama_xnnpack", "llama_attention_sink"])
def test_a_configuration_of_llama_exports_a_model(name, tmp_path):
    params, program = tmp_path / "params.json", tmp_path / "small.pte"
    params.write_text(json.dumps(SIZES))
    arguments = ["--config", str(MODELS / f"llama/config/{name}.yaml"), "+base.model_class=llama3_2"]
    arguments += [f"+base.params={params}", "quantization.group_size=32", f"export.output_name={program}"]
    assert main(arguments) == 0
    loaded = Runtime.get().load_program(program)
    assert loaded.load_method("get_bos_id").execute([]) == [128000]
    delegated = name in ("llama_xnnpack", "llama_attention_sink")
    assert set(loaded.metadata("forward").backends()) == ({"XnnpackBackend"} if delegated else set())
