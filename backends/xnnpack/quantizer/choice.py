# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Choices: the user's configurations by module name, module type, operator, and the global one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch.fx import Node
from torchao.quantization.pt2e.quantizer import QuantizationConfig  # type: ignore[import-untyped]


def modules_of(node: Node) -> list[tuple[str, str]]:
    """(path, qualified type such as `torch.nn.modules.linear.Linear`) of the modules that contain a call, outermost
    first.
    """
    modules = []
    for path, kind in node.meta.get("nn_module_stack", {}).values():
        name = f"{kind.__module__}.{kind.__qualname__}" if isinstance(kind, type) else str(kind)
        modules.append((path.removeprefix("L['self']."), name))
    return modules


def described(node: Node) -> str:
    """Text for a call in messages: `conv2d_1 (aten.conv2d.default, module features.0)`."""
    modules = modules_of(node)
    place = f", module {modules[-1][0]}" if modules and modules[-1][0] else ""
    return f"{node.name} ({node.target}{place})" if node.op == "call_function" else f"{node.op} {node.name}"


@dataclass
class Choices:
    """Configurations for parts of a model. The innermost matching module name wins; among types and operators, the
    first registered.
    """

    names: dict[str, QuantizationConfig | None] = field(default_factory=dict)
    types: dict[Callable[..., Any], QuantizationConfig | None] = field(default_factory=dict)
    operators: dict[Any, QuantizationConfig | None] = field(default_factory=dict)
    everywhere: QuantizationConfig | None = None

    def are_empty(self) -> bool:
        """Return whether no configuration was set."""
        return all(spec is None for spec in self._all())

    def for_training(self) -> bool:
        """Return whether any configuration is for `prepare_qat_pt2e`."""
        return any(spec is not None and spec.is_qat for spec in self._all())

    def _all(self) -> list[QuantizationConfig | None]:
        return [*self.names.values(), *self.types.values(), *self.operators.values(), self.everywhere]

    def of(self, node: Node) -> tuple[QuantizationConfig | None, str]:
        """The configuration of a call (None: it stays float), and a text that names the setting it comes from."""
        modules = modules_of(node)
        kinds = {kind for _, kind in modules}
        for name, _ in reversed(modules):
            if name in self.names:
                return self.names[name], f"module name {name}"
        for kind, config in self.types.items():
            if f"{kind.__module__}.{kind.__qualname__}" in kinds:
                return config, f"module type {kind.__qualname__}"
        for operator, config in self.operators.items():
            if operator in (node.target, getattr(node.target, "overloadpacket", None)):
                return config, f"operator {operator}"
        return self.everywhere, "all" if self.everywhere is not None else "nothing"
