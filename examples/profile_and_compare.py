# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Profile a program by module, and find the operator at which a wrong program differs from its model."""

import copy
import tempfile
from pathlib import Path

import torch

from executorch.devtools import Inspector, compare
from executorch.exir import to_edge
from executorch.runtime import Runtime

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 10)).eval()
x = torch.randn(8, 64)
program_manager = to_edge(torch.export.export(model, (x,)), generate_etrecord=True).to_executorch()

with tempfile.TemporaryDirectory() as folder:
    trace, record = Path(folder, "trace.etdp"), Path(folder, "etrecord.bin")
    program_manager.get_etrecord().save(record)
    program = Runtime.get().load_program(program_manager.buffer, enable_etdump=True)
    method = program.load_method("forward")
    for _ in range(20):
        method.execute([x])
    program.write_etdump_result_to_file(str(trace), str(Path(folder, "debug.bin")))

    inspector = Inspector(etdump_path=str(trace), etrecord=str(record))
    inspector.print_data_tabular()
    print(f"module '2': {inspector.find_total_for_module('2'):.4f} ms a run")

print(compare(model, program_manager, (x,)))

broken = copy.deepcopy(model)
with torch.no_grad():
    broken[2].bias[3] += 1
comparison = compare(model, to_edge(torch.export.export(broken, (x,))).to_executorch(), (x,))
print(comparison)
assert comparison.first is not None and comparison.first.module == "2"
