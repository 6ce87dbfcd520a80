# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The command that exports small modules for C++ tests."""

from pathlib import Path

import pytest
import torch
from models.documented_modules import RECIPES, ModuleSimpleTrain
from models.export_program import main

from executorch.runtime import Runtime
from executorch.runtime.errors import InvalidStateError

PLANNED = [name for name, recipe in RECIPES.items() if not recipe.names_mutable_buffers]


@pytest.mark.parametrize("module_class", PLANNED, ids=lambda kind: kind.__name__)
def test_a_module_is_written_with_its_methods_and_computes_what_eager_computes(module_class, tmp_path: Path) -> None:
    name = module_class.__name__
    main(["--modules", name, "--outdir", str(tmp_path / "new")])
    program = Runtime.get().load_program(tmp_path / "new" / f"{name}.pte")
    recipe = RECIPES[module_class]
    assert set(program.method_names) >= set(recipe.inputs)
    for method, inputs in recipe.inputs.items():
        torch.manual_seed(0)
        module = module_class().eval()
        expected = getattr(module, method)(*inputs)
        if method == "set_state":
            continue
        actual = program.load_method(method).execute(inputs)
        torch.testing.assert_close(actual[0], expected if isinstance(expected, torch.Tensor) else expected[0])


def test_state_that_the_caller_keeps_is_named_and_has_no_planned_memory(tmp_path: Path) -> None:
    main(["--modules", "ModuleStateful", "--outdir", str(tmp_path)])
    method = Runtime.get().load_program(tmp_path / "ModuleStateful.pte").load_method("forward")
    attribute = method.metadata.attribute_tensor_meta(0)
    assert (attribute.name(), attribute.is_memory_planned()) == ("state", False)
    with pytest.raises(InvalidStateError, match="argument 0 has no memory"):
        method.execute([torch.ones(1)])


def test_gradients_are_outputs_after_the_loss(tmp_path: Path) -> None:
    main(["--modules", "ModuleSimpleTrain", "--outdir", str(tmp_path)])
    method = Runtime.get().load_program(tmp_path / "ModuleSimpleTrain.pte").load_method("forward")
    torch.manual_seed(0)
    module, values = ModuleSimpleTrain(), RECIPES[ModuleSimpleTrain].inputs["forward"]
    module(*values).backward()
    _, weight, bias = method.execute(values)
    torch.testing.assert_close(weight, module.linear.weight.grad)
    torch.testing.assert_close(bias, module.linear.bias.grad)


def test_weights_are_written_beside_the_program(tmp_path: Path) -> None:
    main(["--modules", "ModuleAdd, ModuleLinear", "--outdir", str(tmp_path), "--external-constants"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "ModuleAddProgram.pte",
        "ModuleLinearProgram.ptd",
        "ModuleLinearProgram.pte",
    ]
    weights = tmp_path / "ModuleLinearProgram.ptd"
    method = Runtime.get().load_program(tmp_path / "ModuleLinearProgram.pte", data_path=weights).load_method("forward")
    assert method.execute([torch.ones(3)])[0].shape == (3,)


def test_an_unknown_module_is_refused_with_near_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--modules", "ModuleAdds", "--outdir", str(tmp_path)])
    assert "no module is named 'ModuleAdds': did you mean ModuleAdd" in capsys.readouterr().err
