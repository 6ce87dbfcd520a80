# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Steps of lowering: `edge` (to the edge dialect), `edge_manager`, `executorch_steps`, `executorch_manager`.

The order of all transformations is in `pipeline`.
"""

import executorch.exir.program.delegate_program  # noqa: F401  # registers itself
from executorch.exir.program.edge import to_edge
from executorch.exir.program.edge_manager import EdgeProgramManager
from executorch.exir.program.executorch_manager import ExecutorchProgramManager
from executorch.exir.program.lowering import to_edge_transform_and_lower
from executorch.exir.program.single_program import ExecutorchProgram, ExirExportedProgram, edge_to_executorch_passes

__all__ = [
    "EdgeProgramManager",
    "ExecutorchProgram",
    "ExecutorchProgramManager",
    "ExirExportedProgram",
    "edge_to_executorch_passes",
    "to_edge",
    "to_edge_transform_and_lower",
]
