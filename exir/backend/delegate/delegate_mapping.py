# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""DelegateMappingBuilder: for backend authors, the map from identifiers inside a delegate to nodes' debug handles."""

from __future__ import annotations

from collections.abc import Iterable

from torch.fx import Graph, Node

from executorch.exir.graph_module import debug_handles_of

__all__ = ["DelegateMappingBuilder", "debug_handles", "one_to_one"]


def debug_handles(graph: Graph) -> list[int]:
    """Return the debug handles of a graph's operators, in graph order; operators without one are left out."""
    return [handle for node in graph.nodes if node.op == "call_function" for handle in debug_handles_of(node)]


def one_to_one(handles: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """Return the debug handle map of a backend that keeps the operators and handles of the program."""
    return {handle: (handle,) for handle in handles}


class DelegateMappingBuilder:
    """Collect entries identifier → debug handles for `PreprocessResult.debug_handle_map`.

    generated_identifiers: number the entries 0, 1, 2 … instead of taking identifiers from the caller.
    """

    def __init__(self, generated_identifiers: bool = False) -> None:
        self._generated = generated_identifiers
        self._handles: dict[int | str, tuple[int, ...]] = {}

    def get_delegate_mapping(self) -> dict[int | str, tuple[int, ...]]:
        """Return identifier → debug handles, ascending and distinct."""
        return dict(self._handles)

    def insert_delegate_mapping_entry(
        self,
        nodes: Node | list[Node] | None = None,
        handles: int | list[int | None] | tuple[int | None, ...] | None = None,
        identifier: int | str | None = None,
    ) -> int | str:
        """Add an entry for the handles of `nodes`, or for `handles`; return its identifier.

        Missing handles are skipped. Raises ValueError if both or neither are given, if there is no handle, or if the
        identifier is missing, in use, or given although identifiers are generated.
        """
        if (nodes is None) == (handles is None):
            raise ValueError(
                f"delegate mapping: expected either nodes or handles, found {'neither' if nodes is None else 'both'}"
            )
        if self._generated and identifier is not None:
            raise ValueError(f"delegate mapping: identifiers are generated here, found identifier {identifier!r}")
        if not self._generated and identifier is None:
            raise ValueError("delegate mapping: expected an identifier, because this builder generates none")
        if identifier in self._handles:
            raise ValueError(f"delegate mapping: identifier {identifier!r} has an entry already")
        if nodes is not None:
            listed = nodes if isinstance(nodes, list) else [nodes]
            candidates: Iterable[int | None] = [handle for node in listed for handle in debug_handles_of(node)]
        else:
            candidates = handles if isinstance(handles, (list, tuple)) else [handles]
        valid = tuple(sorted({handle for handle in candidates if handle is not None}))
        if not valid:
            raise ValueError(f"delegate mapping: no debug handle for identifier {identifier!r} in {nodes or handles}")
        key = len(self._handles) if identifier is None else identifier
        self._handles[key] = valid
        return key
