# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Times the portable kernels against the peer's, operator by operator, on 64K elements and one thread.

``python test/benchmark/peer_operators.py``. ``EXECUTORCH_PEER_PYTHON`` names the peer's Python,
``EXECUTORCH_KERNEL_ENTRY`` the library with our kernels. The peer runs programs of one operator whose inputs and
outputs are not copied; what a program of one element takes is subtracted there, and what a call of one element takes
here.
"""

import json
import sys
import tempfile
from pathlib import Path

import torch
from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from operator_cases import operator_cases
from oracle.peer import run_script

from kernels import measure

SIDE = 256
PEER = """
import json, sys, time, warnings
sys.path.insert(0, sys.argv[1])
warnings.filterwarnings("ignore")
import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer as load
from operator_cases import functional_of, operator_cases
torch.set_num_threads(1)
planning = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)


def seconds(name, args):
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
            return operator(*filled)

    exported = torch.export.export(Module(), tensors)
    config = EdgeCompileConfig(_check_ir_validity=False, _core_aten_ops_exception_list=[operator])
    edge = to_edge(exported, compile_config=config)
    calls = [n for n in edge.exported_program().graph.nodes if n.op == "call_function"]
    calls = [n for n in calls if "getitem" not in str(n.target)]
    if len(calls) != 1:
        raise RuntimeError(f"decomposed to {[str(c.target) for c in calls]}")
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    module = load(program.buffer)
    times = []
    for _ in range(25):
        start = time.perf_counter()
        module.run_method("forward", tensors, clone_outputs=False)
        times.append(time.perf_counter() - start)
    return min(times)


found = {"": seconds("aten::add.out", (torch.ones(1), torch.ones(1)))}
for label, name, args in operator_cases(int(sys.argv[2])):
    try:
        found[label] = seconds(name, args)
    except Exception as error:
        found[label] = f"{type(error).__name__}: {error}"[:100]
print("RESULT" + json.dumps(found))
"""


def main() -> None:
    """Prints a line a case, and at the end those in which the peer is faster."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        printed = run_script(PEER, [Path(__file__).resolve().parent, SIDE], Path(folder))
    peer = json.loads(printed.partition("RESULT")[2])
    call, _ = measure("aten::add.out", (torch.ones(1), torch.ones(1)))
    rows, slower = [], []
    for label, name, args in operator_cases(SIDE):
        if isinstance(peer[label], str):
            rows.append((label, None, None, None, peer[label]))
            continue
        ours, theirs = measure(name, args)[0] - call, peer[label] - peer[""]
        rows.append((label, ours * 1e6, theirs * 1e6, ours / theirs, ""))
        slower += [label] if ours > theirs else []
    headers = ("operator", "ours, us", "peer, us", "ours / peer", "")
    print(tabulate(rows, headers=headers, floatfmt=("", ".1f", ".1f", ".2f", "")))
    print(f"{len(slower)} slower than the peer: {', '.join(slower)}")


if __name__ == "__main__":
    main()
