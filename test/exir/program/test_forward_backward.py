# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs of torch's joint forward and backward graphs: a loss, and the gradient of every parameter."""

import torch
from torch import nn
from torch.export import export
from torch.export.experimental import _export_forward_backward

from executorch.exir import to_edge
from executorch.runtime import Runtime


class Loss(nn.Module):
    """A convolution on the input, whose own gradient nobody needs: the mask of its backward pass leaves it out."""

    def __init__(self):
        super().__init__()
        self.convolution, self.linear, self.loss = nn.Conv2d(2, 3, 3), nn.Linear(3, 2), nn.CrossEntropyLoss()

    def forward(self, x, label):
        return self.loss(self.linear(self.convolution(x).flatten(1)), label)


def test_loss_and_gradients_are_those_of_eager():
    model, inputs = Loss(), (torch.randn(1, 2, 3, 3), torch.ones(1, dtype=torch.int64))
    program = to_edge(_export_forward_backward(export(model, inputs, strict=True))).to_executorch()
    found = Runtime.get().load_program(program.buffer).load_method("forward").execute(list(inputs))
    loss = model(*inputs)
    loss.backward()
    expected = [loss.detach(), *(parameter.grad for parameter in model.parameters())]
    torch.testing.assert_close(list(found), expected)
