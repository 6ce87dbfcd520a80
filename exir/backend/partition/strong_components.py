# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Strongly connected components of a directed graph: Tarjan's algorithm (SIAM J. Comput. 1972), without recursion."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

__all__ = ["strong_components"]

Vertex = TypeVar("Vertex", bound=Hashable)


def strong_components(successors: Mapping[Vertex, Iterable[Vertex]]) -> list[list[Vertex]]:
    """Return the components, each before those that lead to it; every vertex is a key of `successors`."""
    number: dict[Vertex, int] = {}
    low: dict[Vertex, int] = {}
    open_vertices: dict[Vertex, None] = {}
    components: list[list[Vertex]] = []
    for root in successors:
        if root in number:
            continue
        path: list[tuple[Vertex, Iterator[Vertex]]] = []
        _enter(root, number, low, open_vertices, path, successors)
        while path:
            vertex, following = path[-1]
            for target in following:
                if target not in number:
                    _enter(target, number, low, open_vertices, path, successors)
                    break
                if target in open_vertices:
                    low[vertex] = min(low[vertex], number[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[vertex])
                if low[vertex] == number[vertex]:
                    components.append(_close(vertex, open_vertices))
    return components


def _enter(
    vertex: Vertex,
    number: dict[Vertex, int],
    low: dict[Vertex, int],
    open_vertices: dict[Vertex, None],
    path: list[tuple[Vertex, Iterator[Vertex]]],
    successors: Mapping[Vertex, Iterable[Vertex]],
) -> None:
    number[vertex] = low[vertex] = len(number)
    open_vertices[vertex] = None
    path.append((vertex, iter(successors[vertex])))


def _close(vertex: Vertex, open_vertices: dict[Vertex, None]) -> list[Vertex]:
    component = []
    while True:
        member, _ = open_vertices.popitem()
        component.append(member)
        if member is vertex:
            return component[::-1]
