# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Four number formats in one program: int8 convolutions, int8 linear layers with scales computed at run time, a 4-bit
embedding, and a float head. Prints the accuracy that each layer costs.
"""

import copy

import torch
from torch import nn
from torchao.quantization import IntxWeightOnlyConfig, PerGroup, quantize_
from torchao.utils import unwrap_tensor_subclass

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.devtools.quantization import leave_sensitive_layers_in_float, quantization_report
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Describer(nn.Module):
    """Scores of how well each of the given words fits an image."""

    def __init__(self) -> None:
        super().__init__()
        convolutions = (nn.Conv2d(3, 32, 3, 2), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2), nn.ReLU())
        self.image = nn.Sequential(*convolutions, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.words = nn.Embedding(5000, 64)
        self.mix = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 128), nn.GELU())
        self.head = nn.Linear(128, 1)

    def forward(self, image: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        seen = self.image(image)[:, None].expand(-1, words.shape[1], -1)
        return self.head(self.mix(torch.cat([seen, self.words(words)], -1)))


torch.manual_seed(0)
model = Describer().eval()
data = [(torch.randn(1, 3, 32, 32), torch.randint(0, 5000, (1, 16))) for _ in range(8)]
reference = copy.deepcopy(model)
four_bits = IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32))
quantize_(model, four_bits, lambda module, name: isinstance(module, nn.Embedding))
unwrap_tensor_subclass(model)


def quantizer() -> XNNPACKQuantizer:
    static = get_symmetric_quantization_config(is_per_channel=True)
    dynamic = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    return XNNPACKQuantizer().set_module_name("image", static).set_module_name("mix", dynamic)


mixed = leave_sensitive_layers_in_float(model, quantizer, data, budget=20, reference=reference)
print(f"left in float for 20 dB: {mixed.left_in_float or 'nothing'}")
exported = torch.export.export(mixed.quantized, data[0])
lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
print(quantization_report(torch.export.export(reference, data[0]).module(), mixed.quantized, data, lowered))
program = lowered.to_executorch()
result = Runtime.get().load_program(program.buffer).load_method("forward").execute(list(data[0]))[0]
print(f"{len(program.buffer):,} bytes; off by {(result - reference(*data[0])).abs().max().item():.4f}")
