# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators `et_copy::…`: copies between the host's memory and a device's, for programs that place tensors on both."""

from __future__ import annotations

import torch

library = torch.library.Library("et_copy", "DEF")


def _copied(self: torch.Tensor) -> torch.Tensor:
    return self.clone()


def _write(self: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    return out.resize_(self.shape).copy_(self)


def _like(self: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(self)


def _out(self: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    return out


for _name in ("_h2d_copy", "_d2h_copy"):
    library.define(f"{_name}(Tensor self) -> Tensor")
    library.define(f"{_name}.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl(_name, _copied, "CompositeExplicitAutograd")
    library.impl(f"{_name}.out", _write, "CompositeExplicitAutograd")
    torch.library.register_fake(f"et_copy::{_name}", _like, lib=library)
    torch.library.register_fake(f"et_copy::{_name}.out", _out, lib=library)
