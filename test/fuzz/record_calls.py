# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Writes one small call of each kernel and its dtypes, from torch's samples: seeds of test/fuzz.

    bash test/run.sh test
    PYTHONPATH=test python test/fuzz/record_calls.py test/fuzz/corpus/recorded.calls build/recorded_calls/*.calls

Kernels are those of kernels/*/functions.yaml; the ones that samples do not call get the smallest call that the tests
recorded (test/oracle/kernels/call_recorder.py). Nothing is run but eager."""

from __future__ import annotations

import math
import re
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from oracle.kernels import aten_calls, call_recorder
from oracle.kernels.argument_kinds import BOOL, DOUBLE, DTYPE_CODES, INT, INTS, STRING, TENSOR
from oracle.kernels.aten_calls import KernelsAgainstEager
from oracle.kernels.call_recorder import CallRecorder
from oracle.kernels.kernel_call import EagerCall, room_for
from oracle.kernels.kernel_examples import EXAMPLES
from oracle.kernels.kernel_records import GRADIENTS, RECORDS, functional_of, numbers
from oracle.kernels.opinfo_samples import OPERATORS, samples_of

ROOT = Path(__file__).resolve().parents[2]
MAX_BYTES = 1200
DTYPES = (torch.float32, torch.int64, torch.bool, torch.uint8)
DTYPES_OF_CODES = {code: dtype for dtype, code in DTYPE_CODES.items()}
MAGIC = b"ETCALLS1"


def kernel_names() -> frozenset[str]:
    """Return the names of registered kernels, such as ``aten::add.out``."""
    lists = sorted(ROOT.glob("kernels/*/functions.yaml"))
    names = [name for path in lists for name in re.findall(r"^- func: ([\w:.]+)\(", path.read_text(), re.MULTILINE)]
    return frozenset(name if "::" in name else f"aten::{name}" for name in names)


class RecordedCalls:
    """The accepted calls of a file of call_recorder.py, without expected results."""

    def __init__(self, path: Path) -> None:
        self._in = BytesIO(path.read_bytes())
        self._in.read(len(MAGIC))

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        while head := self._in.read(4):
            begin = self._in.tell() - len(head)
            name = self._in.read(*struct.unpack("<I", head)).decode()
            is_refused, _, count = self._in.read(3)
            for _ in range(count):
                self._skip_value()
            end = self._in.tell()
            for _ in range(self._byte()):
                self._in.seek(1 + 8 + 8 + 1, 1)
                self._skip_value()
            if not is_refused:
                yield name, self._in.getvalue()[begin:end] + bytes(1)

    def _byte(self) -> int:
        return self._in.read(1)[0]

    def _skip_value(self) -> None:
        kind = self._byte()
        if kind in (INT, BOOL, DOUBLE):
            self._in.seek(8, 1)
        elif kind == STRING:
            self._in.seek(*struct.unpack("<I", self._in.read(4)), 1)
        elif kind == TENSOR:
            dtype, rank = self._in.read(2)
            sizes = struct.unpack(f"<{rank}i", self._in.read(4 * rank))
            self._in.seek(rank, 1)
            if not self._byte():
                self._in.seek(math.prod(sizes) * DTYPES_OF_CODES[dtype].itemsize, 1)
        elif kind >= INTS:
            for _ in range(*struct.unpack("<I", self._in.read(4))):
                self._skip_value()


def add_calls_of_tests(path: Path, names: Iterable[str], files: Iterable[Path]) -> None:
    """Append the smallest recorded call of each name."""
    smallest: dict[str, bytes] = {}
    for name, call in (call for file in files for call in RecordedCalls(file)):
        if name in names and (name not in smallest or len(call) < len(smallest[name])):
            smallest[name] = call
    with path.open("ab") as file:
        file.writelines(call for _, call in sorted(smallest.items()))


def missing_in(path: Path, names: Iterable[str]) -> list[str]:
    called = {name for name, _ in RecordedCalls(path)}
    return sorted(name for name in names if name not in called)


def main(path: Path, tests: list[Path]) -> None:
    names = kernel_names()
    call_recorder.MAX_BYTES, call_recorder.MAX_OF_A_KIND = MAX_BYTES, 1
    path.unlink(missing_ok=True)
    recorder = CallRecorder(path)

    def record(call: EagerCall) -> str:
        inputs = replace(recorder.inputs(call.schema, call.fresh_arguments()), written={})
        recorder.add(call.schema, inputs, [room_for(r) for r in call.results or []], False, [])
        return ""

    aten_calls.__dict__.update(registered_kernels=lambda: names, compare=record)

    def run(function: Any, *arguments: Any, **options: Any) -> None:
        with KernelsAgainstEager(decompose=True):
            function(*arguments, **options)

    torch.set_grad_enabled(False)
    for operator in OPERATORS:
        for dtype in (d for d in DTYPES if d in operator.dtypes):
            for sample in samples_of(operator, dtype):
                run(operator, sample.input, *sample.args, **sample.kwargs)
    for example in EXAMPLES:
        run(example.op, *example.args, **example.kwargs)
        if example.op.namespace in ("grouped", "recurrent"):
            kernel = f"{example.op._schema.name}.out"
            KernelsAgainstEager().call(kernel, example.op, example.args, example.kwargs)
    torch.set_grad_enabled(True)
    for function, shapes in GRADIENTS.values():
        given = [numbers(torch.float32, *shape).requires_grad_() for shape in shapes]
        result = function(*given)
        run(torch.autograd.grad, result, given, numbers(torch.float32, *result.shape))
    for known in RECORDS:
        for dtype in known.dtypes:
            KernelsAgainstEager().call(known.kernel, functional_of(known.kernel), known.arguments(dtype), known.options)
    add_calls_of_tests(path, missing_in(path, names), tests)
    print(f"{path}: {path.stat().st_size} bytes; no call of {missing_in(path, names)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(file) for file in sys.argv[2:]])
