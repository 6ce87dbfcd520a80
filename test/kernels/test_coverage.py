# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Kernels exist for all operators of torch's core set, of the peer's registry, and of edge programs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from oracle import peer
from oracle.kernels.aten_calls import kernel_for
from oracle.kernels.core_operators import core_operators
from oracle.kernels.kernel_entry import registered_kernels

PEERS_OPERATORS = """
from executorch.extension.pybindings.portable_lib import _get_operator_names
print("\\n".join(_get_operator_names()))
"""
# On symbolic integers, floats and booleans, as exported programs compute sizes with them.
ON_NUMBERS = (
    *("add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "neg", "floor", "ceil", "round", "trunc"),
    *("eq", "ne", "lt", "le", "gt", "ge", "sym_and", "sym_or", "sym_not", "sym_ite"),
    *("sym_float", "sym_int", "sym_max", "sym_min"),
)


def test_every_core_operator_has_a_kernel() -> None:
    core = core_operators()
    assert len(core) >= 189
    # Operators that return a scalar instead of a tensor (sizes, item) are registered without `out`.
    missing = [str(op) for op in core if kernel_for(op) is None and op.name() not in registered_kernels()]
    assert not missing, f"{len(missing)} core operators of torch {torch.__version__} have no kernel: {missing}"


@pytest.mark.skipif(not peer.is_installed(), reason=peer.MISSING)
def test_every_operator_of_the_peer_has_a_kernel(tmp_path: Path) -> None:
    printed = peer.run_script(PEERS_OPERATORS, (), tmp_path).split()
    theirs = {name for name in printed if "::" in name}
    assert len(theirs) > 200
    assert not theirs - registered_kernels()


def test_every_operator_on_dim_orders_and_numbers_has_a_kernel() -> None:
    wanted = {f"dim_order_ops::{name}.out" for name in ("_to_dim_order_copy", "_clone_dim_order", "_empty_dim_order")}
    wanted |= {f"executorch_prim::{name}.Scalar" for name in ON_NUMBERS}
    wanted |= {"executorch_prim::et_view.default", "executorch_prim::et_copy_index.tensor"}
    assert not wanted - registered_kernels()
