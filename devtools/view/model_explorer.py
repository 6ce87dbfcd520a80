# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Write programs as graphs for Google's Model Explorer, in its "JSON graph format"
(github.com/google-ai-edge/model-explorer). A node's namespace is drawn as a layer; an edge is stored at its target.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.devtools.view.boxes import describe_value
from executorch.devtools.view.visualize import visualize
from executorch.exir.error import module_path, operator_name, source_line

_LABEL = "Executorch"


def visualize_with_clusters(
    exported_program: ExportedProgram,
    json_file_name: str | None = None,
    no_open_in_browser: bool = False,
    reuse_server: bool = False,
    get_node_partition_name: Callable[[Node], str | None] = lambda node: node.meta.get("delegation_tag"),
    get_node_qdq_cluster_name: Callable[[Node], str | None] = lambda node: node.meta.get("cluster"),
) -> Path:
    """Write a graph whose partitions and quantized clusters are layers; return the path of the file.

    json_file_name: the file to write for Model Explorer. None: write and show our own page, without the layers.
    The functions return the name of a node's partition and cluster, or None.
    """
    if json_file_name is None:
        return visualize(exported_program, reuse_server, no_open_in_browser)
    partitions: dict[str, int] = {}

    def layer(node: Node) -> str:
        partition, cluster = get_node_partition_name(node), get_node_qdq_cluster_name(node)
        names = []
        if partition is not None:
            names.append(f"partition {partitions.setdefault(partition, len(partitions))} ({_one_layer(partition)})")
        if cluster is not None:
            names.append(f"cluster ({_one_layer(cluster)})")
        return "/".join(names)

    content = collection(_LABEL, "forward", [_node(node, layer(node)) for node in exported_program.graph.nodes])
    Path(json_file_name).write_text(json.dumps(content), encoding="utf-8")
    return Path(json_file_name)


def _one_layer(name: str) -> str:
    return name.replace("/", ":")


def collection(label: str, name: str, nodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Contents of a file with one graph of the nodes."""
    graph = {"id": name, "collectionLabel": label, "nodes": list(nodes)}
    return {"label": label, "graphs": [graph], "graphsWithLevel": [{"graph": graph, "level": 0}]}


def explorer_node(
    identity: str, label: str, namespace: str, facts: Mapping[str, str], sources: Sequence[str]
) -> dict[str, Any]:
    """A node with its known attributes and edges from its sources, by id."""
    return {
        "id": identity,
        "label": label,
        "namespace": namespace,
        "attrs": [{"key": key, "value": value} for key, value in facts.items() if value],
        "incomingEdges": [
            {"sourceNodeId": source, "sourceNodeOutputId": "0", "targetNodeInputId": str(place)}
            for place, source in enumerate(sources)
        ],
    }


def describe_source(node: Node) -> dict[str, str]:
    """Attributes of a node: operator, dtype, sizes, origin."""
    return {
        "target": str(node.target),
        "value": describe_value(node),
        "module": module_path(node),
        "source": source_line(node),
    }


def _node(node: Node, namespace: str) -> dict[str, Any]:
    label = operator_name(node.target).replace("::", ".") if node.op == "call_function" else node.op
    facts = {"name": node.name, **describe_source(node)}
    return explorer_node(node.name, label, namespace, facts, [source.name for source in node.all_input_nodes])
