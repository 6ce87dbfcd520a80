# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The pinned upstream sources of XNNPACK and its dependencies, from Debian's source archive.

Archives are cached in $EXECUTORCH_DEPS_DIR (default: ~/.cache/executorch). A missing one is downloaded from the mirror
that the machine's apt uses, and checked against its SHA-256.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

APT_HELPER = "/usr/lib/apt/apt-helper"
# Suites with the pinned versions; no stable suite has that of cpuinfo.
SUITES = "trixie sid"


class Archive(NamedTuple):
    """An upstream archive: Debian's source package, its file and the file's SHA-256."""

    package: str
    file: str
    sha256: str


ARCHIVES = (
    Archive(
        "xnnpack",
        "xnnpack_0.0~git20241108.4ea82e5.orig.tar.xz",
        "90bde2caef0f880f627bab0dc805a86c4b8070cd98e3243db3046ab3f3be1a99",
    ),
    Archive(
        "cpuinfo",
        "cpuinfo_0.0~git20250905.877328f.orig.tar.xz",
        "557ca404a3836b9f335a3a06b65ff9fe9dbaaefab7fb5c0185f53d9f33615a10",
    ),
    Archive(
        "pthreadpool",
        "pthreadpool_0.0~git20240616.560c60d.orig.tar.xz",
        "4cc3cbd933b28131d2a34edc54f76af9fb41bc490af5eae1a5bd3cd07ea90708",
    ),
    Archive(
        "fxdiv",
        "fxdiv_0.0~git20200417.b408327.orig.tar.xz",
        "7953482badaf4cb34026c3487c257b8e4ab2df061c019bd6fabbbc12ad52c44b",
    ),
    Archive(
        "fp16",
        "fp16_0.0~git20200514.4dfe081.orig.tar.xz",
        "7d7782b37b74136e0e12593a2a93ccbe7db831f4374cc408e44623d9b708b54e",
    ),
)


class SourceUnavailable(RuntimeError):
    """An archive is unavailable. The message names it, its source, and what to do by hand."""


def cache_folder() -> Path:
    """Return the folder of downloaded archives."""
    chosen = os.environ.get("EXECUTORCH_DEPS_DIR")
    return Path(chosen) if chosen else Path.home() / ".cache" / "executorch"


def make_private(cache: Path) -> None:
    """Create the cache if it is missing, and check it. Raises SourceUnavailable."""
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SourceUnavailable(unusable(cache, error)) from error
    check_private(cache)


def unusable(path: Path, error: OSError) -> str:
    """Return a message for a folder or file of the cache that cannot be created."""
    return f"cannot create {path}: {error.strerror}; EXECUTORCH_DEPS_DIR names another folder for the cache"


def check_private(folder: Path, *, contents: bool = False) -> None:
    """Refuse a folder whose files another user may have put there: a build links what it finds in it.

    Args:
        folder: The folder.
        contents: Also check everything below the folder, since permissions may differ. Links are not followed.

    Raises:
        SourceUnavailable: Something belongs to another user, or others may write to it.
    """
    for path in (folder, *(sorted(folder.rglob("*")) if contents else ())):
        status = path.stat() if path == folder else path.lstat()
        if status.st_uid != os.geteuid():
            raise SourceUnavailable(f"{path} belongs to user {status.st_uid}, expected {os.geteuid()}")
        if stat.S_ISLNK(status.st_mode):
            raise SourceUnavailable(f"{path} is a link, expected only files and folders")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise SourceUnavailable(
                f"others may write to {path}: remove it, or `chmod -R go-w {folder}` if you trust it"
            )


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            hashed.update(block)
    return hashed.hexdigest()


def mirror_stanza() -> str:
    """Return the machine's Debian mirror as a deb822 stanza for sources. Raises SourceUnavailable if apt names none."""
    folder = Path("/etc/apt")
    for path in sorted(folder.glob("sources.list.d/*.sources")):
        for stanza in re.split(r"\n\s*\n", path.read_text()):
            fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*)$", stanza, re.M))
            if _is_debian(fields.get("URIs", "")):
                key = fields.get("Signed-By", "/usr/share/keyrings/debian-archive-keyring.gpg")
                return _stanza(fields["URIs"].split()[0], key)
    for path in (folder / "sources.list", *sorted(folder.glob("sources.list.d/*.list"))):
        lines = path.read_text().splitlines() if path.exists() else []
        for line in lines:
            entry = re.match(r"deb(?:-src)?\s+(?:\[.*?\]\s+)?(\S+)\s+\S+", line)
            if entry and _is_debian(entry.group(1)):
                return _stanza(entry.group(1), "/usr/share/keyrings/debian-archive-keyring.gpg")
    raise SourceUnavailable("apt's configuration names no Debian mirror")


def _is_debian(uri: str) -> bool:
    return bool(re.search(r"/debian/?(\s|$)", uri))


def _stanza(uri: str, key: str) -> str:
    return f"Types: deb-src\nURIs: {uri}\nSuites: {SUITES}\nComponents: main\nSigned-By: {key}\n"


class PrivateApt:
    """Run apt with separate lists and caches, so that those of the machine do not change."""

    def __init__(self, folder: Path) -> None:
        sources = folder / "debian.sources"
        sources.write_text(mirror_stanza())
        for name in ("lists/partial", "cache/archives/partial", "parts"):
            (folder / name).mkdir(parents=True)
        (folder / "parts" / "debian.sources").write_text(sources.read_text())
        self.options = [
            f"-oDir::Etc::SourceList={os.devnull}",
            f"-oDir::Etc::SourceParts={folder / 'parts'}",
            f"-oDir::State::Lists={folder / 'lists'}",
            f"-oDir::Cache={folder / 'cache'}",
            "-oAPT::Sandbox::User=root",
            "-oAcquire::Languages=none",
        ]
        self._run("apt-get", "update", "-qq")

    def _run(self, program: str, *arguments: str) -> str:
        done = subprocess.run([program, *self.options, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SourceUnavailable(f"{program} {arguments[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def uri(self, archive: Archive) -> str:
        """Return the archive's URI, from the mirror's signed index."""
        for stanza in self._run("apt-cache", "showsrc", archive.package).split("\n\n"):
            version = re.search(r"^Version: (\S+)$", stanza, re.M)
            if version and archive.file in stanza:
                chosen = f"{archive.package}={version.group(1)}"
                listed = self._run("apt-get", "source", "--print-uris", "-qq", "--only-source", chosen)
                entry = re.search(rf"^'([^']+)' {re.escape(archive.file)} ", listed, re.M)
                if entry:
                    return entry.group(1)
        raise SourceUnavailable(f"the mirror's suites ({SUITES}) hold no {archive.file}")

    def download(self, uri: str, path: Path, sha256: str) -> None:
        self._run(APT_HELPER, "download-file", uri, str(path), f"SHA256:{sha256}")


def fetch_missing(cache: Path) -> None:
    """Download the archives that the cache lacks. Raises SourceUnavailable."""
    missing = [a for a in ARCHIVES if not (cache / a.file).exists() or digest(cache / a.file) != a.sha256]
    if not missing:
        return
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        apt = PrivateApt(Path(folder))
        for archive in missing:
            print(f"fetching {archive.file}", file=sys.stderr, flush=True)
            part = Path(folder) / archive.file
            apt.download(apt.uri(archive), part, archive.sha256)
            part.replace(cache / archive.file)


def extract_inside(tar: tarfile.TarFile, folder: Path) -> None:
    """Extract files, folders and links that stay in `folder`; raise SourceUnavailable for other members.

    Python has a filter for this from 3.10.12 and 3.11.4 on; Debian 12 has 3.11.2.
    """
    inside = folder.resolve()
    for member in tar.getmembers():
        place = inside / member.name
        targets = [place]
        if member.issym():
            targets.append(place.parent / member.linkname)
        elif member.islnk():
            targets.append(inside / member.linkname)
        known = member.isfile() or member.isdir() or member.issym() or member.islnk()
        if not known or not all(target.resolve().is_relative_to(inside) for target in targets):
            raise SourceUnavailable(f"the archive's member {member.name!r} is not inside the archive's folder")
        tar.extract(member, folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def unpack(archive: Archive, cache: Path, destination: Path) -> None:
    """Unpack an archive into destination/package, with a stamp that identifies the archive."""
    folder = destination / archive.package
    stamp = folder / ".unpacked"
    if stamp.exists() and stamp.read_text() == archive.sha256:
        return
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=destination) as scratch:
        with tarfile.open(cache / archive.file) as tar:
            extract_inside(tar, Path(scratch))
        entries = list(Path(scratch).iterdir())
        # Debian repacks some archives without their top-level folder.
        top = entries[0] if len(entries) == 1 else Path(scratch, archive.package)
        if len(entries) > 1:
            top.mkdir()
            for entry in entries:
                entry.rename(top / entry.name)
        (top / ".unpacked").write_text(archive.sha256)
        top.rename(folder)


def how_by_hand(cache: Path) -> str:
    """Return instructions for machines that cannot download the archives."""
    names = "\n".join(f"  {archive.file}  SHA-256 {archive.sha256}" for archive in ARCHIVES)
    return f"Put these files of Debian's source archive into {cache}:\n{names}"
