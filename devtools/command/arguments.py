# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What the commands have in common: how a program, its model and its runs are named."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from executorch.devtools.etdump.recording import Progress

Run = Callable[[argparse.Namespace], int]


@dataclass(frozen=True)
class Command:
    """summary: a line, for the list of commands. description: with examples. add: adds the arguments."""

    name: str
    summary: str
    description: str
    add: Callable[[argparse.ArgumentParser], None]
    run: Run


def add_model(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """The model that a program was made of, as `python -m executorch.export` takes it."""
    name = "model" if required else "--model"
    parser.add_argument(
        name,
        metavar="MODULE:CALLABLE",
        help="makes the model and its inputs, as `python -m executorch.export` takes it",
    )
    parser.add_argument("--inputs", metavar="MODULE:CALLABLE", help="makes the inputs, in place of the model's")
    parser.add_argument(
        "--partitioner",
        metavar="MODULE:CLASS",
        action="append",
        default=[],
        help="how the program was made, if not with the partitioners of its backends; may be repeated",
    )
    parser.add_argument("--method", metavar="NAME", default="forward", help="of the program (default: forward)")


def add_runs(parser: argparse.ArgumentParser, runs: int) -> None:
    """How often a program is run, and on what."""
    parser.add_argument("--runs", type=int, default=runs, metavar="N", help=f"how often it is run (default: {runs})")
    parser.add_argument("--warm-up", type=int, default=3, metavar="N", help="runs before that (default: 3)")
    parser.add_argument("--threads", type=int, metavar="N", help="by default one for each core")
    parser.add_argument(
        "--record", metavar="FILE", help="the ETRecord of the export, which names operators and modules"
    )


@dataclass(frozen=True)
class UserModel:
    """The model, its positional inputs, and how it was lowered (None: as the program's backends say)."""

    model: Any
    inputs: tuple[Any, ...]
    lower: Callable[[Any], Any] | None


def load_model(options: argparse.Namespace, program: bytes) -> UserModel | None:
    """What `add_model` asked for, exported; None if there is no model. Raises ValueError for what cannot be used."""
    if options.model is None:
        return None
    import torch

    from executorch.devtools.lowering_again import lower_as
    from executorch.export.user_model import load_name, load_user_model

    user = _named(load_user_model, options.model, options.inputs)
    if user.kwargs:
        raise ValueError(f"{options.model}: models are run on positional inputs here; found {sorted(user.kwargs)}")
    exported = user.model
    if isinstance(exported, torch.nn.Module):
        exported = torch.export.export(exported.eval(), user.args, dynamic_shapes=user.dynamic_shapes)
    partitioners = [_named(load_name, name)() for name in options.partitioner]
    lower = (lambda model: lower_as(program, model, options.method, partitioners)) if partitioners else None
    return UserModel(exported, user.args, lower)


def load_inputs(options: argparse.Namespace) -> tuple[Any, ...] | None:
    """What --inputs names, without a model. Raises ValueError if it is no sequence."""
    from executorch.export.user_model import load_name

    if options.inputs is None:
        return None
    found = _named(load_name, options.inputs)
    found = found() if callable(found) else found
    if not isinstance(found, Sequence):
        raise ValueError(f"--inputs {options.inputs}: expected a sequence; found a {type(found).__name__}")
    return tuple(found)


def _named(load: Callable[..., Any], *names: str | None) -> Any:
    """What the names stand for. Raises ValueError saying what is wrong with them."""
    from executorch.export.user_model import UserError

    try:
        return load(*names)
    except UserError as error:
        raise ValueError(str(error)) from error


def progress(text: str) -> Progress:
    """A bar on a terminal, nothing in a pipe."""

    def shown(numbers: range) -> Iterable[int]:
        from tqdm import tqdm

        return tqdm(numbers, desc=text, leave=False, disable=not sys.stderr.isatty())

    return shown


def read(path: str) -> bytes:
    """A file's bytes. Raises OSError."""
    return Path(path).read_bytes()
