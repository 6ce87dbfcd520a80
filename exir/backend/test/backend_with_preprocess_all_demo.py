# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Two backends that look at all partitions of all methods at once, and the partitioner that serves both."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.delegate.delegate_mapping import debug_handles, one_to_one
from executorch.exir.backend.partition.constant_tagging import is_constant_data
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.test.demo_payload import operator_of
from executorch.exir.backend.test.operator_supports import OperatorsNamed, tag_partitions
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.schema import CompileSpec

_FIRST = ("aten.add.Tensor", "aten.sin.default")
_SECOND = ("aten.sub.Tensor", "aten.cos.default")
# The compile spec of each operator's call.
_SPEC = {
    "aten.add.Tensor": CompileSpec("add", b"\x00"),
    "aten.sin.default": CompileSpec("sin", b"\x01"),
    "aten.sub.Tensor": CompileSpec("sub", b"\x02"),
    "aten.cos.default": CompileSpec("cos", b"\x03"),
}


def _describe_all(
    backend: str,
    operators: tuple[str, ...],
    programs: dict[str, list[ExportedProgram]],
    specs: dict[str, list[list[CompileSpec]]],
) -> dict[str, list[PreprocessResult]]:
    """Payloads `backend#operators in all partitions#operator:operator:…#key:value;…`."""
    every = [program for of_method in programs.values() for program in of_method]
    total = sum(n.op == "call_function" and operator_of(n) in operators for p in every for n in p.graph.nodes)
    return {
        method: [_describe(backend, operators, total, *item) for item in zip(of_method, specs[method], strict=True)]
        for method, of_method in programs.items()
    }


def _describe(
    backend: str, operators: tuple[str, ...], total: int, program: ExportedProgram, specs: list[CompileSpec]
) -> PreprocessResult:
    parts = []
    for node in program.graph.nodes:
        if node.op == "call_function" and operator_of(node) not in operators:
            raise RuntimeError(f"{node.op} {operator_of(node)} is not supported in backend {backend}")
        if node.op == "call_function":
            parts.append(f"{operator_of(node)}:")
        elif is_constant_data(program, node):
            parts.append(f"CONST{node.name}:")
    text = f"{backend}#{total}#{''.join(parts)}#" + "".join(f"{spec.key}:{spec.value!r};" for spec in specs)
    handles = debug_handles(program.graph)
    return PreprocessResult(text.encode(), one_to_one(handles))


@final
class FirstBackendWithPreprocessAll(BackendDetails):
    """Accept add and sin. Each payload has their total number in all partitions."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        every = {"forward": [edge_program]}
        return FirstBackendWithPreprocessAll.preprocess_multimethod(every, {"forward": [compile_specs]})["forward"][0]

    @classmethod
    def preprocess_multimethod(
        cls, edge_programs: dict[str, list[ExportedProgram]], compile_specs: dict[str, list[list[CompileSpec]]]
    ) -> dict[str, list[PreprocessResult]]:
        return _describe_all(cls.__name__, _FIRST, edge_programs, compile_specs)


@final
class SecondBackendWithPreprocessAll(BackendDetails):
    """Accept sub and cos. Each payload has their total number in all partitions."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        every = {"forward": [edge_program]}
        return SecondBackendWithPreprocessAll.preprocess_multimethod(every, {"forward": [compile_specs]})["forward"][0]

    @classmethod
    def preprocess_multimethod(
        cls, edge_programs: dict[str, list[ExportedProgram]], compile_specs: dict[str, list[list[CompileSpec]]]
    ) -> dict[str, list[PreprocessResult]]:
        return _describe_all(cls.__name__, _SECOND, edge_programs, compile_specs)


@final
class BackendWithPreprocessAllPartitioner(Partitioner):
    """Delegates add and sin to the first backend, sub and cos to the second, constants with the first's operators.

    A partition's compile specs name its calls in order.
    """

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags: dict[str, DelegationSpec] = {}
        for operators, backend, prefix in (
            (_FIRST, FirstBackendWithPreprocessAll, "first_tag"),
            (_SECOND, SecondBackendWithPreprocessAll, "second_tag"),
        ):
            shared = DelegationSpec(backend.__name__, [])
            found = tag_partitions(exported_program.graph_module, OperatorsNamed(*operators), shared, prefix)
            tags.update((tag, DelegationSpec(backend.__name__, [])) for tag in found)
        for module in all_graph_modules(exported_program.graph_module):
            for node in module.graph.nodes:
                if (tag := node.meta.get("delegation_tag")) in tags:
                    tags[tag].compile_specs.append(_SPEC[operator_of(node)])
        for node in exported_program.graph.find_nodes(op="placeholder"):
            readers = sorted(
                tag for user in node.users if (tag := user.meta.get("delegation_tag", "")).startswith("first")
            )
            if readers and is_constant_data(exported_program, node):
                node.meta["delegation_tag"] = readers[0]
        return PartitionResult(exported_program, tags)
