# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs of torch.vmap and torch.func run: the transforms are gone before the program is verified."""

import pytest
import torch
from models.function_module import Function
from torch.fx.experimental.proxy_tensor import make_fx

from executorch.exir import to_edge
from executorch.exir.error import ExportError
from executorch.runtime import Runtime

CASES = {
    "vmap": lambda x: torch.vmap(lambda row: row.sin() * row.sum())(x),
    "vmap of a product": lambda x: torch.vmap(torch.dot)(x, x.flip(0)),
    "jvp": lambda x: torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))[1],
    "jvp of composite operators": lambda x: torch.func.jvp(
        lambda y: torch.nn.functional.layer_norm(y, (8,)).softmax(-1) @ y.t(), (x,), (x.cos(),)
    )[1],
    "jvp of attention": lambda x: torch.func.jvp(
        lambda y: torch.nn.functional.scaled_dot_product_attention(y[None], y[None], y[None]).logsumexp(-1),
        (x,),
        (torch.ones_like(x),),
    )[1],
}


@pytest.mark.parametrize("name", CASES)
def test_a_transformed_function_matches_eager(name: str) -> None:
    model, x = Function(CASES[name]).eval(), torch.randn(4, 8)
    program = to_edge(torch.export.export(model, (x,))).to_executorch()
    (output,) = Runtime.get().load_program(program.buffer).load_method("forward").execute((x,))
    torch.testing.assert_close(output, model(x))


def test_a_gradient_that_torch_export_records_wrongly_is_refused_with_the_way_that_works() -> None:
    model, x = Function(torch.func.grad(lambda x: (x.sin() * x).sum())).eval(), torch.randn(4)
    with pytest.raises(ExportError, match=r"a limit of torch.export\. Run the transform first"):
        to_edge(torch.export.export(model, (x,), strict=False))
    traced = make_fx(model)(x)
    program = to_edge(torch.export.export(traced, (x,))).to_executorch()
    (output,) = Runtime.get().load_program(program.buffer).load_method("forward").execute((x,))
    torch.testing.assert_close(output, model(x))


def test_a_transform_that_torch_cannot_trace_again_is_refused_and_left() -> None:
    model, x = Function(CASES["jvp"]).eval(), torch.randn(4, 8)
    program = torch.export.export(model, (x,), strict=False)
    unwrap = next(node for node in program.graph.nodes if "_unwrap_for_grad" in str(node.target))
    unwrap.args = (None, 1)
    with pytest.raises(ExportError, match=r"cannot trace this program's transforms again.*Run the transform first"):
        to_edge(program)
    again = to_edge(torch.export.export(model, (x,), strict=False)).to_executorch()
    (output,) = Runtime.get().load_program(again.buffer).load_method("forward").execute((x,))
    torch.testing.assert_close(output, x.cos())
