# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every example runs as it stands, and is short."""

import subprocess
import sys
from pathlib import Path

import pytest
from oracle.tolerances import LAYER

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(p for p in EXAMPLES.glob("*.py") if p.name != "without_torch.py")
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def _run(folder: Path, *command: object) -> str:
    done = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "script",
    [*SCRIPTS, EXAMPLES / "without_torch.py", *EXAMPLES.glob("*/run.py")],
    ids=lambda p: f"{p.parent.name}-{p.name}",
)
def test_an_example_is_at_most_sixty_lines(script: Path) -> None:
    assert len(script.read_text().splitlines()) <= 60


@pytest.mark.sampled(by="file")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.name)
def test_an_example_runs(script: Path, tmp_path: Path) -> None:
    assert _run(tmp_path, sys.executable, script)


@pytest.mark.sampled(by="file")
def test_the_export_command_and_the_program_without_torch_run(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "import torch\n\n\ndef mlp():\n"
        "    layers = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))\n"
        "    return layers.eval(), (torch.randn(1, 64),)\n"
    )
    summary = _run(tmp_path, sys.executable, "-m", "executorch.export", "model.py:mlp", "-o", "mlp.pte")
    assert "addmm" in summary
    assert "(1, 10)" in _run(tmp_path, sys.executable, EXAMPLES / "without_torch.py", "mlp.pte")


@pytest.mark.sampled(by="file")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.name)
def test_a_notebook_runs_and_shows_pictures(notebook: Path, tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    content = nbformat.read(notebook, as_version=4)
    NotebookClient(content, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    pictures = [o for c in content.cells for o in c.get("outputs", []) if "image/png" in o.get("data", {})]
    assert len(pictures) >= 3


@pytest.mark.sampled(by="file")
def test_a_language_model_is_trained_exported_and_run(tmp_path: Path) -> None:
    printed = _run(tmp_path, sys.executable, EXAMPLES / "llm/run.py", "5")
    perplexities = {
        line.split()[0]: float(line.split("perplexity ")[1].split()[0])
        for line in printed.splitlines()
        if "perplexity" in line
    }
    for name, tolerance in (("float32", 0.001), ("8bits", 0.01), ("4bits", 0.03)):
        assert abs(perplexities[name] / perplexities["eager"] - 1) < tolerance, name


@pytest.mark.sampled(by="file")
def test_the_sentence_search_finds_the_right_sentences(tmp_path: Path) -> None:
    command = (sys.executable, EXAMPLES / "minilm/search.py", "How do plants make food?", "--program", "minilm.pte")
    printed = _run(tmp_path, *command)
    best = printed.split("best matches")[1].splitlines()[1]
    assert "Plants turn sunlight" in best
    difference = float(printed.split("largest difference from eager")[1].split()[0])
    assert difference <= LAYER["atol"]
    assert "ran 'forward'" in _run(tmp_path, "executor_runner", "--model_path", "minilm.pte")
