# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Writes one small call of each kernel and its dtypes, from torch's samples: seeds of test/fuzz.

    PYTHONPATH=test python test/fuzz/record_calls.py test/fuzz/corpus/recorded.calls

Nothing is run but eager; kernels are those of kernels/*/functions.yaml. Needs no build."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from oracle.kernels import aten_calls, call_recorder
from oracle.kernels.aten_calls import KernelsAgainstEager
from oracle.kernels.call_recorder import CallRecorder
from oracle.kernels.kernel_call import EagerCall, room_for
from oracle.kernels.kernel_examples import EXAMPLES
from oracle.kernels.kernel_records import GRADIENTS, RECORDS, functional_of, numbers
from oracle.kernels.opinfo_samples import OPERATORS, samples_of

ROOT = Path(__file__).resolve().parents[2]
MAX_BYTES = 1200
DTYPES = (torch.float32, torch.int64, torch.bool, torch.uint8)


def kernel_names() -> frozenset[str]:
    """Return the names of registered kernels, such as ``aten::add.out``."""
    names = re.findall(r"^- func: ([\w:.]+)\(", (ROOT / "kernels/portable/functions.yaml").read_text(), re.MULTILINE)
    return frozenset(name if "::" in name else f"aten::{name}" for name in names)


def main(path: Path) -> None:
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
    missing = sorted(name for name in names if name.encode() not in path.read_bytes())
    print(f"{path}: {path.stat().st_size} bytes; no call of {missing}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
