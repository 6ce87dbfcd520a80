# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""scikit-learn's handwritten digits in int8: calibrated after training, and fine-tuned with simulated quantization."""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torchao.quantization.pt2e import move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

torch.manual_seed(0)
torch.set_num_threads(1)  # the model is small
digits = load_digits()
pixels = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
labels = torch.tensor(digits.target)
order = torch.randperm(len(labels))
train, test = order[:1200], order[1200:1797]
batch = torch.export.Dim("batch", max=1024)


def fit(model: nn.Module, epochs: int, rate: float) -> None:
    optimizer = torch.optim.Adam(model.parameters(), rate)
    for _ in range(epochs):
        for part in train[torch.randperm(len(train))].split(100):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(pixels[part]), labels[part]).backward()
            optimizer.step()


def accuracy(model: nn.Module) -> float:
    """Return the accuracy in percent of the program on XNNPACK."""
    exported = torch.export.export(model, (pixels[:2],), dynamic_shapes=({0: batch},))
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    result = Runtime.get().load_program(program.buffer).load_method("forward").execute([pixels[test]])[0]
    return 100 * (result.argmax(1) == labels[test]).float().mean().item()


model = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10)),
)
fit(model, epochs=8, rate=3e-3)
right = model.eval()(pixels[test]).argmax(1) == labels[test]
print(f"float32                  {100 * right.float().mean().item():.2f} %")
FOUR_BITS = {"weight_qmin": -7, "weight_qmax": 7}
for name, is_qat, limits in (("calibrated", False, {}), ("fine-tuned", True, {}), ("4-bit weights", False, FOUR_BITS)):
    config = get_symmetric_quantization_config(is_per_channel=True, is_qat=is_qat, **limits)
    quantizer = XNNPACKQuantizer().set_global(config)
    captured = torch.export.export(model.train(is_qat), (pixels[:2],), dynamic_shapes=({0: batch},)).module()
    prepared = (prepare_qat_pt2e if is_qat else prepare_pt2e)(captured, quantizer)
    fit(prepared, epochs=3, rate=3e-4) if is_qat else prepared(pixels[train[:300]])
    converted = convert_pt2e(prepared)
    move_exported_model_to_eval(converted)
    print(f"int8, {name:18} {accuracy(converted):.2f} %")
