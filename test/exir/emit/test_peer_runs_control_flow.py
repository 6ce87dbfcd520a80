# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The peer's runtime runs what we emit for control flow and sizes, with eager's numbers (if it is installed)."""

from pathlib import Path
from typing import Any

import pytest
import torch
from models.function_module import Function
from oracle import peer
from oracle.tolerances import LAYER
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim, export

from executorch.exir import to_edge

pytestmark = pytest.mark.skipif(not peer.is_installed(), reason=peer.MISSING)

RUN = """
import sys, torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch
program, found = _load_for_executorch(sys.argv[1]), {}
for name, calls in torch.load(sys.argv[2]).items():
    found[name] = [[each.clone() for each in program.run_method(name, (x,))] for x in calls]
torch.save(found, sys.argv[3])
"""


def branches(x: torch.Tensor) -> Any:
    kept = torch.cond(x.sum() > 0, lambda a: a.sin() * 2, lambda a: a.cos().exp(), (x,))
    again = torch.cond(kept.sum() > 3, lambda a, b: (a + b).clone(), lambda a, b: (a - b).tanh(), (kept, x))
    return kept + again


def loop(x: torch.Tensor) -> Any:
    return while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, (a * 0.5).sin() + a), (torch.tensor(0), x))[1]


def each_row(x: torch.Tensor) -> Any:
    return torch_map(lambda row, y: row * y.sum(), x, x * 2)


def running_sum(x: torch.Tensor) -> Any:
    return scan(lambda c, v: (c + v, (c * v).relu()), torch.zeros(4), x)


METHODS = {"branches": branches, "loop": loop, "each_row": each_row, "running_sum": running_sum}


def test_control_flow(tmp_path: Path) -> None:
    x = torch.linspace(-0.9, 1.1, 12).reshape(3, 4)
    shapes = {"each_row": {"x": {0: Dim("rows", min=2, max=8)}}}
    exported = {
        name: export(Function(function), (x,), dynamic_shapes=shapes.get(name), strict=False)
        for name, function in METHODS.items()
    }
    calls = {name: [x, -x, x.abs() + 1, x] for name in METHODS}
    calls["each_row"].append(torch.randn(7, 4))
    to_edge(exported).to_executorch().save(str(tmp_path / "ours.pte"))
    torch.save(calls, tmp_path / "calls.pt")
    peer.run_script(RUN, ["ours.pte", "calls.pt", "found.pt"], tmp_path)
    found = torch.load(tmp_path / "found.pt")
    for name, inputs in calls.items():
        for given, outputs in zip(inputs, found[name], strict=True):
            expected = torch.utils._pytree.tree_leaves(exported[name].module()(given))
            torch.testing.assert_close(outputs, expected, **LAYER)
