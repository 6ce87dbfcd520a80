# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tools read only regular files, and only those that fit into memory."""

import os
import socket
from pathlib import Path

import pytest

from executorch.devtools.inspector import Inspector
from executorch.devtools.size import __main__ as size
from executorch.exir.serialize.regular_file import read_regular_file


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"bytes")
    (tmp_path / "link").symlink_to("file")
    assert read_regular_file(tmp_path / "file") == read_regular_file(str(tmp_path / "link")) == b"bytes"


def test_a_path_that_would_block_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for path in ("fifo", "/dev/zero", "socket", ".", "nothing"):
            with pytest.raises(OSError, match=path.rpartition("/")[2]):
                read_regular_file(path)


def test_a_sparse_file_larger_than_memory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 42)
    with pytest.raises(OSError, match="a file of 4398046511104 bytes, more than the machine's memory"):
        read_regular_file(tmp_path / "sparse")


def test_tools_do_not_block_on_a_fifo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(OSError, match="not a regular file"):
        Inspector(str(fifo))
    assert size.main([str(fifo)]) == 1
    assert "not a regular file" in capsys.readouterr().err
