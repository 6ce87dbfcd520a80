# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Says which weights live in a file beside the program: `node.meta["constant_tag"]` is that file's name."""

from __future__ import annotations

from collections.abc import Callable

from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

DEFAULT_FILE = "_default_external_constant"
FileOf = Callable[[fx.Node], str | None]


def tag_external_constants(program: ExportedProgram, file_of: FileOf | None = None) -> None:
    """Tags parameters and buffers that the method does not update; None from `file_of` leaves one in the program.

    Constants that export lifted out of the code stay in the program: they are code rather than data.
    """
    written = {spec.target for spec in program.graph_signature.output_specs if spec.kind.name.endswith("_MUTATION")}
    for node, target, kind in _weights(program):
        if kind in (InputKind.PARAMETER, InputKind.BUFFER) and target not in written:
            _tag(node, DEFAULT_FILE if file_of is None else file_of(node))


def tag_external_mutable_weights(program: ExportedProgram) -> None:
    """Tags the parameters whose gradients the method returns."""
    outputs = program.graph_signature.output_specs
    trained = {spec.target for spec in outputs if spec.kind is OutputKind.GRADIENT_TO_PARAMETER}
    for node, target, kind in _weights(program):
        if kind is InputKind.PARAMETER and target in trained:
            _tag(node, DEFAULT_FILE)


def _tag(node: fx.Node, file: str | None) -> None:
    if file is not None:
        node.meta["constant_tag"] = file


def _weights(program: ExportedProgram) -> list[tuple[fx.Node, str, InputKind]]:
    entries = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    return [
        (node, str(entries[node.name].target), entries[node.name].kind)
        for node in program.graph_module.graph.nodes
        if node.op == "placeholder" and entries[node.name].kind is not InputKind.USER_INPUT
    ]
