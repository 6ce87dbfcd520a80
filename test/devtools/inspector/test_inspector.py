# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The Inspector reads times, sources and values of a run."""

import contextlib
import copy
import io
from pathlib import Path
from typing import Any

import pytest
import torch
from oracle.tolerances import LAYER, MODEL, ONE_ROUNDING, TIMES
from recorded_run import Recorded, recorded
from torch.export import export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools import ETRecord, Inspector, generate_etrecord, parse_etrecord
from executorch.devtools.etdump.schema_flatcc import ETDumpFlatCC, Event, ProfileEvent, RunData
from executorch.devtools.etdump.serialize import serialize_to_etdump_flatcc
from executorch.devtools.inspector import TimeScale, _inspector_utils, compare_results
from executorch.devtools.inspector.numerical_comparator import DebugHandle, NumericalComparatorBase
from executorch.exir import ExecutorchProgramManager, to_edge_transform_and_lower
from executorch.exir.rewrite.program_copy import copy_program
from executorch.exir.serialize import MalformedProgramError
from executorch.runtime import Runtime


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return recorded(tmp_path_factory.mktemp("run"))


def inspector(run: Recorded, **others: Any) -> Inspector:
    return Inspector(run.trace, **{"etrecord": run.record, "debug_buffer_path": run.debug} | others)


def test_equal_runs_are_one_block_with_a_time_for_each(run: Recorded) -> None:
    load, execute = inspector(run).event_blocks
    assert [event.name for event in load.events] == ["Method::init", "Program::load_method"]
    kernels = [event for event in execute.events if event.name.startswith("native_call")]
    assert [event.name for event in kernels][:3] == [
        "native_call_addmm.out",
        "native_call_relu.out",
        "native_call_add.out",
    ]
    assert all(event.perf_data is not None and len(event.perf_data.raw) == 3 for event in execute.events)
    for perf in (event.perf_data for event in execute.events):
        assert perf is not None
        assert perf.min <= perf.p10 <= perf.p50 <= perf.p90 <= perf.max
        assert perf.min <= perf.avg <= perf.max


def test_events_say_operators_modules_and_source_lines(run: Recorded) -> None:
    (_, execute) = inspector(run).event_blocks
    relu = [event for event in execute.events if event.name == "native_call_relu.out"]
    assert [event.op_types for event in relu] == [["aten.relu.default"]] * 2
    assert 'recorded_run.py", line' in str(next(iter(relu[0].stack_traces.values())))
    assert [path for path, _ in next(iter(relu[1].module_hierarchy.values())).values()] == ["", "two"]


def test_times_of_a_module_are_those_of_its_operators(run: Recorded) -> None:
    inspected = inspector(run)
    one, two = inspected.find_total_for_module("one"), inspected.find_total_for_module("two")
    assert one > 0 and two > 0
    assert inspected.find_total_for_module("three") == 0
    assert inspected.find_total_for_module("L__self___one") == inspected.find_total_for_module("L__self__one") == one
    kernels = [event for event in inspected.event_blocks[1].events if event.name.startswith("native_call")]
    in_blocks = [event.perf_data.avg for event in kernels if event.perf_data and "erf" not in event.name]
    assert one + two == pytest.approx(sum(in_blocks))


def test_events_are_listed_by_operator_of_a_block(run: Recorded) -> None:
    found = inspector(run)
    block = found.event_blocks[-1]
    listed = found.get_op_list(block.name)
    assert {name for event in block.events for name in event.op_types} == set(listed)
    assert all(name in event.op_types for name, events in listed.items() for event in events)
    with pytest.raises(ValueError, match=r"event_block: expected one of .*; found 'none'"):
        found.get_op_list("none")


def test_statistics_by_operator_and_module_sum_up_to_the_run(run: Recorded) -> None:
    found = inspector(run)
    (whole,) = [event for event in found.event_blocks[1].events if event.name == "Method::execute"]
    assert whole.perf_data is not None
    for by in ("operator", "module", "line", "call"):
        table = found.statistics(by)
        assert table["time"].sum() == pytest.approx(whole.perf_data.avg, rel=TIMES)
        assert table["share"].sum() == pytest.approx(1)
    assert dict(zip(found.statistics()["operator"], found.statistics()["calls"], strict=True))["aten.erf.default"] == 2
    assert {"one.lin", "two.lin", "one", "two"} <= set(found.statistics("module")["module"])
    assert any("recorded_run.py:" in line for line in found.statistics("line")["line"])
    with pytest.raises(ValueError, match="by: expected one of"):
        found.statistics("file")


def test_tables_have_the_documented_columns_and_units(run: Recorded, tmp_path: Path) -> None:
    frame = inspector(run, target_time_scale=TimeScale.US).to_dataframe()
    assert {"event_block_name", "event_name", "avg (us)", "op_types", "is_delegated_op"} <= set(frame.columns)
    text = io.StringIO()
    inspector(run).print_data_tabular(text)
    assert "native_call_addmm.out" in text.getvalue() and "OPERATOR_CALL" not in text.getvalue()
    with open(tmp_path / "table.tsv", "w") as file:
        inspector(run).save_data_to_tsv(file)
    assert "\tavg (ms)\t" in (tmp_path / "table.tsv").read_text().splitlines()[0]


def test_the_gap_is_zero_where_eager_and_runtime_agree(run: Recorded) -> None:
    gap = inspector(run).calculate_numeric_gap("MSE")
    assert len(gap) == 8
    assert max(max(gaps) for gaps in gap["gap"]) < ONE_ROUNDING["atol"] ** 2
    assert list(gap["aot_ops"].map(lambda names: names[0]))[-1] == "aten_erf_default_1"
    out = inspector(run).event_blocks[1].run_output
    assert out is not None
    torch.testing.assert_close(out[0], run.model(run.x))


def test_the_gap_begins_at_the_operator_that_is_wrong(run: Recorded) -> None:
    record = run.record.copy()
    record.add_executorch_program(run.program)
    record.update_representative_inputs([run.x])
    program = copy_program(record.edge_programs()["forward"])
    record.edge_dialect_program = program
    weight = program.state_dict["two.lin.weight"].detach().clone()
    weight[0, 0] += 1
    program._state_dict = program.state_dict | {"two.lin.weight": torch.nn.Parameter(weight)}
    gap = inspector(run, etrecord=record).calculate_numeric_gap("L1")
    first = next(
        names[0] for names, errors in zip(gap["aot_ops"], gap["gap"], strict=True) if max(errors) > ONE_ROUNDING["atol"]
    )
    assert first == "aten_addmm_default_1"


def test_the_exported_program_is_a_reference_too(run: Recorded) -> None:
    record = run.record.copy()
    record.add_executorch_program(run.program)
    record.update_representative_inputs([run.x])
    gap = inspector(run, etrecord=record).calculate_numeric_gap("L1", reference_graph="exported_program")
    assert {name for names in gap["aot_ops"] for name in names} >= {"linear", "relu", "linear_1", "relu_1"}
    assert max(max(errors) for errors in gap["gap"]) < LAYER["atol"]
    record.export_graph_id = 0
    inspected = inspector(run, etrecord=record)
    with pytest.raises(ValueError, match=r"Cannot use 'exported_program': debug handles .* belong to no node"):
        inspected.calculate_numeric_gap("L1", reference_graph="exported_program")
    assert inspected.calculate_numeric_gap("L1", True, "exported_program").empty
    record.exported_program = None
    with pytest.raises(ValueError, match="the record lacks it"):
        inspected.calculate_numeric_gap("L1", reference_graph="exported_program")


class _PartlyDelegated(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> Any:
        rows = torch.nn.functional.dropout(self.lin(x).relu(), training=self.training)  # removed by lowering
        values, indices = torch.topk((rows + self.lin(rows)).cumprod(0), 2)
        return values, indices


def _traced(program: ExecutorchProgramManager, inputs: tuple[torch.Tensor], folder: Path) -> tuple[Path, Path]:
    loaded = Runtime.get().load_program(program.buffer, enable_etdump=True, debug_buffer_size=1 << 16)
    loaded.load_method("forward").execute(inputs)
    trace, values = folder / "trace.etdp", folder / "values.bin"
    loaded.write_etdump_result_to_file(str(trace), str(values))
    return trace, values


def test_a_delegate_is_compared_with_the_exported_node_whose_value_it_returns(tmp_path: Path) -> None:
    x = (torch.randn(3, 4),)
    exported = export(_PartlyDelegated().eval(), x)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()], generate_etrecord=True)
    program = edge.to_executorch()
    record = program.get_etrecord()
    record.update_representative_inputs(x)
    trace, values = _traced(program, x, tmp_path)
    inspected = Inspector(trace, etrecord=record, debug_buffer_path=values)
    gap = inspected.calculate_numeric_gap("L1", reference_graph="exported_program")
    pairs = [(*names, *runtime) for names, runtime in zip(gap["aot_ops"], gap["runtime_ops"], strict=True)]
    assert pairs[0] == ("add", "DELEGATE_CALL")
    assert [node for node, _ in pairs[1:]] == ["cumprod", "topk"]
    assert max(max(errors) for errors in gap["gap"]) < MODEL["atol"]


def test_a_record_of_a_delegated_program_has_the_operators_of_its_delegates(tmp_path: Path) -> None:
    x = (torch.randn(3, 4),)
    edge = to_edge_transform_and_lower(export(_PartlyDelegated().eval(), x), partitioner=[XnnpackPartitioner()])
    kept = copy.deepcopy(edge)
    program = edge.to_executorch()
    generate_etrecord(tmp_path / "record.bin", kept, program)
    record = parse_etrecord(tmp_path / "record.bin")
    record.update_representative_inputs(x)
    trace, values = _traced(program, x, tmp_path)
    inspected = Inspector(trace, etrecord=record, debug_buffer_path=values)
    gap = inspected.calculate_numeric_gap("L1")
    assert gap["runtime_ops"][0] == ["DELEGATE_CALL"] and len(gap) == 3
    assert max(max(errors) for errors in gap["gap"]) < MODEL["atol"]
    (call,) = [event for event in inspected.event_blocks[-1].events if event.name == "DELEGATE_CALL"]
    assert "aten.relu.default" in call.op_types and "_PartlyDelegated" in str(call.module_hierarchy)


def test_a_custom_distance_is_used(run: Recorded) -> None:
    class Largest(NumericalComparatorBase):
        def element_compare(self, a: Any, b: Any) -> float:
            assert self.inspector is not None
            return float((a - b).abs().max()) + 7

    gap = inspector(run).calculate_numeric_gap(Largest())
    assert all(gaps == pytest.approx([7]) for gaps in gap["gap"])
    with pytest.raises(ValueError, match="'FAR'"):
        inspector(run).calculate_numeric_gap("FAR")


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        ("text", TypeError, r"preprocessing\(\) must return a dict: found str"),
        ({"key": ((0,), 1)}, ValueError, "Invalid key format: .*'key'"),
        ({(("no",), 1): ((0,), 1)}, ValueError, r"Invalid AOT debug handle: .*\('no',\)"),
        ({((0,), 1): "value"}, ValueError, "Invalid value format: .*'value'"),
        ({((0,), 1): (("no",), 1)}, ValueError, r"Invalid runtime debug handle: .*\('no',\)"),
        ({((98765,), 1.0): ((0,), 1.0)}, ValueError, r"no compared operator has \(98765,\)"),
    ],
)
def test_the_result_of_preprocessing_is_checked(
    run: Recorded, returned: Any, error: type[Exception], message: str
) -> None:
    class Wrong(NumericalComparatorBase):
        def __init__(self) -> None:
            pass  # `inspector` is there without the base class's constructor

        def preprocessing(self, mapping: Any) -> Any:
            return returned

        def element_compare(self, a: Any, b: Any) -> float:
            return 0.0

    with pytest.raises(error, match=message):
        inspector(run).calculate_numeric_gap(Wrong())


def test_a_missing_input_of_a_gap_is_reported(run: Recorded) -> None:
    with pytest.raises(ValueError, match="requires an ETRecord"):
        inspector(run, etrecord=None).calculate_numeric_gap("MSE")
    bare = run.record.copy()
    bare.add_executorch_program(run.program)
    with pytest.raises(ValueError, match="representative inputs"):
        inspector(run, etrecord=bare).calculate_numeric_gap("MSE")
    with pytest.raises(ValueError, match=r"no program 'other'.*edge_dialect"):
        inspector(run).calculate_numeric_gap("MSE", reference_graph="other")


def test_a_record_of_another_program_is_refused(run: Recorded) -> None:
    other = ETRecord(_debug_handle_map={"forward": {0: 1}}, _delegate_map={"forward": {0: {"name": "Other"}}})
    with pytest.raises(ValueError, match=r"different programs: instruction 0.*addmm.out.*Other"):
        Inspector(run.trace, etrecord=other)
    several = ETRecord(_debug_handle_map={"encode": {}, "decode": {}})
    with pytest.raises(ValueError, match=r"'forward': expected one of \['decode', 'encode'\]"):
        Inspector(run.trace, etrecord=several)


def test_a_truncated_trace_is_read_with_a_warning(run: Recorded) -> None:
    data = Path(run.trace).read_bytes()
    with pytest.warns(UserWarning, match="truncated"):
        inspected = Inspector(etdump_data=data[: len(data) * 3 // 4])
    assert inspected.event_blocks
    assert "truncated" in inspected.missing[0]


@pytest.mark.filterwarnings("ignore:.*truncated")
def test_every_beginning_of_a_trace_is_shown_or_refused(run: Recorded) -> None:
    data = Path(run.times).read_bytes()
    shown = 0
    for size in range(12, len(data), 31):  # all alignments; test_trace.py cuts everywhere
        with contextlib.suppress(MalformedProgramError):
            shown += len(Inspector(etdump_data=data[:size], etrecord=run.record).to_dataframe()) > 0
    assert shown > len(data) // 31 // 2


def test_a_debug_buffer_that_is_too_short_is_reported(run: Recorded, tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(Path(run.debug).read_bytes()[:100])
    with pytest.raises(ValueError, match=r"debug buffer has 100"):
        inspector(run, debug_buffer_path=tmp_path / "short")


def etdump_of(*events: ProfileEvent) -> bytes:
    return serialize_to_etdump_flatcc(ETDumpFlatCC(0, [RunData("Execute", -1, [], [Event(event) for event in events])]))


def test_a_clock_of_32_bits_may_wrap_around() -> None:
    inspected = Inspector(etdump_data=etdump_of(ProfileEvent("a", 0, 0, start_time=2**32 - 10, end_time=20)))
    (event,) = inspected.event_blocks[0].events
    assert event.perf_data is not None and event.perf_data.raw == [30 / 1e6]
    with pytest.raises(ValueError, match="'a' ends before it starts"):
        Inspector(etdump_data=etdump_of(ProfileEvent("a", 0, 0, start_time=2**32 + 10, end_time=20)))


def test_delegates_may_have_a_clock_and_metadata_of_their_own() -> None:
    data = etdump_of(ProfileEvent(None, 0, 0, 5, None, b"\x07", 100, 300))
    inspected = Inspector(
        etdump_data=data,
        delegate_time_scale_converter=lambda name, time: time * (2 if name == "5" else 1),
        delegate_metadata_parser=lambda all_of_it: {"seven": [metadata[0] for metadata in all_of_it]},
    )
    (event,) = inspected.event_blocks[0].events
    assert (event.name, event.delegate_debug_identifier, event.is_delegated_op) == ("5", 5, True)
    assert event.perf_data is not None and event.perf_data.raw == [400]
    assert inspected.to_dataframe(include_delegate_debug_data=True)["seven"][0] == [7]


def test_arguments_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="etdump_path or etdump_data"):
        Inspector()
    with pytest.raises(RuntimeError, match="cycles"):
        Inspector(etdump_data=etdump_of(ProfileEvent("a")), source_time_scale=TimeScale.CYCLES)


def test_results_are_compared_by_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    a = torch.tensor([3.0, 4.0])
    results = compare_results([a, 3], [a * 1.1, 3])
    assert results["mse"] == [pytest.approx(0.125), None]
    assert results["snr"] == [pytest.approx(20), None]
    assert results["cosine_similarity"] == [pytest.approx(1), None]
    assert "mse" in capsys.readouterr().out


def test_scripts_of_profiling_import_units_and_handles_from_the_utilities() -> None:
    assert _inspector_utils.TimeScale is TimeScale
    assert _inspector_utils.DebugHandle is DebugHandle
    assert _inspector_utils.compare_results is compare_results
