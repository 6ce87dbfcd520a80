# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Time the portable kernels against the peer's, operator by operator, on 64K elements and one thread:

    python test/benchmark/peer_operators.py [PART ...]

PART: measure only the operators whose label contains one of the parts. `EXECUTORCH_PEER_PYTHON` names the peer's
Python, `EXECUTORCH_KERNEL_ENTRY` the library with our kernels. Both sides are timed in turn; a figure is the minimum of
all turns. The peer runs programs of one kernel whose inputs and outputs are not copied. The time of a call on single
elements with as many outputs is subtracted from both figures.
"""

import os
import sys
import tempfile
from pathlib import Path

import torch
from tabulate import tabulate
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from operator_cases import Case, best, operator_cases, room_for_outputs
from oracle.kernels.kernel_entry import schema_of
from oracle.kernels.kernel_program import kernel_program
from oracle.peer import Conversation

from kernels import prepare

SIDE, TURNS = 256, 10
ONE_ELEMENT: Case = ("1", "aten::add.out", (torch.ones(1), torch.ones(1)))
PEER = """
import json, sys, warnings
sys.path.insert(0, sys.argv[1])
warnings.filterwarnings("ignore")
import torch
from executorch.extension.pybindings.portable_lib import _get_operator_names, _load_for_executorch_from_buffer as load
from operator_cases import best, operator_cases
torch.set_num_threads(1)


def prepare(label, name, path):
    if name not in registered:
        raise LookupError("no such kernel")
    with open(path, "rb") as file:
        buffer = file.read()
    module = load(buffer)
    args = cases[label]
    tensors = [t for a in args for t in (a if isinstance(a, list) else [a]) if isinstance(t, torch.Tensor)]
    alive.append(buffer)  # The module reads it and does not hold it.
    return lambda: module.run_method("forward", tensors, clone_outputs=False)


cases = {label: args for label, name, args in operator_cases(int(sys.argv[2]))}
cases["1"] = torch.ones(1), torch.ones(1)
cases |= {str(n): (torch.ones(n, 1), 0) for n in range(2, 9)}
runs, alive, registered = {}, [], set(_get_operator_names())
for label, name, path in map(json.loads, sys.stdin):
    try:
        if label not in runs:
            runs[label] = prepare(label, name, path)
        answer = best(runs[label])
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"[:100]
    print("ANSWER" + json.dumps(answer), flush=True)
"""


def compared(case: Case, peer: Conversation, folder: Path) -> tuple[float, float] | str:
    """Return our seconds and the peer's, each the minimum of all turns; or why the peer cannot run the operator."""
    label, name, args = case
    run = prepare(name, args)
    path = folder / "kernel.pte"
    path.write_bytes(kernel_program(name, schema_of(name), args, room_for_outputs(name, args)))
    ours, theirs = [], []
    for _ in range(TURNS):
        ours.append(best(run))
        answer = peer.request((label, name, str(path)))
        if isinstance(answer, str):
            return answer
        theirs.append(answer)
    return min(ours), min(theirs)


def call_on_single_elements(outputs: int) -> Case:
    """Return a call with this number of outputs; the number is its label."""
    return ONE_ELEMENT if outputs == 1 else (str(outputs), "aten::unbind_copy.int_out", (torch.ones(outputs, 1), 0))


def main() -> None:
    """Print a line for each case, then the cases in which the peer is faster."""
    torch.set_num_threads(1)
    # One core for both processes: on several, the peer's kernels divide 64K elements among threads, whose processor
    # time the clock leaves out.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    parts = sys.argv[1:]
    cases = [case for case in operator_cases(SIDE) if not parts or any(part in case[0] for part in parts)]
    rows, slower = [], []
    with (
        tempfile.TemporaryDirectory() as name,
        Conversation(PEER, [Path(__file__).resolve().parent, SIDE], Path(name)) as peer,
    ):
        folder = Path(name)
        calls: dict[int, tuple[float, float]] = {}
        for case in tqdm(cases, unit="operator"):
            times = compared(case, peer, folder)
            if isinstance(times, str):
                rows.append((case[0], None, None, None, times))
                continue
            count = sum(len(o) if isinstance(o, list) else 1 for o in room_for_outputs(*case[1:]))
            if count not in calls:
                call = compared(call_on_single_elements(count), peer, folder)
                if isinstance(call, str):
                    raise RuntimeError(f"the peer cannot call an operator with {count} outputs: {call}")
                calls[count] = call
            ours, theirs = (seconds - overhead for seconds, overhead in zip(times, calls[count], strict=True))
            rows.append((case[0], ours * 1e6, theirs * 1e6, ours / theirs, ""))
            slower += [case[0]] if ours > theirs else []
    headers = ("operator", "ours, us", "peer, us", "ours / peer", "")
    print(tabulate(rows, headers=headers, floatfmt=("", ".1f", ".1f", ".2f", "")))
    print(f"{len(slower)} slower than the peer: {', '.join(slower)}")


if __name__ == "__main__":
    main()
