# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The check that a program can run: the target has a kernel for the dtypes and layouts of each call, and each backend
accepts its delegates."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from torch import fx
from torch._ops import OpOverload

from executorch.exir.backend.delegate.dry_build import try_dry_build
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.dialects.legal_dtypes import call_dtypes, check_call_of, tensors_in
from executorch.exir.dialects.operator_table import Operator, OperatorTable, edge_operators
from executorch.exir.error import Rejection, VerificationError, source_line
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.lowered_backend_module import LoweredBackendModule, get_lowered_submodules

# A table, the path of one (`.json`) or of a kernel library's functions.yaml, names of kernels, or None for the
# installed kernels.
Manifest = OperatorTable | Path | str | Sequence[str] | None

# Operators of the runtime itself, in no kernel library's list.
_BUILT_IN_NAMESPACES = ("executorch_prim",)
_BUILT_IN = frozenset(
    f"aten::{name}"
    for name in ("sym_size.int", "sym_stride.int", "sym_storage_offset", "sym_numel", "_local_scalar_dense")
)
_CHECKED_NAMESPACES = ("aten", "dim_order_ops", "et_copy", "quantized_decomposed", "quantized_fused")
# A line with a schema after `func:`, or with the name of a portable operator after `op:`.
_FUNCTION = re.compile(r"^\s*-\s*(?:func:\s*[\"']?(?=[\w:.]+\()|op:\s*[\"']?)(?:(?P<namespace>\w+)::)?(?P<name>[\w.]+)")
_KERNELS = Path(__file__).resolve().parents[2] / "kernels"
_logger = logging.getLogger(__name__)
_HINT = (
    "convert the values, delegate the call to a backend that takes it, or, if kernels are linked from elsewhere, name "
    "them in ExecutorchBackendConfig(target_manifest=…) or allow everything with check_target=False"
)


@cache
def installed_kernels() -> OperatorTable:
    """Return the operators of the kernel libraries beside this package: the edge dialect's table, and operators that
    users added to a library's `functions.yaml`, whose dtypes are unknown."""
    files = [*sorted(_KERNELS.glob("*/functions.yaml")), _KERNELS.parent / "extension/llm/custom_ops/functions.yaml"]
    listed = [name for file in files if file.exists() for name in read_manifest(file)]
    return edge_operators().with_names(listed, "the installed kernels")


def read_manifest(file: Path) -> list[str]:
    """Return the qualified operator names (`aten::add.out`) of a kernel library's yaml: one `- func: <schema>` or
    `- op: <name>` a line, aten by default."""
    matches = (_FUNCTION.match(line) for line in file.read_text().splitlines())
    return [f"{match['namespace'] or 'aten'}::{match['name']}" for match in matches if match]


def target_operators(manifest: Manifest) -> OperatorTable:
    """Return the operators of the target. Raises ValueError or OSError for a file that is not a manifest."""
    if manifest is None:
        return installed_kernels()
    if isinstance(manifest, OperatorTable):
        return manifest
    if isinstance(manifest, (str, Path)):
        path = Path(manifest)
        if path.suffix in (".yaml", ".yml"):
            names = read_manifest(path)
            if not names:
                raise ValueError(
                    f"{path}: expected a kernel library's yaml, a '- func: …' or '- op: …' for each operator"
                )
            return OperatorTable.of_names(names, str(path))
        return OperatorTable.read(path)
    return OperatorTable.of_names(manifest, "the manifest given")


def _operator(node: fx.Node) -> OpOverload | None:
    target = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
    return target if node.op == "call_function" and isinstance(target, OpOverload) else None


def operators_of(graph_module: fx.GraphModule) -> Iterable[tuple[fx.Node, OpOverload]]:
    """Yield every operator call of a graph and of its control flow."""
    for module in all_graph_modules(graph_module):
        for node in module.graph.nodes:
            op = _operator(node)
            if op is not None:
                yield node, op


def unsupported_calls(graph_module: fx.GraphModule, target: OperatorTable) -> list[tuple[fx.Node, Rejection]]:
    """Return the calls without a kernel on the target, with the reason. Where the target is this package, users' own
    operators are left out: users link their kernels, and `check_target` warns of them."""
    findings = []
    for node, op in operators_of(graph_module):
        kernel = target.find(op.name())
        if kernel is not None:
            rejection = _check_kernel(node, op, kernel)
        else:
            is_own = op.namespace not in (*_CHECKED_NAMESPACES, *_BUILT_IN_NAMESPACES)
            is_accepted = (
                op.name() in _BUILT_IN or op.namespace in _BUILT_IN_NAMESPACES or (is_own and not target.is_complete)
            )
            rejection = None if is_accepted else Rejection(f"{target.source} has no kernel for {op.name()}")
        if rejection is not None:
            findings.append((node, rejection))
    return findings


def _check_kernel(node: fx.Node, op: OpOverload, kernel: Operator) -> Rejection | None:
    """Reject a call that the kernel does not take."""
    names, dtypes = call_dtypes(node, op)
    rejection = None if kernel.rows is None else check_call_of(op, kernel, names, dtypes)
    if rejection is None and not kernel.any_layout:
        orders = [
            tuple(tensor.dim_order()) for values in (node.args, node.meta.get("val")) for tensor in tensors_in(values)
        ]
        strange = [order for order in orders if order != tuple(range(len(order)))]
        if strange:
            rejection = Rejection(f"it takes contiguous tensors only, found dim order {list(strange[0])}")
    return rejection and Rejection(f"no kernel for this call of {op.name()}: {rejection.reason}")


def refused_delegates(graph_module: fx.GraphModule, target: OperatorTable) -> list[tuple[fx.Node, Rejection]]:
    """Return the calls of delegates whose backend the target lacks, or whose payload the backend rejects."""
    return [
        (node, rejection)
        for owner in all_graph_modules(graph_module)
        for name, module, node in get_lowered_submodules(owner)
        if (rejection := _check_delegate(name, module, target))
    ]


def _check_delegate(name: str, module: LoweredBackendModule, target: OperatorTable) -> Rejection | None:
    if target.backends is not None and module.backend_id not in target.backends:
        has = ", ".join(sorted(target.backends)) or "none"
        missing = f"{target.source} has no backend {module.backend_id}; it has {has}"
        return Rejection(f"{missing}: delegate {name} ({_contents(module)}) cannot run there")
    rejection = try_dry_build(module)
    if rejection is None:
        return None
    return Rejection(f"{module.backend_id} refuses its delegate {name} ({_contents(module)}): {rejection.reason}")


def _contents(module: LoweredBackendModule) -> str:
    calls = [node for node in module.original_module.graph.nodes if node.op == "call_function"]
    lines = [line for node in calls if (line := source_line(node))]
    return f"{len(calls)} operators" + (f", the first from {lines[0]}" if lines else "")


def operators_to_link(graph_module: fx.GraphModule, manifest: Iterable[str]) -> list[str]:
    """Return the names of users' own operators that the program needs and the manifest does not list: kernels to
    link."""
    listed = set(manifest)
    names = {
        op.name()
        for _, op in operators_of(graph_module)
        if op.namespace not in (*_CHECKED_NAMESPACES, *_BUILT_IN_NAMESPACES) and op.name() not in listed
    }
    return sorted(names)


def check_target(graph_module: fx.GraphModule, manifest: Manifest) -> None:
    """Raise `VerificationError` naming every call that cannot run on the target, its dtypes and its line in the source
    of the model. Warns of users' own operators, whose kernels this package lacks."""
    target = target_operators(manifest)
    findings = [*unsupported_calls(graph_module, target), *refused_delegates(graph_module, target)]
    if findings:
        raise VerificationError(
            "check target", [*((node, rejection.reason) for node, rejection in findings), (None, _HINT)]
        )
    missing = operators_to_link(graph_module, target)
    if missing:
        _logger.warning("kernels missing from %s: %s; link them into the runner", target.source, ", ".join(missing))


__all__ = [
    "Manifest",
    "check_target",
    "installed_kernels",
    "operators_to_link",
    "read_manifest",
    "refused_delegates",
    "target_operators",
    "unsupported_calls",
]
