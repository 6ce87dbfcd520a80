# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What the commands have in common: how a program, its model and its runs are named."""

from __future__ import annotations

import argparse
import logging
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from executorch.devtools.etdump.recording import Progress
from executorch.exir.serialize.regular_file import read_regular_file

if TYPE_CHECKING:
    from executorch.devtools.etrecord import ETRecord

BESIDE = "default: the one beside the program, same stem and .etrecord, unless --model is given"
Run = Callable[[argparse.Namespace], int]
_Number = TypeVar("_Number", int, float)


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
    parser.add_argument("--runs", type=count, default=runs, metavar="N", help=f"how often it is run (default: {runs})")
    parser.add_argument("--warm-up", type=number, default=3, metavar="N", help="runs before that (default: 3)")
    parser.add_argument("--threads", type=int, metavar="N", help="by default one for each core")
    add_record(parser, BESIDE)


def add_record(parser: argparse.ArgumentParser, default: str = "default: none") -> None:
    """The record of the export."""
    parser.add_argument(
        "--etrecord",
        "--record",
        dest="record",
        metavar="PATH",
        help=f"the ETRecord of the export, which names operators, modules and source lines ({default})",
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
    from executorch.export.user_model import load_user_model

    user = _named(load_user_model, options.model, options.inputs)
    if user.kwargs:
        raise ValueError(f"{options.model}: models are run on positional inputs here; found {sorted(user.kwargs)}")
    exported = user.model
    if isinstance(exported, torch.nn.Module):
        with _quiet(f"{options.model} cannot be exported"):
            exported = torch.export.export(exported.eval(), user.args, dynamic_shapes=user.dynamic_shapes)
    partitioners = [_partitioner(name) for name in options.partitioner]
    lower = (lambda model: lower_as(program, model, options.method, partitioners)) if partitioners else None
    return UserModel(exported, user.args, lower)


def load_record(options: argparse.Namespace, program: bytes) -> ETRecord | None:
    """The record that --etrecord names. Without this option and without a model: the record beside the program, if
    there is one. Raises OSError, and ValueError for a record of another program."""
    from executorch.devtools.checked_program import checked_program
    from executorch.devtools.etrecord import parse_etrecord
    from executorch.devtools.inspector.attribution import check_record
    from executorch.devtools.lowering_again import plan_of
    from executorch.export.record_file import record_path

    path = options.record
    if path is None:
        beside = record_path(Path(options.program))
        if options.model is not None or not beside.is_file():
            return None
        path = str(beside)
    record = parse_etrecord(path)
    try:
        check_record(record, plan_of(checked_program(program).program.execution_plan, options.method))
    except ValueError as error:
        raise ValueError(f"{path}: {error}; export again with --etrecord, or name the right record") from error
    return record


def load_inputs(options: argparse.Namespace) -> tuple[Any, ...] | None:
    """What --inputs names, without a model. Raises ValueError if it is no sequence."""
    from executorch.export.user_model import load_name

    if options.inputs is None:
        return None
    found = _named(load_name, options.inputs)
    if callable(found):
        with _quiet(f"--inputs {options.inputs} failed"):
            found = found()
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise ValueError(f"--inputs {options.inputs}: expected a sequence; found a {type(found).__name__}")
    return tuple(found)


def _partitioner(name: str) -> Any:
    from executorch.exir.backend.partitioner import Partitioner
    from executorch.export.user_model import load_name

    kind = _named(load_name, name)
    with _quiet(f"--partitioner {name} failed"):
        made = kind()
    if not isinstance(made, Partitioner):
        raise ValueError(f"--partitioner {name}: expected a Partitioner; found a {type(made).__name__}")
    return made


@contextmanager
def _quiet(failure: str) -> Iterator[None]:
    """Runs the user's code. Raises ValueError with what it raised, of which torch would log the stack as well."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    is_disabled, log.disabled = log.disabled, True
    try:
        yield
    except Exception as error:
        raise ValueError(f"{failure}: {type(error).__name__}: {error}") from error
    finally:
        log.disabled = is_disabled


def _named(load: Callable[..., Any], *names: str | None) -> Any:
    """What the names stand for. Raises ValueError saying what is wrong with them."""
    from executorch.export.user_model import UserError

    try:
        return load(*names)
    except UserError as error:
        raise ValueError(str(error)) from error


def progress(text: str) -> Progress:
    """A bar on a terminal, nothing in a pipe."""
    return lambda numbers: bar(numbers, text)


def bar(over: Iterable[Any] | None = None, text: str = "", *, total: int | None = None) -> Any:
    """tqdm's, on a terminal alone, and gone in the end."""
    from tqdm import tqdm

    return tqdm(over, desc=text, total=total, leave=False, disable=not sys.stderr.isatty())


def read(path: str) -> bytes:
    """A file's bytes. Raises OSError."""
    return read_regular_file(path)


def read_program(path: str) -> bytes:
    """The bytes of a `.pte` file. Raises OSError, MalformedProgramError if they are something else or damaged."""
    from executorch.devtools.checked_program import checked_program
    from executorch.exir.serialize import MalformedProgramError

    data = read(path)
    try:
        checked_program(data)
    except MalformedProgramError as error:
        raise MalformedProgramError(f"{path} is no program (.pte): {error}") from error
    return data


def number(text: str) -> int:
    """For arguments: 0 or more."""
    return _checked_number(int, text, 0)


def count(text: str) -> int:
    """For arguments: 1 or more."""
    return _checked_number(int, text, 1)


def tolerance(text: str) -> float:
    """For arguments: 0 or more, and finite."""
    return _checked_number(float, text, 0)


def _checked_number(kind: type[_Number], text: str, least: int) -> _Number:
    try:
        found = kind(text)
    except ValueError:
        found = None
    if found is None or not least <= found < math.inf:
        what = "a whole number" if kind is int else "a number"
        raise argparse.ArgumentTypeError(f"expected {what} of at least {least}; found {text!r}")
    return found
