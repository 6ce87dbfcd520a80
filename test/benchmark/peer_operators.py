# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Times the portable kernels against the peer's, operator by operator, on 64K elements and one thread.

``python test/benchmark/peer_operators.py [PART ...]`` measures the operators whose label holds one of the parts (all
without any). ``EXECUTORCH_PEER_PYTHON`` names the peer's Python, ``EXECUTORCH_KERNEL_ENTRY`` the library with our
kernels. Both sides are timed in turn, each figure being the least of all turns. The peer runs programs of one operator
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
from operator_cases import Case, operator_cases
from oracle.peer import Conversation

from kernels import best, prepare

SIDE, TURNS = 256, 6
ONE_ELEMENT: Case = ("", "aten::add.out", (torch.ones(1), torch.ones(1)))
PEER = """
import json, sys, warnings
sys.path.insert(0, sys.argv[1])
warnings.filterwarnings("ignore")
import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer as load
from operator_cases import applied, best, functional_of, operator_cases
torch.set_num_threads(1)
planning = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)


def prepare(name, args):
    operator = functional_of(name)
    places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
    lists = [i for i, a in enumerate(args) if isinstance(a, list) and isinstance(a[0], torch.Tensor)]
    tensors = tuple(args[i] for i in places) + tuple(t for i in lists for t in args[i])

    class Module(torch.nn.Module):
        def forward(self, *given):
            filled, given = list(args), list(given)
            for i in places:
                filled[i] = given.pop(0)
            for i in lists:
                filled[i] = [given.pop(0) for _ in args[i]]
            return applied(operator, filled)

    exported = torch.export.export(Module(), tensors)
    config = EdgeCompileConfig(_check_ir_validity=False, _core_aten_ops_exception_list=[operator])
    edge = to_edge(exported, compile_config=config)
    calls = [n for n in edge.exported_program().graph.nodes if n.op == "call_function"]
    calls = [n for n in calls if "getitem" not in str(n.target)]
    if len(calls) != 1:
        raise RuntimeError(f"decomposed to {[str(c.target) for c in calls]}")
    buffer = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning)).buffer
    module = load(buffer)
    alive.append(buffer)  # The module reads it and does not hold it.
    return lambda: module.run_method("forward", tensors, clone_outputs=False)


cases = {label: (name, args) for label, name, args in operator_cases(int(sys.argv[2]))}
cases[""] = "aten::add.out", (torch.ones(1), torch.ones(1))
runs, alive = {}, []
for label in map(json.loads, sys.stdin):
    try:
        if label not in runs:
            runs[label] = prepare(*cases[label])
        answer = best(runs[label])
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"[:100]
    print("ANSWER" + json.dumps(answer), flush=True)
"""


def compared(case: Case, peer: Conversation) -> tuple[float, float] | str:
    """Seconds of ours and of the peer's, each the least of all turns; or why the peer cannot."""
    label, name, args = case
    run = prepare(name, args)
    ours, theirs = [], []
    for _ in range(TURNS):
        ours.append(best(run))
        answer = peer.ask(label)
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
        tempfile.TemporaryDirectory() as folder,
        Conversation(PEER, [Path(__file__).resolve().parent, SIDE], Path(folder)) as peer,
    ):
        call = compared(ONE_ELEMENT, peer)
        if isinstance(call, str):
            raise RuntimeError(f"the peer cannot add: {call}")
        for case in tqdm(cases, unit="operator"):
            found = compared(case, peer)
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
