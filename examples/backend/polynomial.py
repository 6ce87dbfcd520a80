# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The ahead-of-time half of a small backend: additions and multiplications of float32 tensors of one shape."""

import struct

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from executorch.exir import ExportedProgram
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.dialects._ops import ops

MAGIC = 0x594C4F50  # "POLY"
OPERATIONS = {ops.edge.aten.add.Tensor: 0, ops.edge.aten.mul.Tensor: 1}


class PolynomialBackend(BackendDetails):
    """Encodes a partition as 32-bit words: MAGIC; the numbers of inputs, steps and outputs; the operation and the two
    operands of each step; the value of each output. Values are numbered: first the inputs, then the steps' results."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        graph = edge_program.graph
        inputs = [node for node in graph.nodes if node.op == "placeholder"]
        steps = [node for node in graph.nodes if node.op == "call_function"]
        number = {node: index for index, node in enumerate([*inputs, *steps])}
        outputs = [number[node] for node in graph.output_node().args[0]]
        words = [MAGIC, len(inputs), len(steps), len(outputs)]
        for node in steps:
            words += [OPERATIONS[node.target], number[node.args[0]], number[node.args[1]]]
        return PreprocessResult(struct.pack(f"<{len(words) + len(outputs)}I", *words, *outputs))


class _Supported(OperatorSupportBase):
    def is_node_supported(self, submodules, node: torch.fx.Node) -> bool:
        if node.target not in OPERATIONS or node.kwargs or not all(isinstance(arg, torch.fx.Node) for arg in node.args):
            return False
        values = [operand.meta["val"] for operand in (node, *node.args)]
        is_static = all(isinstance(size, int) for value in values for size in value.shape)
        return is_static and {(value.dtype, value.shape) for value in values} == {(torch.float32, values[0].shape)}


class PolynomialPartitioner(Partitioner):
    """Tags supported operators, in partitions of maximum size."""

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        proposer = CapabilityBasedPartitioner(
            exported_program.graph_module, _Supported(), allows_single_node_partition=True
        )
        tags = {}
        for partition in proposer.propose_partitions():
            tag = f"polynomial_{partition.id}"
            tags[tag] = DelegationSpec(PolynomialBackend.__name__, [])
            for node in partition.nodes:
                node.meta["delegation_tag"] = tag
        return PartitionResult(exported_program, tags)
