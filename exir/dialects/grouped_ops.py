# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operator `grouped::grouped_mm`: a matrix product for each group of rows, as mixtures of experts compute it.

`grouped::grouped_mm(self, mat2, offs, mat2_transposed)`: self [rows, k]; mat2 [groups, k, n], or [groups, n, k] if
mat2_transposed; offs [groups], int32 or int64: end row of each group. Rows offs[g - 1] to offs[g] of the result
[rows, n] are those rows of self times mat2[g]; rows after the last group are zero. self and mat2 have the same
floating dtype. Ends that decrease, are negative or exceed the rows are an error.
"""

from __future__ import annotations

import torch

library = torch.library.Library("grouped", "DEF")

_ARGUMENTS = "Tensor self, Tensor mat2, Tensor offs, bool mat2_transposed"


def _expect(self: torch.Tensor, mat2: torch.Tensor, offs: torch.Tensor, mat2_transposed: bool) -> None:
    inner = mat2.shape[2 if mat2_transposed else 1] if mat2.dim() == 3 else None
    if self.dim() != 2 or inner is None or inner != self.shape[1] or offs.shape != mat2.shape[:1]:
        raise ValueError(
            f"grouped::grouped_mm of self {list(self.shape)}, mat2 {list(mat2.shape)} (transposed: {mat2_transposed}) "
            f"and offs {list(offs.shape)}; expected [rows, k], [groups, k, n] and [groups]"
        )


def _compute(self: torch.Tensor, mat2: torch.Tensor, offs: torch.Tensor, mat2_transposed: bool) -> torch.Tensor:
    out = _fake(self, mat2, offs, mat2_transposed).zero_()
    begin = 0
    for group, end in enumerate(offs.tolist()):
        if not begin <= end <= self.shape[0]:
            raise ValueError(f"grouped_mm: group {group} ends at row {end}, expected {begin} to {self.shape[0]}")
        weight = mat2[group]
        out[begin:end] = self[begin:end] @ (weight.t() if mat2_transposed else weight)
        begin = end
    return out


def _fake(self: torch.Tensor, mat2: torch.Tensor, offs: torch.Tensor, mat2_transposed: bool) -> torch.Tensor:
    _expect(self, mat2, offs, mat2_transposed)
    return self.new_empty([self.shape[0], mat2.shape[1 if mat2_transposed else 2]])


def _write(
    self: torch.Tensor, mat2: torch.Tensor, offs: torch.Tensor, mat2_transposed: bool, *, out: torch.Tensor
) -> torch.Tensor:
    result = _compute(self, mat2, offs, mat2_transposed)
    return out.resize_(result.shape).copy_(result)


def _given(
    self: torch.Tensor, mat2: torch.Tensor, offs: torch.Tensor, mat2_transposed: bool, *, out: torch.Tensor
) -> torch.Tensor:
    return out


library.define(f"grouped_mm({_ARGUMENTS}) -> Tensor")
library.define(f"grouped_mm.out({_ARGUMENTS}, *, Tensor(a!) out) -> Tensor(a!)")
library.impl("grouped_mm", _compute, "CompositeExplicitAutograd")
library.impl("grouped_mm.out", _write, "CompositeExplicitAutograd")
torch.library.register_fake("grouped::grouped_mm", _fake, lib=library)
torch.library.register_fake("grouped::grouped_mm.out", _given, lib=library)
