# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Exports MiniLM to a program that takes sentences of 2 to 128 tokens, delegated to XNNPACK if this build has it."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from model import MAX_TOKENS, SentenceEmbedding

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.utils import get_delegation_info
from executorch.runtime import Runtime


class Written(NamedTuple):
    """Facts about the written program.

    planned: bytes for activations. delegates: subgraphs on XNNPACK. kept: operator → number of calls outside
    delegates.
    """

    planned: int
    delegates: int
    kept: Mapping[str, int]


def export_program(model: SentenceEmbedding, path: Path) -> Written:
    """Write the program and describe its contents."""
    tokens = torch.export.Dim("tokens", min=2, max=MAX_TOKENS)
    example = (torch.ones(1, 16, dtype=torch.int64), torch.ones(1, 16, dtype=torch.int64))
    exported = torch.export.export(model, example, dynamic_shapes=({1: tokens}, {1: tokens}))
    here = Runtime.get().backend_registry.is_available("XnnpackBackend")
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()] if here else None)
    delegation = get_delegation_info(edge.exported_program().graph_module)
    program = edge.to_executorch()
    with path.open("wb") as file:
        program.write_to_file(file)
    planned = sum(program.executorch_program.execution_plan[0].non_const_buffer_sizes)
    kept = {name: count.non_delegated for name, count in delegation.delegation_by_operator.items()}
    return Written(planned, delegation.num_delegated_subgraphs, {name: n for name, n in kept.items() if n})
