# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Arguments shared by the commands: program, model, record, runs."""

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

BESIDE = "default: the file beside the program with the same stem and .etrecord, unless --model is given"
Run = Callable[[argparse.Namespace], int]
_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True)
class Command:
    """A command. summary: one line for the list of commands. description: help with examples. add: adds arguments."""

    name: str
    summary: str
    description: str
    add: Callable[[argparse.ArgumentParser], None]
    run: Run


def add_model(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add the arguments for the model from which a program was lowered, as in `python -m executorch.export`."""
    name = "model" if required else "--model"
    parser.add_argument(
        name,
        metavar="MODULE:CALLABLE",
        help="callable that returns (model, inputs), as for `python -m executorch.export`",
    )
    parser.add_argument("--inputs", metavar="MODULE:CALLABLE", help="callable that returns the inputs")
    parser.add_argument(
        "--partitioner",
        metavar="MODULE:CLASS",
        action="append",
        default=[],
        help="partitioner used to lower the program, if not its backends' defaults; may be repeated",
    )
    parser.add_argument("--method", metavar="NAME", default="forward", help="method of the program (default: forward)")


def add_runs(parser: argparse.ArgumentParser, runs: int) -> None:
    """Add the arguments for runs: number, warm-up, threads, inputs."""
    parser.add_argument("--runs", type=count, default=runs, metavar="N", help=f"measured runs (default: {runs})")
    parser.add_argument("--warm-up", type=number, default=3, metavar="N", help="unmeasured runs first (default: 3)")
    parser.add_argument("--threads", type=int, metavar="N", help="number of threads (default: one for each core)")
    add_record(parser, BESIDE)


def add_record(parser: argparse.ArgumentParser, default: str = "default: none") -> None:
    """Add the argument for the ETRecord of the export."""
    parser.add_argument(
        "--etrecord",
        "--record",
        dest="record",
        metavar="PATH",
        help=f"ETRecord of the export, which names operators, modules and source lines ({default})",
    )


@dataclass(frozen=True)
class UserModel:
    """The exported model, its positional inputs, and its partitioners (None: the defaults of the program's
    backends).
    """

    model: Any
    inputs: tuple[Any, ...]
    lower: Callable[[Any], Any] | None


def load_model(options: argparse.Namespace, program: bytes) -> UserModel | None:
    """Export the model given by the arguments of `add_model`; None without a model. Raises ValueError if that fails."""
    if options.model is None:
        return None
    import torch

    from executorch.devtools.comparison.relower import lower_as
    from executorch.export.user_model import load_user_model

    user = _named(load_user_model, options.model, options.inputs)
    if user.kwargs:
        raise ValueError(f"{options.model}: expected positional inputs, found keyword inputs {sorted(user.kwargs)}")
    exported = user.model
    if isinstance(exported, torch.nn.Module):
        with _quiet(f"{options.model} cannot be exported"):
            exported = torch.export.export(exported.eval(), user.args, dynamic_shapes=user.dynamic_shapes)
    partitioners = [_partitioner(name) for name in options.partitioner]
    lower = (lambda model: lower_as(program, model, options.method, partitioners)) if partitioners else None
    return UserModel(exported, user.args, lower)


def load_record(options: argparse.Namespace, program: bytes) -> ETRecord | None:
    """The ETRecord of --etrecord; without --etrecord and --model, the one beside the program, if it exists.

    Raises OSError, and ValueError for a record of another program.
    """
    from executorch.devtools.checked_program import checked_program
    from executorch.devtools.comparison.relower import plan_of
    from executorch.devtools.etrecord import parse_etrecord
    from executorch.devtools.inspector.attribution import check_record
    from executorch.export.record_file import record_path

    path = options.record
    if path is None:
        default_path = record_path(Path(options.program))
        if options.model is not None or not default_path.is_file():
            return None
        path = str(default_path)
    record = parse_etrecord(path)
    try:
        check_record(record, plan_of(checked_program(program).program.execution_plan, options.method))
    except ValueError as error:
        raise ValueError(f"{path}: {error}; export again with --etrecord, or pass the matching record") from error
    return record


def load_inputs(options: argparse.Namespace) -> tuple[Any, ...] | None:
    """The inputs of --inputs, without a model. Raises ValueError unless they are a sequence."""
    from executorch.export.user_model import load_name

    if options.inputs is None:
        return None
    inputs = _named(load_name, options.inputs)
    if callable(inputs):
        with _quiet(f"--inputs {options.inputs} failed"):
            inputs = inputs()
    if not isinstance(inputs, Sequence) or isinstance(inputs, str):
        raise ValueError(f"--inputs {options.inputs}: expected a sequence; found a {type(inputs).__name__}")
    return tuple(inputs)


def _partitioner(name: str) -> Any:
    from executorch.exir.backend.partitioner import Partitioner
    from executorch.export.user_model import load_name

    kind = _named(load_name, name)
    with _quiet(f"--partitioner {name} failed"):
        partitioner = kind()
    if not isinstance(partitioner, Partitioner):
        raise ValueError(f"--partitioner {name}: expected a Partitioner; found a {type(partitioner).__name__}")
    return partitioner


@contextmanager
def _quiet(failure: str) -> Iterator[None]:
    """Run the user's code; re-raise its exceptions as ValueError, without the stack that torch logs."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    is_disabled, log.disabled = log.disabled, True
    try:
        yield
    except Exception as error:
        raise ValueError(f"{failure}: {type(error).__name__}: {error}") from error
    finally:
        log.disabled = is_disabled


def _named(load: Callable[..., Any], *names: str | None) -> Any:
    """Resolve names of the form MODULE:NAME. Raises ValueError for a name that cannot be resolved."""
    from executorch.export.user_model import UserError

    try:
        return load(*names)
    except UserError as error:
        raise ValueError(str(error)) from error


def progress(text: str) -> Progress:
    """Progress bar, shown only on a terminal."""
    return lambda numbers: bar(numbers, text)


def bar(over: Iterable[Any] | None = None, text: str = "", *, total: int | None = None) -> Any:
    """tqdm progress bar that is shown only on a terminal and removed at the end."""
    from tqdm import tqdm

    return tqdm(over, desc=text, total=total, leave=False, disable=not sys.stderr.isatty())


def read(path: str) -> bytes:
    """Return a file's bytes. Raises OSError."""
    return read_regular_file(path)


def read_program(path: str) -> bytes:
    """Return the bytes of a `.pte` file. Raises OSError, and MalformedProgramError for any other or damaged file."""
    from executorch.devtools.checked_program import checked_program
    from executorch.exir.serialize import MalformedProgramError

    data = read(path)
    try:
        checked_program(data)
    except MalformedProgramError as error:
        raise MalformedProgramError(f"{path}: expected a program (.pte): {error}") from error
    return data


def number(text: str) -> int:
    """Argument type: integer of at least 0."""
    return _checked_number(int, text, 0)


def count(text: str) -> int:
    """Argument type: integer of at least 1."""
    return _checked_number(int, text, 1)


def tolerance(text: str) -> float:
    """Argument type: finite number of at least 0."""
    return _checked_number(float, text, 0)


def _checked_number(kind: type[_Number], text: str, minimum: int) -> _Number:
    try:
        number = kind(text)
    except ValueError:
        number = None
    if number is None or not minimum <= number < math.inf:
        what = "a whole number" if kind is int else "a number"
        raise argparse.ArgumentTypeError(f"expected {what} of at least {minimum}; found {text!r}")
    return number
