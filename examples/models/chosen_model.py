# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The example model that a command exports: its arguments, the look-up by name, and the errors."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from executorch.examples.models import UnavailableModelError, UnknownModelError, available_models, find_model
from executorch.examples.models.model_factory import EagerModelFactory


@dataclass(frozen=True)
class ChosenModel:
    """A model in eval mode, with its example inputs and the dynamic shapes that torch.export takes."""

    module: torch.nn.Module
    inputs: tuple[Any, ...]
    keywords: dict[str, Any] | None
    shapes: Any


def model_parser(
    module: str,
    description: str | None,
    names: Iterable[str] | None = None,
    output: tuple[str, str] = ("-o", "--output_dir"),
    default: str = ".",
) -> argparse.ArgumentParser:
    """Return a parser with the arguments of all commands: the model's name, one of `names`, and the output's path.

    module: import path of the command, for its help. output: the two names of the path's option. default: the path
    without this option.
    """
    parser = argparse.ArgumentParser(prog=module, description=description)
    listed = ", ".join(available_models() if names is None else names)
    parser.add_argument("-m", "--model_name", required=True, help=f"the model's name, one of: {listed}")
    what = "folder of the program" if output[1].endswith("dir") else "path of the file"
    parser.add_argument(*output, default=default, help=f"{what} (default: {default})")
    return parser


def chosen_model(
    parser: argparse.ArgumentParser, name: str, check: Callable[[argparse.ArgumentParser, str], None] | None = None
) -> ChosenModel:
    """Build the model with this name. Ends the process with status 2 and a message on failure.

    check: called with the name of a known model before it is built; it may end the process, too.
    """
    try:
        location = find_model(name)
        if check is not None:
            check(parser, name)
        model, inputs, keywords, shapes = EagerModelFactory.create_model(*location)
    except (UnknownModelError, UnavailableModelError, ImportError) as error:
        parser.error(str(error))
    return ChosenModel(model.eval(), inputs, keywords, shapes)
