# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Exact memory needs of a program before deployment, and a custom memory planner."""

import torch

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, naive
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime

model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 4, 3)
).eval()
x = torch.randn(1, 3, 32, 32)


def lower(config: ExecutorchBackendConfig | None = None) -> bytes:
    """Lower the model again, because planning changes the graph. Return the program's bytes."""
    return to_edge(torch.export.export(model, (x,))).to_executorch(config).buffer


suite = MemoryPlanningAlgorithmSuite(algo_list=[naive])
programs = {
    "exact (the default)": lower(),
    "naive": lower(ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(memory_planning_algo=suite))),
    "inputs not planned": lower(
        ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False))
    ),
}
for name, buffer in programs.items():
    program = Runtime.get().load_program(buffer)
    metadata = program.metadata("forward")
    arenas, allocator = metadata.memory_planned_buffer_sizes(), metadata.method_allocator_size()
    print(f"{name:22} file {len(buffer)} B, arenas {arenas} B, method allocator {allocator} B")
    torch.testing.assert_close(program.load_method("forward").execute([x])[0], model(x), atol=1e-4, rtol=1e-4)
