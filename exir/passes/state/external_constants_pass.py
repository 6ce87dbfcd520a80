# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Says which weights live in a file beside the program: `node.meta["constant_tag"]` is that file's name.

Weights that a delegate takes are the backend's to store; it asks `delegate_file` where.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.passes.infra.pass_base import PassResult

DEFAULT_FILE = "_default_external_constant"
FileOf = Callable[[fx.Node], str | None]
# torch.export keeps what is below "custom" when a module is exported again.
_CUSTOM, _DELEGATE_TAG = "custom", "delegate_constant_tag"


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


def delegate_external_constants_pass_unlifted(module: torch.nn.Module, gen_tag_fn: FileOf | None = None) -> PassResult:
    """Names the files of weights that delegates take, on `ExportedProgram.module()`, to be exported once more.

    gen_tag_fn: from a weight's `get_attr` node to its file's name without ending; None leaves it in the program.
    """
    tagged = False
    for held in module.modules():
        if isinstance(held, fx.GraphModule) and gen_tag_fn is not None:
            for node in held.graph.find_nodes(op="get_attr"):
                node.meta.setdefault(_CUSTOM, {})[_DELEGATE_TAG] = gen_tag_fn(node)
                tagged = True
    return PassResult(module, tagged)


def delegate_file(node: fx.Node) -> str | None:
    """The file that a delegate shall keep this constant in, None for the program itself."""
    file: str | None = (node.meta.get(_CUSTOM) or {}).get(_DELEGATE_TAG)
    return file


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
