# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Sizes of weights and delegates as the documented tool reports them."""

import json
from pathlib import Path

import torch
from torch.export import export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools.size_analysis_tool.size_analysis_tool import generate_model_size_information, main
from executorch.exir import EdgeProgramManager, to_edge_transform_and_lower


class _Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.table = torch.nn.Linear(3, 4), torch.nn.Embedding(5, 3)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        return self.layer(self.table(data))


def _lowered(record: bool = False) -> EdgeProgramManager:
    exported = export(_Model().eval(), (torch.tensor([1, 2]),))
    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()], generate_etrecord=record)


def test_weights_and_delegates_have_their_bytes() -> None:
    lowered = _lowered()
    file = lowered.to_executorch().buffer
    report = generate_model_size_information(
        lowered.exported_program(), {"XnnpackBackend": lambda payload: {"first": payload[4:8].decode()}}, file
    )
    (weight,), (delegate,), overview = report["tensor_data"], report["delegate_blob_data"], report["overview"]
    assert (weight["shape"], weight["dtype"], weight["num_bytes"]) == ([5, 3], "float32", 60)
    assert delegate["backend_id"] == "XnnpackBackend"
    assert len(delegate["first"]) == 4
    assert overview["total_tensor_data_size"] == 60
    rest = overview["serialization_metadata_size"]
    assert overview["model_size"] == len(file) == 60 + delegate["num_bytes"] + rest
    assert json.dumps(report)


def test_a_record_gives_a_file_of_sizes(tmp_path: Path) -> None:
    program = _lowered(record=True).to_executorch()
    program.get_etrecord().save(str(tmp_path / "record.bin"))
    out = tmp_path / "sizes.json"
    main(["--etrecord_path", str(tmp_path / "record.bin"), "--output_path", str(out)])
    (report,) = json.loads(out.read_text())
    assert report["overview"]["total_tensor_data_size"] == 4 * (5 * 3 + 4 * 3 + 4)
