# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every documented Python name can be imported from its documented place, and takes the documented arguments."""

import importlib
import inspect
import json
from pathlib import Path

import pytest

# module → name → the documented arguments, in order ("" where only the name is documented).
NAMES: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("documented_names.json").read_text())


@pytest.mark.parametrize("module", sorted(NAMES))
def test_documented_names_take_their_documented_arguments(module: str) -> None:
    namespace = importlib.import_module(module)
    for name, arguments in NAMES[module].items():
        attribute = namespace
        for part in name.split("."):
            assert hasattr(attribute, part), f"{module} has no {name}"
            attribute = getattr(attribute, part)
        if not arguments:
            continue
        ours = inspect.signature(attribute).parameters
        missing = [argument for argument in arguments.split() if argument not in ours]
        assert not missing, f"{module}.{name} does not take {missing}; it takes {list(ours)}"
        kinds = [ours[argument] for argument in arguments.split()]
        positional = [p.name for p in kinds if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        taken = [p.name for p in ours.values() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        assert [name for name in taken if name in positional] == positional, f"{module}.{name}: order of {taken}"
