# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Kernels declare which operands may share memory with their result."""

from __future__ import annotations

import json
from pathlib import Path

from executorch.codegen.binding import Library, bind_kernels, portable_rows
from executorch.codegen.source_table import KERNELS
from executorch.exir.memory.lifetimes.in_place import WORKS_IN_PLACE
from executorch.exir.passes.state.reinplace import DEFAULT_INPLACEABLE_OPS

TABLE = json.loads((KERNELS / "in_place.json").read_text())


def test_every_operator_of_the_table_has_a_kernel() -> None:
    assert set(TABLE["any operand"] + TABLE["first operand"]) <= set(portable_rows())


def test_kernels_accept_the_overlaps_that_the_compiler_plans() -> None:
    assert set(TABLE["any operand"]) == WORKS_IN_PLACE
    reinplaced = {str(operator.name()).partition(".")[0] + ".out" for operator in DEFAULT_INPLACEABLE_OPS}
    assert set(TABLE["first operand"]) == reinplaced


def test_other_kernels_of_ours_forbid_it_and_those_of_applications_do_not(tmp_path: Path) -> None:
    yaml = tmp_path / "own.yaml"
    yaml.write_text("- func: my::twice.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n")
    portable = KERNELS / "portable" / "functions.yaml"
    bind_kernels(Library("some_ops", "some", portable, custom_yamls=(yaml,)), tmp_path)
    rows = {line.split('("')[1].split('"')[0]: line for line in _table(tmp_path)}
    assert rows["aten::bincount.out"].endswith('("aten::bincount.out").with(Kernel::kDisjoint),')
    assert rows["aten::add.out"].endswith('("aten::add.out"),')
    assert rows["aten::index_put.out"].endswith(".with(Kernel::kDisjoint | Kernel::kDisjointButFirst),")
    assert rows["my::twice.out"].endswith('("my::twice.out"),')


def test_operators_for_language_models_forbid_it(tmp_path: Path) -> None:
    yaml = KERNELS.parent / "extension" / "llm" / "custom_ops" / "functions.yaml"
    bind_kernels(Library("llm_ops", "some", yaml), tmp_path)
    rows = _table(tmp_path)
    assert len(rows) == yaml.read_text().count("- func:")
    assert all(row.endswith(".with(Kernel::kDisjoint),") for row in rows)


def _table(folder: Path) -> list[str]:
    text = (folder / "some" / "RegisterKernels.cpp").read_text()
    return [line.strip() for line in text.splitlines() if line.strip().startswith("make_kernel")]
