# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`python -m executorch.export` with backends, recipes, quantization, example models and records."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch
from oracle.tolerances import BFLOAT16_OUTPUTS, INT4_OUTPUTS, INT8_MODEL, LAYER, ONE_ROUNDING

from executorch.devtools import parse_etrecord
from executorch.examples.models import MODEL_NAME_TO_MODEL
from executorch.exir.schema import ExecutionPlan
from executorch.exir.serialize import deserialize_pte
from executorch.export import ExportRecipe, recipe_registry
from executorch.export.command import main
from executorch.export.user_model import load_user_model
from executorch.runtime import Runtime

SCRIPT = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 8)

    def forward(self, x, scale=None):
        y = self.linear(x)
        return y if scale is None else y * scale

def make():
    torch.manual_seed(0)
    return Net().eval(), (torch.randn(4, 64),)

def with_kwargs():
    model, args = make()
    return model, args, {"scale": torch.full((8,), 0.5)}

def exported():
    model, args = make()
    return torch.export.export(model, args)

class Narrow(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(3, 2)

    def forward(self, x):
        return self.head(x)

def narrow():
    return Narrow(), (torch.randn(4, 3),)

class Example:
    def get_eager_model(self):
        return make()[0]

    def get_example_inputs(self):
        return make()[1]

    def get_example_kwarg_inputs(self):
        return {"scale": torch.ones(8)}

    def get_dynamic_shapes(self):
        return {"x": {0: torch.export.Dim("rows", min=1, max=9)}, "scale": None}
"""


@pytest.fixture(autouse=True)
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe_script.py").write_text(SCRIPT)
    monkeypatch.delitem(sys.modules, "recipe_script", raising=False)


def run(*arguments: str) -> int:
    return main([*arguments, "--quiet"])


def plan_of(path: str) -> ExecutionPlan:
    return deserialize_pte(Path(path).read_bytes()).program.execution_plan[0]


def largest_error(path: str, name: str) -> float:
    """The largest difference between the program's output and the model's, relative to the largest output."""
    user = load_user_model(name)
    assert isinstance(user.model, torch.nn.Module)
    method = Runtime.get().load_program(path).load_method("forward")
    assert method is not None
    found = method.execute([*user.args, *user.kwargs.values()])[0]
    with torch.no_grad():
        expected = user.model(*user.args, **user.kwargs)
    return float((found - expected).abs().max() / expected.abs().max())


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        (["--backend", "xnnpack"], LAYER["rtol"]),
        (["--backend", "xnnpack", "--quantize", "int8"], INT8_MODEL),
        (["--backend", "xnnpack", "--quantize", "int8-dynamic"], INT8_MODEL),
        (["--backend", "xnnpack", "--quantize", "8da4w"], INT4_OUTPUTS),
        (["--recipe", "xnnpack_pt2e_int8_static_per_tensor"], INT8_MODEL),
        (["--backend", "xnnpack", "--compute-precision", "fp32"], LAYER["rtol"]),
        (["--backend", "xnnpack", "--compute-precision", "bf16"], BFLOAT16_OUTPUTS),
        (["--backend", "xnnpack", "--compute-precision", "bf16", "--max-error", "0.001"], BFLOAT16_OUTPUTS),
        (["--recipe", "xnnpack_bf16_compute"], BFLOAT16_OUTPUTS),
        (["--backend", "portable"], LAYER["rtol"]),
        ([], LAYER["rtol"]),
    ],
)
def test_backends_and_quantizations_give_programs_that_compute_the_model(options: list[str], bound: float) -> None:
    assert run("recipe_script:make", *options) == 0
    delegates = [delegate.id for delegate in plan_of("make.pte").delegates]
    assert delegates == (["XnnpackBackend"] if options and "portable" not in options else [])
    error = largest_error("make.pte", "recipe_script:make")
    assert error <= bound
    if any("bf16" in option for option in options):
        assert delegates and plan_of("make.pte").delegates[0].compile_specs[0].value == b"bf16"
        return  # float32 where the processor multiplies no bfloat16
    quantized = "--quantize" in options or "--recipe" in options
    assert (error > ONE_ROUNDING["atol"]) == quantized, "quantization changes the result, and nothing else does"


def test_quantization_shrinks_the_weights() -> None:
    sizes = []
    for options in ([], ["--quantize", "int8"], ["--quantize", "8da4w"]):
        assert run("recipe_script:make", "--backend", "xnnpack", *options) == 0
        data = deserialize_pte(Path("make.pte").read_bytes())
        sizes.append(len(Path("make.pte").read_bytes()))
        assert data.program.execution_plan[0].delegates
    assert sizes[0] > sizes[1] and sizes[0] > sizes[2]


def test_quantization_keeps_keyword_inputs_and_dynamic_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--backend", "xnnpack", "--quantize", "int8", "--json"]
    assert run("recipe_script:with_kwargs", "--dynamic", "x:0=rows:1..9", *options) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["methods"][0]["inputs"][0] == "float≤[9, 64]"
    assert "quantize" in summary["seconds"]
    assert largest_error("with_kwargs.pte", "recipe_script:with_kwargs") < INT8_MODEL


def test_a_class_of_an_example_model_gives_model_inputs_and_shapes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("recipe_script.py:Example", "--json") == 0
    (method,) = json.loads(capsys.readouterr().out)["methods"]
    assert method["inputs"] == ["float≤[9, 64]", "float[8]"]


@pytest.mark.parametrize("name", ["linear", "add_mul"])
def test_example_models_are_known_by_their_short_names(name: str) -> None:
    assert name in MODEL_NAME_TO_MODEL
    assert run(name, "--backend", "xnnpack") == 0
    assert plan_of(f"{name}.pte").delegates


@pytest.mark.parametrize(("path", "written"), [(None, "make.etrecord"), ("kept.bin", "kept.bin")])
def test_the_record_is_written_beside_the_program_or_to_the_given_path(path: str | None, written: str) -> None:
    assert run("recipe_script:make", "--backend", "xnnpack", "--etrecord", *([path] if path else [])) == 0
    record = parse_etrecord(written)
    assert record._delegate_map is not None and set(record._delegate_map) == {"forward"}


def test_a_recipe_with_its_own_passes_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = ExportRecipe(aten_transform_passes=[lambda method, program: program])
    monkeypatch.setattr(recipe_registry, "create_recipe", lambda *arguments, **settings: recipe)
    assert run("recipe_script:make", "--recipe", "xnnpack_fp32") == 1
    assert "does not run its aten_transform_passes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["linaer"], "unknown model 'linaer'; did you mean linear?"),
        (["qqqq"], "known: add, add_mul"),
        (
            ["recipe_script:make", "--recipe", "xnnpack_fp23"],
            "unknown recipe 'xnnpack_fp23'; did you mean xnnpack_fp32 or ",
        ),
        (["recipe_script:make", "--recipe", "xnnpack_fp32", "--backend", "xnnpack"], "leave out --backend"),
        (["recipe_script:make", "--quantize", "int8"], "--quantize int8 needs --backend xnnpack"),
        (["recipe_script:make", "--compute-precision", "bf16"], "--compute-precision bf16 needs --backend xnnpack"),
        (
            ["recipe_script:make", "--backend", "xnnpack", "--quantize", "int8", "--compute-precision", "bf16"],
            "exclude each other",
        ),
        (
            ["recipe_script:make", "--backend", "xnnpack", "--max-error", "0.1"],
            "--max-error needs --compute-precision bf16; found none",
        ),
        (
            ["recipe_script:make", "--backend", "xnnpack", "--compute-precision", "bf16", "--max-error", "-1"],
            "--max-error must be a positive number, found -1.0",
        ),
        (["recipe_script:exported", "--backend", "xnnpack", "--quantize", "int8"], "expected an nn.Module to quantize"),
        (["softmax", "--backend", "xnnpack", "--quantize", "8da4w"], "softmax has no nn.Linear"),
        (["recipe_script:narrow", "--backend", "xnnpack", "--quantize", "8da4w"], "group size 32; found head (3)"),
    ],
)
def test_choices_that_cannot_be_used_are_named(
    capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    assert run(*arguments) == 1
    out, err = capsys.readouterr()
    assert out == "" and why in err and "Traceback" not in err
