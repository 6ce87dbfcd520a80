# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Load the model of a command line: the name of an example model, or the result of `MODULE:CALLABLE`."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from executorch.exir.plugins import load_plugin

__all__ = ["UserError", "UserModel", "load_name", "load_user_model", "similar_names"]


class UserError(Exception):
    """Invalid command line, or invalid object that it names; the message is one line."""


@dataclass
class UserModel:
    """A model to export, with its inputs.

    model: an nn.Module or an ExportedProgram. dynamic_shapes: as in torch.export.
    """

    model: torch.nn.Module | ExportedProgram
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    dynamic_shapes: Any = None


def load_user_model(name: str, inputs_name: str | None = None) -> UserModel:
    """Call the object that `name` names. It returns `model`, `(model, args)`, `(model, args, kwargs)` or
    `(model, args, kwargs, dynamic_shapes)`, a dict with keys of these names, or an instance of an example model's
    class (`get_eager_model`, `get_example_inputs`). An ExportedProgram needs no inputs.

    name: `MODULE:CALLABLE`, or a name without a colon: a key of executorch.examples.models.MODEL_NAME_TO_MODEL.
    inputs_name: names a callable that returns args, or a dict with kwargs, in place of those.
    UserError: anything else.
    """
    returned = _call(name if ":" in name else _example_class(name))
    if hasattr(returned, "get_eager_model") and hasattr(returned, "get_example_inputs"):
        returned = _parts_of_example(returned)
    if isinstance(returned, dict):
        parts = dict(returned)
    else:
        values = returned if isinstance(returned, tuple) else (returned,)
        names = ("model", "args", "kwargs", "dynamic_shapes")
        if len(values) > len(names):
            raise UserError(f"{name} returned {len(values)} values; expected at most {', '.join(names)}")
        parts = dict(zip(names, values, strict=False))
    unknown = sorted(set(parts) - {"model", "args", "kwargs", "dynamic_shapes"})
    if unknown or "model" not in parts:
        raise UserError(f"{name} returned a dict with {sorted(parts)}; expected model, args, kwargs, dynamic_shapes")
    if inputs_name is not None:
        inputs = _call(inputs_name)
        parts.update({"args": (), "kwargs": inputs} if isinstance(inputs, dict) else {"args": inputs, "kwargs": {}})
    return _checked(name, parts)


def load_name(name: str) -> Any:
    """Return the object that `MODULE:NAME` names. MODULE is a dotted name or the path of a .py file; NAME may have
    dots.

    Raises UserError for a text of another form, a module that cannot be imported, and a name that it lacks.
    """
    module_name, colon, path = name.rpartition(":")
    if not colon or not module_name or not path:
        raise UserError(f"expected MODULE:NAME (a dotted module or a .py file, a colon, a name in it), found {name!r}")
    value: Any = _import_file(Path(module_name)) if module_name.endswith(".py") else _import_dotted(module_name)
    for part in path.split("."):
        if not hasattr(value, part):
            public = ", ".join(sorted(entry for entry in vars(value) if not entry.startswith("_"))[:12])
            raise UserError(f"{module_name} has no {path!r}; it has: {public}")
        value = getattr(value, part)
    return value


def similar_names(name: str, names: Iterable[str]) -> str:
    """Return the names most like `name`, or all names if none is like it, for an error message."""
    known = sorted(names)
    similar = difflib.get_close_matches(name, known, n=4, cutoff=0.5)
    return f"did you mean {' or '.join(similar)}?" if similar else f"known: {', '.join(known)}"


def _example_class(name: str) -> str:
    """Return the MODULE:CLASS of an example model."""
    try:
        package = load_plugin("models", "examples")
    except ImportError as error:
        raise UserError(f"cannot look up the model {name!r}: cannot import the example models: {error}") from error
    models: dict[str, tuple[str, str]] = package.MODEL_NAME_TO_MODEL
    if name not in models:
        raise UserError(
            f"unknown model {name!r}; {similar_names(name, models)} "
            "For your own model expected MODULE:NAME (a dotted module or a .py file, a colon, a name in it)"
        )
    module, class_name = models[name]
    return f"{package.__name__}.{module}:{class_name}"


def _parts_of_example(example: Any) -> dict[str, Any]:
    parts = {"model": example.get_eager_model(), "args": example.get_example_inputs()}
    for key, method in (("kwargs", "get_example_kwarg_inputs"), ("dynamic_shapes", "get_dynamic_shapes")):
        if hasattr(example, method):
            parts[key] = getattr(example, method)()
    return parts


def _call(name: str) -> Any:
    function: Callable[[], Any] = load_name(name)
    if not callable(function):
        raise UserError(f"{name} is a {type(function).__name__}; expected a callable")
    try:
        return function()
    except Exception as error:
        raise UserError(f"{name}() failed: {type(error).__name__}: {error}") from error


def _import_dotted(name: str) -> Any:
    # Make modules in the current folder importable, as `python -m` does.
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise UserError(f"cannot import {name}: {type(error).__name__}: {error}") from error


def _import_file(path: Path) -> Any:
    if not path.is_file():
        raise UserError(f"file not found: {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # so that classes in it can be found again by their module's name
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UserError(f"cannot import {path}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent.resolve()))
    return module


def _checked(name: str, parts: dict[str, Any]) -> UserModel:
    model = parts["model"]
    if not isinstance(model, (torch.nn.Module, ExportedProgram)):
        raise UserError(f"{name} returned a {type(model).__name__}; expected an nn.Module or an ExportedProgram")
    args = parts.get("args")
    if isinstance(args, torch.Tensor):
        args = (args,)
    if isinstance(model, torch.nn.Module) and not args and not parts.get("kwargs"):
        raise UserError(
            f"{name} returned a model without example inputs; return (model, args) or give --inputs MODULE:NAME"
        )
    args = args or ()
    if not isinstance(args, (tuple, list)):
        raise UserError(f"example inputs of {name}: expected a tuple, found a {type(args).__name__}")
    kwargs = parts.get("kwargs") or {}
    if not isinstance(kwargs, dict):
        raise UserError(f"keyword inputs of {name}: expected a dict, found a {type(kwargs).__name__}")
    return UserModel(model, tuple(args), kwargs, parts.get("dynamic_shapes"))
