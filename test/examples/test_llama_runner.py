# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The command that continues a prompt; the runner itself is tested in extension/llm/runner."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from executorch.examples.models.llama.runner import native
from executorch.extension.llm.runner import GenerationConfig


class _Runner:
    """Answers with its arguments."""

    def __init__(self, program: Path, tokenizer: Path) -> None:
        self.files = f"{program.name} {tokenizer.name}"

    def stream(self, prompt: str, config: GenerationConfig) -> Iterator[str]:
        yield from (prompt, f" {self.files}", f" {config.seq_len} {config.temperature} {config.echo}")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name in ("model.pte", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).touch()
    return ["--pte", str(tmp_path / "model.pte"), "--tokenizer", str(tmp_path / "tokenizer.json")]


def test_the_command_continues_a_prompt(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(native, "TextLLMRunner", _Runner)
    config_path = str(tmp_path / "tokenizer_config.json")
    options = [
        "--model",
        "qwen3_0_6b",
        "--tokenizer_config",
        config_path,
        "-kv",
        "--max_len",
        "8",
        "--temperature",
        "0",
    ]
    native.main([*files, *options, "--prompt", "Once upon"])
    assert capsys.readouterr().out == "Once upon model.pte tokenizer.json 8 0.0 True\n"


@pytest.mark.parametrize(
    ("name", "path", "message"),
    [
        ("--params", "none.json", "--params: no such file: none.json"),
        ("--tokenizer_config", __file__, "--tokenizer_config: expected a file in the tokenizer's folder"),
    ],
)
def test_files_that_do_not_fit_are_named(
    files: list[str], name: str, path: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        native.main([*files, name, path])
    assert message in capsys.readouterr().err
