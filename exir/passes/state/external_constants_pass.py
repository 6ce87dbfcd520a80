# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Select weights for files beside the program: `node.meta["constant_tag"]` is the file's name.

A backend stores the weights of its delegates; `delegate_file` returns the file that the user chose for one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.passes.infra.pass_base import PassResult

DEFAULT_FILE = "_default_external_constant"
FileOf = Callable[[fx.Node], str | None]
_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
# Names that torch.export and `add_constant` give to tensors written in the code. A tensor attribute keeps its own name.
_LIFTED = re.compile(r"_?lifted_tensor_\w+")
# torch.export preserves `node.meta["custom"]` when a module is exported again, except for weights that it names anew:
# those of a submodule whose name starts with a digit or has capitals, and the parts of a tensor subclass. It preserves
# the custom metadata of the whole graph too, which has the files by the names of weights.
_CUSTOM, _DELEGATE_TAG, _DELEGATE_FILES = "custom", "delegate_constant_tag", "delegate_constant_files"
# Names of the parts of `weight`, a parameter of a tensor subclass: `parametrizations.weight.original0`, ….
_PART = re.compile(r"(?P<module>(?:.*\.)?)parametrizations\.(?P<name>[^.]+)\.original\d+")


def tag_external_constants(program: ExportedProgram, file_of: FileOf | None = None) -> None:
    """Tag parameters, buffers and tensor attributes that the method does not update.

    file_of: returns the file of a placeholder, without ending, or None to keep its tensor in the program file.
    Constants that torch.export lifted out of the code stay in the program.
    """
    written = {spec.target for spec in program.graph_signature.output_specs if spec.kind.name.endswith("_MUTATION")}
    for node, target, kind in _weights(program):
        is_code = kind is InputKind.CONSTANT_TENSOR and _LIFTED.fullmatch(target)
        if kind in _WEIGHTS and not is_code and target not in written:
            _tag(node, DEFAULT_FILE if file_of is None else file_of(node))


def tag_external_mutable_weights(program: ExportedProgram) -> None:
    """Tag the parameters whose gradients the method returns."""
    outputs = program.graph_signature.output_specs
    trained = {spec.target for spec in outputs if spec.kind is OutputKind.GRADIENT_TO_PARAMETER}
    for node, target, kind in _weights(program):
        if kind is InputKind.PARAMETER and target in trained:
            _tag(node, DEFAULT_FILE)


def delegate_external_constants_pass_unlifted(module: torch.nn.Module, gen_tag_fn: FileOf | None = None) -> PassResult:
    """Select files for the weights of delegates in an `ExportedProgram.module()`, which is then exported again.

    Call it after `convert_pt2e`, whose quantized weights are new constants without the metadata of the old ones.

    gen_tag_fn: maps a weight's `get_attr` node to a file name without ending, or to None for the program file.
    """
    tagged = False
    files: dict[str, str] = {}
    for path, submodule in module.named_modules():
        if isinstance(submodule, fx.GraphModule) and gen_tag_fn is not None:
            for node in submodule.graph.find_nodes(op="get_attr"):
                file = gen_tag_fn(node)
                node.meta.setdefault(_CUSTOM, {})[_DELEGATE_TAG] = file
                if file is not None:
                    files[f"{path}.{node.target}".lstrip(".")] = file
                tagged = True
    if tagged and isinstance(module, fx.GraphModule):
        module.meta.setdefault(_CUSTOM, {})[_DELEGATE_FILES] = files
    return PassResult(module, tagged)


def restore_delegate_files(program: ExportedProgram, graph_module: fx.GraphModule) -> None:
    """Tag the weights that lost their tags when torch named them anew, in place.

    graph_module: that of the exported program of which `program` was made.
    """
    files: dict[str, str] = (graph_module.meta.get(_CUSTOM) or {}).get(_DELEGATE_FILES) or {}
    for node, target, _ in _weights(program) if files else []:
        part = _PART.fullmatch(target)
        file = files.get(target) or (files.get(part["module"] + part["name"]) if part else None)
        if file is not None and delegate_file(node) is None:
            node.meta[_CUSTOM] = {**(node.meta.get(_CUSTOM) or {}), _DELEGATE_TAG: file}


def delegate_file(node: fx.Node) -> str | None:
    """Return the file in which a delegate stores this constant, None for the program file."""
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
