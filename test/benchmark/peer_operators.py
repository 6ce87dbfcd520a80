# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Times the portable kernels against the peer's, operator by operator, on 64K elements and one thread.

``python test/benchmark/peer_operators.py [PART ...]`` measures the operators whose label holds one of the parts (all
without any). ``EXECUTORCH_PEER_PYTHON`` names the peer's Python, ``EXECUTORCH_KERNEL_ENTRY`` the library with our
kernels. Both sides are timed in turn, each figure being the least of all turns. The peer runs programs of one kernel
whose inputs and outputs are not copied; what a program of one element takes is subtracted there, and what a call of one
element takes here.
"""

import sys
import tempfile
from pathlib import Path

import torch
from tabulate import tabulate
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from operator_cases import Case, best, operator_cases
from oracle.kernel_entry import schema_of
from oracle.kernel_program import kernel_program
from oracle.peer import Conversation

from kernels import outputs, prepare

SIDE, TURNS = 256, 10
ONE_ELEMENT: Case = ("", "aten::add.out", (torch.ones(1), torch.ones(1)))
PEER = """
import json, sys, warnings
sys.path.insert(0, sys.argv[1])
warnings.filterwarnings("ignore")
import torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer as load
from operator_cases import best, operator_cases
torch.set_num_threads(1)


def prepare(label, path):
    with open(path, "rb") as file:
        buffer = file.read()
    module = load(buffer)
    args = cases[label]
    tensors = [t for a in args for t in (a if isinstance(a, list) else [a]) if isinstance(t, torch.Tensor)]
    alive.append(buffer)  # The module reads it and does not hold it.
    return lambda: module.run_method("forward", tensors, clone_outputs=False)


cases = {label: args for label, name, args in operator_cases(int(sys.argv[2]))}
cases[""] = torch.ones(1), torch.ones(1)
runs, alive = {}, []
for label, path in map(json.loads, sys.stdin):
    try:
        if label not in runs:
            runs[label] = prepare(label, path)
        answer = best(runs[label])
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"[:100]
    print("ANSWER" + json.dumps(answer), flush=True)
"""


def compared(case: Case, peer: Conversation, folder: Path) -> tuple[float, float] | str:
    """Seconds of ours and of the peer's, each the least of all turns; or why the peer cannot."""
    label, name, args = case
    run = prepare(name, args)
    path = folder / "kernel.pte"
    path.write_bytes(kernel_program(name, schema_of(name), args, outputs(name, args)))
    ours, theirs = [], []
    for _ in range(TURNS):
        ours.append(best(run))
        answer = peer.ask((label, str(path)))
        if isinstance(answer, str):
            return answer
        theirs.append(answer)
    return min(ours), min(theirs)


def main() -> None:
    """Prints a line a case, and at the end those in which the peer is faster."""
    torch.set_num_threads(1)
    parts = sys.argv[1:]
    cases = [case for case in operator_cases(SIDE) if not parts or any(part in case[0] for part in parts)]
    rows, slower = [], []
    with (
        tempfile.TemporaryDirectory() as name,
        Conversation(PEER, [Path(__file__).resolve().parent, SIDE], Path(name)) as peer,
    ):
        folder = Path(name)
        call = compared(ONE_ELEMENT, peer, folder)
        if isinstance(call, str):
            raise RuntimeError(f"the peer cannot add: {call}")
        for case in tqdm(cases, unit="operator"):
            found = compared(case, peer, folder)
            if isinstance(found, str):
                rows.append((case[0], None, None, None, found))
                continue
            ours, theirs = (seconds - one for seconds, one in zip(found, call, strict=True))
            rows.append((case[0], ours * 1e6, theirs * 1e6, ours / theirs, ""))
            slower += [case[0]] if ours > theirs else []
    headers = ("operator", "ours, us", "peer, us", "ours / peer", "")
    print(tabulate(rows, headers=headers, floatfmt=("", ".1f", ".1f", ".2f", "")))
    print(f"{len(slower)} slower than the peer: {', '.join(slower)}")


if __name__ == "__main__":
    main()
