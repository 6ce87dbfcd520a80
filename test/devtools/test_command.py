# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The commands of `python -m executorch.devtools`: results, errors and help."""

import json
import re
from pathlib import Path

import pytest
import torch
from recorded_run import Recorded, recorded

from executorch.devtools.__main__ import main
from executorch.devtools.etdump.recording import record_runs
from executorch.devtools.inspector import inspector_cli
from executorch.exir import to_edge
from executorch.exir.serialize import deserialize_pte, serialize_pte


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return recorded(tmp_path_factory.mktemp("run"))


def test_a_trace_is_shown_as_table_tsv_and_json(
    run: Recorded, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    record = tmp_path / "record"
    run.record.save(record)
    assert main(["inspect", run.trace]) == 0
    assert "native_call_addmm.out" in capsys.readouterr().out
    assert main(["inspect", run.trace, "--tsv", "--unit", "us"]) == 0
    assert "\tavg (us)\t" in capsys.readouterr().out
    assert main(["inspect", run.trace, "--json", "--record", str(record)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert ["aten.relu.default"] in [row["op_types"] for row in rows]
    assert main(["inspect", run.trace, "--module", "two", "--record", str(record)]) == 0
    assert capsys.readouterr().out.startswith("two: ")


def test_size_is_a_command_too(run: Recorded, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "program.pte").write_bytes(run.program.buffer)
    assert main(["size", str(tmp_path / "program.pte")]) == 0
    assert "aten::addmm.out" in capsys.readouterr().out


def test_errors_are_one_line_and_help_has_examples(
    run: Recorded, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["inspect", str(tmp_path / "none")]) == 1
    (tmp_path / "text").write_text("no trace")
    assert main(["inspect", str(tmp_path / "text")]) == 1
    (tmp_path / "half").write_bytes(Path(run.trace).read_bytes()[:-500])
    assert main(["inspect", str(tmp_path / "half")]) == 0
    assert "inspect: the file is truncated" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["inspect", "--help"])
    assert "generate_etrecord=True" in capsys.readouterr().out


def test_a_program_is_profiled_compared_and_drawn(
    run: Recorded, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pte, model = tmp_path / "program.pte", tmp_path / "its_model.py"
    pte.write_bytes(run.program.buffer)
    model.write_text(
        "import torch\nfrom recorded_run import TwoBlocks\n"
        "def make():\n    torch.manual_seed(0)\n    return TwoBlocks().eval(), (torch.randn(2, 4),)\n"
        "def other():\n    return torch.nn.Linear(4, 4), (torch.randn(2, 4),)\n"
    )
    made = f"{model}:make"
    assert main(["profile", str(pte), "--runs", "3", "--trace", str(tmp_path / "run.etdp")]) == 0
    assert "on average of 3 runs" in capsys.readouterr().out
    assert main(["profile", str(pte), "--runs", "2", "--model", made, "--by", "module", "--tsv"]) == 0
    assert "\ntwo.lin\t1\t" in capsys.readouterr().out
    assert main(["profile", str(pte), "--runs", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["steps"]) == 9

    assert main(["compare", made, str(pte)]) == 0
    table = capsys.readouterr().out
    assert "no operator differs" in table and "\t" not in table
    assert main(["compare", f"{model}:other", str(pte)]) == 1
    assert "lowered differently" in capsys.readouterr().err
    assert main(["compare", f"{model}:none", str(pte)]) == 1
    assert "has no 'none'" in capsys.readouterr().err

    page, graph, chrome = tmp_path / "page.html", tmp_path / "graph.json", tmp_path / "chrome.json"
    assert main(["report", str(pte), "--trace", str(tmp_path / "run.etdp"), "-o", str(page)]) == 0
    assert "<h2>Timeline</h2>" in page.read_text()
    assert main(["report", str(pte), "--runs", "2", "-o", str(page), "--chrome-trace", str(chrome)]) == 0
    assert json.loads(chrome.read_text())["traceEvents"]
    assert main(["graph", str(pte), "-o", str(graph)]) == 0
    assert len(json.loads(graph.read_text())["graphs"][0]["nodes"]) == 10
    assert main(["graph", str(pte), "-o", "graph.png"]) == 1
    assert "ends in .html or .json" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["inspect", "profile", "compare", "graph", "report"])
def test_the_help_of_every_command_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"  python -m executorch.devtools {command} " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("inspect PTE", "program.pte: expected an execution trace.*ET12"),
        ("inspect TRACE --module two", "--record FILE"),
        ("inspect TRACE --record RECORD --module three", "--module three: .*two.lin"),
        ("inspect TRACE --record PTE", "program.pte is not an ETRecord"),
        ("profile TRACE", "trace.etdp: expected a program .*found"),
        ("profile BROKEN", "broken.pte: expected a program .*instruction 0: expected a operator below 4; found 9"),
        ("graph BROKEN -o PAGE", "broken.pte: expected a program"),
        ("size BROKEN", "broken.pte: .*found 9"),
        ("profile PTE --inputs MODEL:missing", "has no 'missing'"),
        ("profile PTE --inputs MODEL:raising", "MODEL:raising failed: KeyError"),
        ("profile PTE --inputs MODEL:narrow", "input 0: expected a float32 tensor"),
        ("compare MODEL:broken PTE", "MODEL:broken cannot be exported: AttributeError"),
        ("compare MODEL:make PTE --partitioner MODEL:raising", "--partitioner"),
        ("report PTE --trace OTHER -o PAGE", "another program: instruction 0 ran"),
        ("report PTE -o NOWHERE", "No such file"),
    ],
)
def test_an_unusable_argument_is_reported_by_name(
    run: Recorded, other: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: str, says: str
) -> None:
    places = {"TRACE": run.trace, "OTHER": other, "PAGE": str(tmp_path / "page.html"), "NOWHERE": "/nowhere/page.html"}
    for name in ("program.pte", "broken.pte", "record", "model.py"):
        places[name.split(".")[0].upper()] = str(tmp_path / name)
    places["PTE"] = places["PROGRAM"]
    Path(places["PTE"]).write_bytes(run.program.buffer)
    file = deserialize_pte(run.program.buffer)
    file.program.execution_plan[0].chains[0].instructions[0].instr_args.op_index = 9  # type: ignore[union-attr]
    Path(places["BROKEN"]).write_bytes(bytes(serialize_pte(file)))
    run.record.save(places["RECORD"])
    Path(places["MODEL"]).write_text(
        "import torch\nfrom recorded_run import TwoBlocks\n"
        "class Broken(torch.nn.Module):\n    def forward(self, x): return self.nothing(x)\n"
        "def make(): return TwoBlocks().eval(), (torch.randn(2, 4),)\n"
        "def broken(): return Broken(), (torch.randn(2, 4),)\n"
        "def narrow(): return [torch.randn(2, 3)]\n"
        "def raising(): raise KeyError('gone')\n"
    )
    words = [":".join(places.get(part, part) for part in word.split(":")) for word in arguments.split()]
    assert main(words) == 1
    printed = capsys.readouterr().err
    assert re.search(says.replace("MODEL", re.escape(places["MODEL"])), printed) and "Traceback" not in printed, printed


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A trace of another program."""
    x = torch.ones(2)
    program = to_edge(torch.export.export(Sine(), (x,))).to_executorch().buffer
    path = tmp_path_factory.mktemp("other") / "trace.etdp"
    path.write_bytes(record_runs(program, [x]).etdump)
    return str(path)


class Sine(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x)


def test_the_documented_inspector_cli_shows_the_table(
    run: Recorded, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run.record.update_reference_outputs([[run.model(run.x).detach()]])
    run.record.save(tmp_path / "record")
    options = ["--etdump_path", run.trace, "--etrecord_path", str(tmp_path / "record")]
    table = tmp_path / "table.tsv"
    wanted = [*options, "--debug_buffer_path", run.debug, "--tsv_path", str(table), "--compare_results"]
    assert inspector_cli.main(wanted) == 0
    shown = capsys.readouterr().out
    assert "native_call_addmm.out" in shown and "cosine_similarity" in shown and "1.00000" in shown
    assert "avg (ms)" in table.read_text()
    assert inspector_cli.main([*options[:2], "--compare_results"]) == 1
    assert "--etrecord_path" in capsys.readouterr().err
