# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The peer on the same exported programs, in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from executorch import exir

_LIMIT = 180.0
# Runs in the peer's interpreter: lowers with its partitioner, runs once, prints one line of JSON. It lowers a layer
# first, as this project's attempts do, so that imports and caches do not count.
_PROGRAM = """
import json, sys, time, torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime
program, inputs, outputs = sys.argv[1:]
layer = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
first = torch.export.export(layer, (torch.ones(1, 4),))
to_edge_transform_and_lower(first, partitioner=[XnnpackPartitioner()]).to_executorch()
exported, values = torch.export.load(program), torch.load(inputs)
started = time.process_time()
lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
seconds = time.process_time() - started
plan = lowered.executorch_program.execution_plan[0]
result = {"outcome": "lowered", "delegates": len(plan.delegates), "lower_cpu_seconds": round(seconds, 3)}
try:
    torch.save(Runtime.get().load_program(lowered.buffer).load_method("forward").execute(values), outputs)
    result["outcome"] = "ran"
except Exception as error:
    result["message"] = " ".join(str(error).split())[:300]
print(json.dumps(result))
"""


class Peer:
    """Runs exported programs in the peer. A call returns the outcome, the number of delegates and the lowering time."""

    def __init__(self, python: str) -> None:
        """Raise ValueError if the interpreter imports this project's package."""
        self.command = [python, "-I", "-c"]  # -I: paths in this process's environment would lead to this package
        place = "import importlib.util; print(importlib.util.find_spec('executorch.exir').origin)"
        origin = subprocess.run([*self.command, place], capture_output=True, text=True, check=True).stdout.strip()
        if Path(origin).resolve() == Path(exir.__file__).resolve():
            raise ValueError(f"--peer: expected an interpreter with ExecuTorch 1.4, found this project in {python}")

    def __call__(self, program: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder, name) for name in ("program.pt2", "inputs.pt", "outputs.pt")]
            try:
                torch.export.save(program, files[0])
            except Exception as error:  # noqa: BLE001  # any failure of torch.export.save is the outcome
                return {"outcome": "not saved by torch.export.save", "message": str(error)[:300]}
            torch.save(pytree.tree_leaves((args, kwargs)), files[1])
            try:
                run = subprocess.run(
                    [*self.command, _PROGRAM, *map(str, files)],
                    capture_output=True,
                    text=True,
                    timeout=_LIMIT,
                    cwd=folder,
                )
            except subprocess.TimeoutExpired:
                return {"outcome": "timed out"}
            if run.returncode or not run.stdout.strip():
                last = run.stderr.strip().splitlines()[-1:] or [f"exit {run.returncode}"]
                return {"outcome": "died" if run.returncode < 0 else "not lowered", "message": last[0][:300]}
            return dict(json.loads(run.stdout.strip().splitlines()[-1]))
