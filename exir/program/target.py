# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The check that a program can run: every operator that it calls has a kernel on its target."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

from torch import fx
from torch._ops import OpOverload

from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.error import VerificationError
from executorch.exir.graph_module import all_graph_modules

# Operators of the runtime itself, in no kernel library's list.
_BUILT_IN_NAMESPACES = ("executorch_prim",)
_BUILT_IN = frozenset(
    f"aten::{name}"
    for name in ("sym_size.int", "sym_stride.int", "sym_storage_offset", "sym_numel", "_local_scalar_dense")
)
_FUNCTION = re.compile(r"^\s*-\s*func:\s*[\"']?(?:(?P<namespace>\w+)::)?(?P<name>[\w.]+)\(")
_KERNELS = Path(__file__).resolve().parents[2] / "kernels"


@cache
def installed_kernels() -> frozenset[str]:
    """Qualified names of the operators in the kernel libraries beside this package (data: `functions.yaml`)."""
    return frozenset(name for file in sorted(_KERNELS.glob("*/functions.yaml")) for name in read_manifest(file))


def read_manifest(file: Path) -> list[str]:
    """Qualified operator names (`aten::add.out`) of a functions.yaml: a `- func: <schema>` a line, aten by default."""
    found = (_FUNCTION.match(line) for line in file.read_text().splitlines())
    return [f"{match['namespace'] or 'aten'}::{match['name']}" for match in found if match]


def _operator(node: fx.Node) -> OpOverload | None:
    target = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
    return target if node.op == "call_function" and isinstance(target, OpOverload) else None


def operators_of(graph_module: fx.GraphModule) -> Iterable[tuple[fx.Node, OpOverload]]:
    """Every operator call of a graph and of its control flow."""
    for held in all_graph_modules(graph_module):
        for node in held.graph.nodes:
            op = _operator(node)
            if op is not None:
                yield node, op


def missing_kernels(graph_module: fx.GraphModule, manifest: Collection[str]) -> list[tuple[fx.Node, str]]:
    """Calls of operators that the target does not have. Users' own are not among them: they bring their kernels."""
    known = _BUILT_IN.union(manifest)
    return [
        (node, f"the target has no kernel for {op.name()}")
        for node, op in operators_of(graph_module)
        if op.namespace in ("aten", "dim_order_ops", "et_copy") and op.name() not in known
    ]


def operators_to_link(graph_module: fx.GraphModule, manifest: Collection[str]) -> list[str]:
    """Names of users' own operators that the program needs and the manifest does not list."""
    known = set(manifest)
    names = {
        op.name()
        for _, op in operators_of(graph_module)
        if op.namespace not in ("aten", "dim_order_ops", *_BUILT_IN_NAMESPACES) and op.name() not in known
    }
    return sorted(names)


def check_target(graph_module: fx.GraphModule, manifest: Collection[str] | None) -> None:
    """Raises `VerificationError` naming every call that has no kernel in `manifest` (None: the installed libraries)."""
    known = installed_kernels() if manifest is None else manifest
    missing = missing_kernels(graph_module, known)
    if missing:
        hint = "if kernels are linked from elsewhere, allow it with ExecutorchBackendConfig(check_target=False)"
        raise VerificationError("check target", [*missing, (None, hint)])


__all__ = ["check_target", "installed_kernels", "missing_kernels", "operators_to_link", "read_manifest"]
