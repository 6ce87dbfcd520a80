# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Events of XNNPACK's operators are attributed to the model's operators."""

from pathlib import Path

import pytest
import torch
from models import make
from oracle import peer
from oracle.tolerances import MODEL
from recorded_run import Recorded, recorded

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools import Inspector
from executorch.devtools.analysis.run_analysis import blocks_with_sources
from executorch.devtools.etdump.recording import record_runs
from executorch.devtools.inspector.steps import attributed_share, execution_of, steps_of
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = pytest.mark.skipif(
    not Runtime.get().backend_registry.is_available("XnnpackBackend"), reason="built without XNNPACK"
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return recorded(tmp_path_factory.mktemp("xnnpack"), [XnnpackPartitioner()])


def test_every_xnnpack_event_names_the_operators_of_the_model_that_it_computes(run: Recorded, tmp_path: Path) -> None:
    run.record.save(tmp_path / "record")
    for record in (run.record, tmp_path / "record"):
        inside = [
            event for event in Inspector(run.times, etrecord=record).event_blocks[1].events if event.is_delegated_op
        ]
        assert len(inside) == 4
        linear = ["aten.linear.default", "aten.relu.default"]  # fused into one
        assert [event.op_types for event in inside] == [linear, ["aten.add.Tensor"]] * 2
        assert {event.delegate_backend_name for event in inside} == {"XnnpackBackend"}
        paths = [[path for path, _ in next(iter(event.module_hierarchy.values())).values()] for event in inside]
        assert paths == [["", "one", "one.lin"], ["", "one"], ["", "two", "two.lin"], ["", "two"]]


def test_nearly_all_time_of_mobilenet_is_attributed_to_operators_and_modules() -> None:
    """The share is at least 95 % of the wall time. A share depends little on the machine's load."""
    model, inputs = make("mobilenet_v2")
    edge = to_edge_transform_and_lower(
        torch.export.export(model, inputs), partitioner=[XnnpackPartitioner()], generate_etrecord=True
    )
    program = edge.to_executorch()
    recording = record_runs(program.buffer, inputs, runs=5, warm_up=1, threads=1)
    steps = steps_of(execution_of(blocks_with_sources(recording.trace, program.get_etrecord(), "forward")))
    assert attributed_share(steps) >= 0.95
    modules = {step.module for step in steps if step.is_attributed}
    assert {"conv_stem", "blocks.3.1.conv_dw", "conv_head", "classifier"} <= modules
    assert modules <= {name for name, _ in model.named_modules()}


def test_results_of_a_delegate_are_compared(run: Recorded) -> None:
    gap = Inspector(run.trace, etrecord=run.record, debug_buffer_path=run.debug).calculate_numeric_gap("L1")
    assert [names[0] for names in gap["aot_ops"]][::2] == ["aten_add_tensor", "aten_add_tensor_1"]
    assert max(max(gaps) for gaps in gap["gap"]) < MODEL["atol"]


@pytest.mark.skipif(not peer.is_installed(), reason=peer.MISSING)
def test_the_reference_inspector_finds_the_same(run: Recorded, tmp_path: Path) -> None:
    run.record.save(tmp_path / "record")
    script = (
        "from executorch.devtools import Inspector\n"
        f"record = {str(tmp_path / 'record')!r}\n"
        f"blocks = Inspector(etdump_path={run.times!r}, etrecord=record).event_blocks\n"
        "print([event.op_types for event in blocks[1].events if event.is_delegated_op])\n"
        f"values = Inspector(etdump_path={run.trace!r}, etrecord=record, debug_buffer_path={run.debug!r})\n"
        "print('gaps', len(values.calculate_numeric_gap('MSE')))\n"
    )
    printed = peer.run_script(script, [], tmp_path)
    assert printed.count("linear") == 2 and printed.count("add") == 2 and "gaps 4" in printed, printed
