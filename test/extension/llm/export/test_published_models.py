# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Models whose weights `export_llm` downloads when no checkpoint is given."""

from pathlib import Path

import huggingface_hub
import pytest
import torch
import transformers
from oracle.tolerances import MODEL

from executorch.extension.llm.export.export_llm import main
from executorch.runtime import Runtime

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "vocab_size": 64,
}
OPTIONS = ["base.model_class=qwen3_0_6b", "export.max_seq_length=8", "export.max_context_length=8"]


def test_a_published_model_has_the_weights_of_its_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**SIZES)).eval()
    model.save_pretrained(tmp_path / "snapshot")
    requested: list[str] = []

    def snapshot_download(repository: str, allow_patterns: list[str]) -> str:
        requested.append(repository)
        return str(tmp_path / "snapshot")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert main([*OPTIONS, f"export.output_name={tmp_path / 'model.pte'}"]) == 0
    assert requested == ["Qwen/Qwen3-0.6B"]
    tokens = torch.tensor([[3, 1, 4, 1, 5]])
    method = Runtime.get().load_program(tmp_path / "model.pte").load_method("forward")
    output = torch.as_tensor(method.execute([tokens])[0])
    torch.testing.assert_close(output[0], model(tokens).logits[0, -1], **MODEL)


def test_weights_that_cannot_be_downloaded_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def snapshot_download(repository: str, allow_patterns: list[str]) -> str:
        raise FileNotFoundError("no connection")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert main([*OPTIONS, f"export.output_name={tmp_path / 'model.pte'}"]) == 1
    message = capsys.readouterr().err
    assert "base.checkpoint: expected the folder of qwen3_0_6b" in message
    assert "Qwen/Qwen3-0.6B cannot be downloaded: FileNotFoundError: no connection" in message
    assert not (tmp_path / "model.pte").exists()
