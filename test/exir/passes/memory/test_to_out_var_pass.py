# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators without an out variant."""

import pytest
import torch
from torch.export import export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.error import ExportError
from executorch.exir.passes import ToOutVarPass


def test_every_operator_without_an_out_variant_is_listed():
    with torch.library._scoped_library("p1_missing_out", "DEF") as library:
        for name in ("one", "two"):
            library.define(f"{name}(Tensor x) -> Tensor")
            library.impl(name, lambda x: x + 1, "CompositeExplicitAutograd")
            torch.library.register_fake(f"p1_missing_out::{name}", torch.empty_like, lib=library)

        class Custom(torch.nn.Module):
            def forward(self, x):
                return torch.ops.p1_missing_out.two(torch.ops.p1_missing_out.one(x))

        edge = to_edge(export(Custom(), (torch.randn(3),)))
        with pytest.raises(ExportError) as caught:
            edge.to_executorch()
        text = str(caught.value)
        assert "p1_missing_out::one" in text and "p1_missing_out::two" in text and "test_to_out_var_pass.py" in text
        edge.to_executorch(
            ExecutorchBackendConfig(to_out_var_pass=ToOutVarPass(ignore_to_out_var_failure=True), check_target=False)
        )
