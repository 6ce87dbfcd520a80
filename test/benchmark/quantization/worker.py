# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Lowers a quantized, exported model to XNNPACK under the interpreter that runs this file, and times it on request.

``PYTHON worker.py ENGINE FOLDER THREADS``: the folder has ``exported.pt2`` and ``inputs.pt``; results are
written to ``ENGINE.pt`` there. The protocol is that of engine_worker.py. Ours and the peer have one API.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Prepare, then answer."""
    engine, folder, threads = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    answers = os.fdopen(os.dup(1), "w")  # libraries print; only answers go to the real output
    os.dup2(2, 1)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    # Leave out this folder: its `models.py` would hide the package of the tests' models.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    import torch
    import torch.ao.quantization.fx._decomposed  # defines the operators
    from benchmark.engine_worker import least_seconds

    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from executorch.extension.pybindings import portable_lib
    from executorch.runtime import Runtime

    torch.set_num_threads(threads)
    exported = torch.export.load(folder / "exported.pt2")
    inputs = torch.load(folder / "inputs.pt")
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    targets = [str(node.target) for node in edge.exported_program().graph.nodes if node.op == "call_function"]
    path = folder / f"{engine}.pte"
    path.write_bytes(edge.to_executorch().buffer)
    portable_lib._unsafe_reset_threadpool(threads)
    program = Runtime.get().load_program(path)  # kept: the peer's methods do not keep it
    method = program.load_method("forward")
    torch.save([method.execute([value])[0].clone() for value in inputs], folder / f"{engine}.pt")
    delegates = sum("executorch_call_delegate" in target for target in targets)
    others = sum("executorch_call_delegate" not in target and "getitem" not in target for target in targets)
    facts = {"delegates": delegates, "other operators": others, "megabytes": path.stat().st_size / 1e6}
    print(json.dumps(facts), file=answers, flush=True)
    for line in sys.stdin:
        print(least_seconds(lambda: method.execute([inputs[0]]), float(line)), file=answers, flush=True)


if __name__ == "__main__":
    main()
