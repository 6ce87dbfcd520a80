# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The build takes XNNPACK's sources and libraries only from a folder that nobody else can write to."""

import fcntl
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "cmake" / "xnnpack"))
from build_xnnpack import build_key
from xnnpack_sources import Archive, SourceUnavailable, check_private, unpack


def test_a_private_folder_is_accepted(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    check_private(tmp_path)


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_a_folder_that_others_may_write_to_is_refused(mode: int, tmp_path: Path) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(SourceUnavailable, match="others may write to"):
        check_private(tmp_path)


def test_files_in_a_folder_are_checked_as_well(tmp_path: Path) -> None:
    library = tmp_path / "lib" / "libXNNPACK.a"
    library.parent.mkdir()
    library.write_bytes(b"!<arch>\n")
    for path, mode in ((tmp_path, 0o755), (library.parent, 0o755), (library, 0o644)):
        path.chmod(mode)
    check_private(tmp_path, contents=True)
    library.chmod(0o646)
    with pytest.raises(SourceUnavailable, match=r"others may write to .*libXNNPACK\.a"):
        check_private(tmp_path, contents=True)
    library.unlink()
    library.symlink_to(tmp_path)
    with pytest.raises(SourceUnavailable, match="is a link"):
        check_private(tmp_path, contents=True)


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(SourceUnavailable, match=f"belongs to user {owner}, expected {owner + 1}"):
        check_private(tmp_path)


@pytest.mark.parametrize("kept", ["file", "xnnpack.lock/folder"])
def test_a_cache_that_cannot_be_written_is_named_with_the_variable_that_chooses_another(
    tmp_path: Path, kept: str
) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / kept).parent.mkdir(exist_ok=True)
    (tmp_path / kept).touch()
    cache, path, reason = {
        "file": (tmp_path / "file/deps", "file/deps", "Not a directory"),
        "xnnpack.lock/folder": (tmp_path, "xnnpack.lock", "Is a directory"),
    }[kept]
    script = Path(__file__).parents[2] / "cmake" / "xnnpack" / "build_xnnpack.py"
    environment = {**os.environ, "EXECUTORCH_DEPS_DIR": str(cache)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    expected = f"cannot create {tmp_path}/{path}: {reason}; EXECUTORCH_DEPS_DIR names another folder for the cache\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", expected)


@pytest.mark.parametrize("has_filter", [True, False])
def test_a_member_outside_the_folder_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_filter: bool
) -> None:
    if not has_filter:
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    (tmp_path / "evil").write_text("evil")
    with tarfile.open(tmp_path / "archive.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "evil", arcname="../escaped")
    destination = tmp_path / "destination"
    destination.mkdir()
    with pytest.raises(SourceUnavailable, match=r"'../escaped' is not inside"):
        unpack(Archive("evil", "archive.tar.xz", ""), tmp_path, destination)
    assert not (tmp_path / "escaped").exists()
    assert not (destination / "escaped").exists()


def test_a_library_in_the_cache_does_not_wait_for_the_build_of_another(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    library = tmp_path / f"xnnpack-{build_key('')}"
    library.mkdir(mode=0o700)
    script = Path(__file__).parents[2] / "cmake" / "xnnpack" / "build_xnnpack.py"
    environment = {**os.environ, "EXECUTORCH_DEPS_DIR": str(tmp_path)}
    with (tmp_path / "xnnpack.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        printed = subprocess.run(
            [sys.executable, script], env=environment, check=True, capture_output=True, text=True, timeout=60
        ).stdout
    assert printed == f"{library}\n"
