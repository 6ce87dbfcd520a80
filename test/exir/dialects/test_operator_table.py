# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The table of operators says what the kernels do, and is read as it is written."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from oracle.kernels.kernel_examples import EXAMPLES
from oracle.kernels.tables.dtype_rows import named_dtype_sets, rows_of
from oracle.kernels.tables.edge_table import BUILT_IN, entry_of, examples, kernel_of, listed_kernels
from oracle.kernels.tables.kernel_dtypes import worth

from executorch.exir.dialects.operator_table import EDGE_OPERATORS, DtypeRow, OperatorTable, edge_operators

COMMAND = "python test/oracle/kernels/tables/edge_table.py"
F16, F32, I32, I64, BOOL = torch.float16, torch.float32, torch.int32, torch.int64, torch.bool
# Probing takes the longer, the more tensors; the whole table is written by the command.
FEW_TENSORS = sorted({kernel_of(e.op) for e in EXAMPLES if worth(e)[0] <= 2})


def _dtypes(*dtypes: torch.dtype | None) -> tuple[frozenset[torch.dtype], ...]:
    return tuple(frozenset() if dtype is None else frozenset({dtype}) for dtype in dtypes)


def test_the_table_lists_exactly_the_existing_kernels() -> None:
    missing, gone = listed_kernels() - edge_operators().names, edge_operators().names - listed_kernels()
    assert not missing, f"run `{COMMAND} {' '.join(sorted(missing))}`"
    assert not gone, f"run `{COMMAND}`: no kernel for {sorted(gone)}"
    assert all(edge_operators().find(name).rows for name in edge_operators() if not name.startswith(BUILT_IN))


@pytest.mark.filterwarnings("ignore")  # Eager warns of conversions, which the test tries on purpose.
@pytest.mark.parametrize("name", FEW_TENSORS[::4])
def test_the_table_has_the_dtypes_that_the_kernel_takes(name: str) -> None:
    entry = json.loads(EDGE_OPERATORS.read_text())["operators"][name]
    assert entry == entry_of(name, examples([name])[name]), f"run `{COMMAND} {name}`"


@pytest.mark.parametrize(
    ("name", "dtypes", "taken"),
    [
        ("aten::add.out", (F32, F32, F32), True),
        ("aten::add.out", (F32, I64, F32), False),  # PromoteDtypesPass converts before
        ("aten::bincount.out", (I64, None, I64), True),
        ("aten::bincount.out", (I64, F32, F32), True),
        ("aten::bincount.out", (I32, I64, F32), False),
        ("aten::add.Scalar_out", (I64, I64), True),
        ("aten::add.Scalar_out", (I64, F32), True),  # a number that is a float
        ("aten::add.Scalar_out", (F32, I64), False),
        ("aten::gather.out", (F16, I64, F16), True),
        ("aten::gather.out", (F16, F16, F16), False),
        ("aten::index.Tensor_out", (F32, BOOL, F32), True),
        ("aten::eq.Tensor_out", (I32, I32, BOOL), True),
        ("aten::native_layer_norm.out", (F32, None, None, F32, F32, F32), True),
        ("aten::native_layer_norm.out", (I64, None, None, I64, I64, I64), False),
        ("aten::mean.out", (I64, F32), True),
        ("aten::mean.out", (F32, I64), False),
        ("dim_order_ops::_to_dim_order_copy.out", (F32, I64), True),
        ("dim_order_ops::_to_dim_order_copy.out", (F32, torch.float8_e4m3fn), False),
    ],
)
def test_combinations_are_legal_or_not(name: str, dtypes: tuple[torch.dtype | None, ...], taken: bool) -> None:
    assert edge_operators().find(name).takes(_dtypes(*dtypes)) is taken


def test_the_wrong_dtype_and_the_accepted_ones_are_named() -> None:
    operator = edge_operators().find("aten::index_select.out")
    call = _dtypes(F32, F32, F32)
    assert operator.misfit(call) == 1
    assert operator.taken_at(1, call) == [I32, I64]
    assert operator.misfit(_dtypes(F32, I64, F32)) is None


@pytest.mark.parametrize(
    "combinations",
    [
        {(F32, F32), (I64, I64), (F16, F16)},
        {(a, b, a) for a, b in itertools.product((F32, F16, I32, BOOL), (I32, I64))},
        {(a, b, torch.promote_types(a, b)) for a, b in itertools.product((F32, F16, I32, I64, BOOL), repeat=2)},
        {(BOOL, F32, F32), (BOOL, I64, I64), (BOOL, BOOL, BOOL), (F32, F32, BOOL)},
    ],
)
def test_rows_represent_exactly_their_combinations(combinations: set[Any]) -> None:
    inputs = len(next(iter(combinations))) - 1
    rows = [DtypeRow.parse(row, named_dtype_sets()) for row in rows_of(combinations, inputs)]
    for tried in itertools.product((F32, F16, I32, I64, BOOL, torch.float64), repeat=inputs + 1):
        assert any(row.fits(_dtypes(*tried)) for row in rows) is (tried in combinations), tried


def test_a_table_is_read_from_a_file_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "target.json"
    path.write_text(
        '{"dtypes": {"two": "float32 int64"}, "operators": {"a::b.out": {"takes": ["T ? -> T: two"]}, "a::c": {}}}'
    )
    table = OperatorTable.read(path)
    assert list(table) == ["a::b.out", "a::c"] and table.find("a::d") is None
    assert table.find("a::b.out").takes(_dtypes(I64, F16, I64)) and not table.find("a::b.out").takes(_dtypes(F16))
    assert table.find("a::c").takes(_dtypes(F16))
    path.write_text("[]")
    with pytest.raises(ValueError, match="expected a table"):
        OperatorTable.read(path)
    for row in ("T T: float32", "T -> T: float33"):
        path.write_text(json.dumps({"operators": {"a::b": {"takes": [row]}}}))
        with pytest.raises(ValueError, match="dtypes of an operator"):
            OperatorTable.read(path).find("a::b")
