# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""ProxyValue: an argument of a pass's hook, with its value and its node in the new graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import fx


class ExportPassBaseError(RuntimeError):
    """A pass cannot interpret a node of the graph."""


class ProxyValue:
    """A value during a pass: `data` is its fake tensor, scalar or symbol, `node` computes it in the new graph."""

    def __init__(self, data: Any, proxy: fx.Proxy | fx.Node) -> None:
        self.data = data
        self.proxy_or_node = proxy

    @property
    def node(self) -> fx.Node:
        """The node of the new graph."""
        return self.proxy_or_node if isinstance(self.proxy_or_node, fx.Node) else self.proxy_or_node.node

    @property
    def proxy(self) -> fx.Proxy:
        """The fx proxy. Raises RuntimeError for a value that was made with a node."""
        if not isinstance(self.proxy_or_node, fx.Proxy):
            raise RuntimeError(f"value of node '{self.node.name}' has no fx.Proxy; use .node")
        return self.proxy_or_node

    def to_tensor(self) -> torch.Tensor:
        """Return the fake tensor. Raises AssertionError for other values."""
        assert self.is_tensor(), f"node '{self.node.name}' holds a {type(self.data).__name__}, not a tensor"
        return self.data  # type: ignore[no-any-return]

    def is_tensor(self) -> bool:
        """Return true for a tensor."""
        return isinstance(self.data, torch.Tensor)

    def __iter__(self) -> Iterator[Any]:
        yield from self.data

    def _number(self, use: str) -> Any:
        """Return the Python scalar. Raises for a symbol, because reading it would make a dynamic size constant."""
        if isinstance(self.data, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            raise ExportPassBaseError(
                f"node '{self.node.name}': a symbolic value ({type(self.data).__name__} {self.data}) cannot be {use}"
            )
        return self.data

    def __bool__(self) -> bool:
        return bool(self._number("used in boolean context"))

    def __int__(self) -> int:
        return int(self._number("converted to int"))

    def __float__(self) -> float:
        return float(self._number("converted to float"))

    def __index__(self) -> int:
        return self._number("used in index context").__index__()  # type: ignore[no-any-return]
