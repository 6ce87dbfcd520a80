# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Writes executorch/exir/dialects/edge_operators.json from what the built kernels take:

    python test/oracle/kernels/tables/edge_table.py [NAME ...]

NAME: kernels to look at again (`aten::add.out`); default all, which takes about a minute. Run it after adding or
widening a kernel.
"""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from oracle.kernels.kernel_entry import registered_kernels
from oracle.kernels.kernel_examples import EXAMPLES
from oracle.kernels.tables.dtype_rows import named_dtype_sets, rows_of
from oracle.kernels.tables.kernel_dtypes import Example, KernelProbe, is_usable, worth

from executorch.exir.dialects.operator_table import EDGE_OPERATORS
from executorch.exir.operator.convert import find_out_variant, to_copy_variant

SAMPLES = 6  # for each operator of OpInfo, whose first samples are the simple ones
# Operators that take dtypes as arguments; their fake implementation checks these while exporting.
CHECKED_IN_EAGER = ("quantized_decomposed::", "quantized_fused::")
# Kernels of the runtime itself: they compute on scalars, or copy bytes of any dtype.
BUILT_IN = ("executorch_prim::", "et_copy::", "aten::sym_", "aten::_local_scalar_dense")


def listed_kernels() -> frozenset[str]:
    """The kernels that the table is about."""
    return frozenset(name for name in registered_kernels() if not name.startswith(CHECKED_IN_EAGER))


def kernel_of(op: Any) -> str:
    """As the compiler chooses it: the operator itself if it writes in place, else its (copying form's) out variant."""
    if op.name() in registered_kernels():
        return str(op.name())
    variant = find_out_variant(to_copy_variant(op) or op)
    return "" if variant is None else str(variant.name())


class _Recorder(TorchDispatchMode):
    """Keeps, for each of the kernels wanted, the call with most tensors among those that eager makes."""

    def __init__(self, wanted: set[str]) -> None:
        super().__init__()
        self.wanted, self.found, self.names = wanted, dict[str, list[Example]](), dict[Any, str]()

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = self.names[func] if func in self.names else self.names.setdefault(func, kernel_of(func))
        example = Example(func, args, kwargs or {})
        if name in self.wanted and not func._schema.is_mutable and is_usable(example):
            known = self.found.setdefault(name, [example])
            if worth(known[-1]) < worth(example):
                known[-1] = example
        return func(*args, **(kwargs or {}))


def examples(wanted: Collection[str]) -> dict[str, list[Example]]:
    """Calls of each kernel: ours, or where there are none, OpInfo's with most tensors."""
    own: dict[str, list[Example]] = {}
    for example in EXAMPLES:
        own.setdefault(kernel_of(example.op), []).append(example)
    recorder = _Recorder(set(wanted) - set(own))
    for backward in (False, True):
        if recorder.wanted - set(recorder.found):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _record_opinfo(recorder, backward)
    return {name: examples_of_name for name, examples_of_name in (own | recorder.found).items() if name in wanted}


def _record_opinfo(recorder: _Recorder, backward: bool) -> None:
    """Run OpInfo's samples; `backward`: with their gradients, whose operators are kernels too."""
    from torch.testing._internal.common_methods_invocations import op_db

    torch.manual_seed(0)
    for op in (op for op in op_db if not op.name.startswith("jiterator")):
        dtype = torch.float32 if torch.float32 in op.dtypes else torch.int64
        if dtype not in op.dtypes or (backward and not (op.supports_autograd and dtype.is_floating_point)):
            continue
        for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=backward), SAMPLES):
            try:
                with torch.set_grad_enabled(backward), recorder:
                    result = op(sample.input, *sample.args, **sample.kwargs)
                    if backward and isinstance(result, torch.Tensor) and result.requires_grad:
                        result.sum().backward()
            except (RuntimeError, NotImplementedError, TypeError):
                continue  # A sample that eager itself cannot run says nothing about kernels.


def entries(names: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The table's entry for each kernel, by name. Raises LookupError for one without an example."""
    computing = [name for name in names if not name.startswith(BUILT_IN)]
    samples = examples(computing)
    if missing := sorted(set(computing) - set(samples)):
        raise LookupError(f"no example calls {missing}: add one to EXAMPLES in kernel_examples.py")
    for name in sorted(names):
        yield name, entry_of(name, samples[name]) if name in samples else {}


def entry_of(name: str, calls: Sequence[Example]) -> dict[str, Any]:
    """Rows of the table for one kernel: one for each set of tensors in the examples."""
    probes = [KernelProbe(name, example) for example in calls]
    alike: dict[tuple[int, ...], list[KernelProbe]] = {}
    for probe in probes:
        alike.setdefault(tuple(probe.given), []).append(probe)
    promotes, takes = probes[0].promoted, list[str]()
    for given, group in alike.items():
        combinations = set().union(*(probe.combinations(promotes) for probe in group))
        takes += [group[0].row(row) for row in rows_of(combinations, len(given))]
    entry: dict[str, Any] = {"takes": takes}
    if promotes:
        entry["promotes"] = promotes
    if not all(probe.takes_any_layout() for probe in probes):
        entry["layouts"] = "contiguous"
    return entry


def write(table: dict[str, dict[str, Any]]) -> None:
    """One operator a line."""
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(table[name])}" for name in sorted(table))
    sets = ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in named_dtype_sets().items())
    EDGE_OPERATORS.write_text(f'{{\n  "dtypes": {{\n{sets}\n  }},\n  "operators": {{\n{lines}\n  }}\n}}\n')


def main(names: Sequence[str]) -> None:
    known = json.loads(EDGE_OPERATORS.read_text())["operators"] if names else {}
    table = {name: entry for name, entry in known.items() if name in listed_kernels()}
    table.update(entries(names or listed_kernels()))
    write(table)


if __name__ == "__main__":
    main(sys.argv[1:])
