# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
import json
from pathlib import Path

import pytest
from recorded_run import Recorded, recorded

from executorch.devtools.__main__ import main


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


def test_errors_are_a_line_and_help_teaches(run: Recorded, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["inspect", str(tmp_path / "none")]) == 1
    (tmp_path / "text").write_text("no trace")
    assert main(["inspect", str(tmp_path / "text")]) == 1
    (tmp_path / "half").write_bytes(Path(run.trace).read_bytes()[:-500])
    assert main(["inspect", str(tmp_path / "half")]) == 0
    assert "inspect: the file is truncated" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["inspect", "--help"])
    assert "generate_etrecord=True" in capsys.readouterr().out
