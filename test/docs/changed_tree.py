# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A temporary tree that holds changed files of the project, which Python and the compiler read before its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from compilers import COMPILER, cached, ccache_below
from docs.code_blocks import ROOT
from oracle.kernels.tables.kernel_source_table import newest_build

# Python imports `executorch.FOLDER.FILE` from the tree if the file is there.
_IMPORTS = """
import importlib.abc, importlib.util, sys
from pathlib import Path

class Changed(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        file = Path(sys.argv[1], *name.split(".")[1:]).with_suffix(".py")
        if name.startswith("executorch.") and file.is_file():
            return importlib.util.spec_from_file_location(name, file)

sys.meta_path.insert(0, Changed())
"""


class ChangedTree:
    """Changed and added files, at their paths below the root of the repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "executorch"
        self.folder.mkdir()
        self.includes = [folder]

    def change(self, path: str, *changes: tuple[str, str]) -> Path:
        """Copy a file with each text that occurs once replaced."""
        text = (ROOT / path).read_text()
        for old, new in changes:
            assert text.count(old) == 1, f"{path}: expected {old!r} once, found it {text.count(old)} times"
            text = text.replace(old, new)
        return self.add(path, text)

    def add(self, path: str, text: str) -> Path:
        """Write a file."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def compile(self, *sources: Path) -> list[str]:
        """Compile to object files."""
        build = newest_build()
        folders = [*self.includes, ROOT / "test/oracle", build / "include", build / "generated"]
        system = [build / "host_tools/flatc/include"]
        flags = ["-std=c++17", "-fPIC", *(f"-I{path}" for path in folders), *(f"-isystem{path}" for path in system)]
        objects = []
        for source in sources:
            objects.append(str(self.folder / f"{source.stem}.o"))
            command = cached([str(COMPILER), *flags, "-c", str(source), "-o", objects[-1]])
            run(command, self.folder.parent, **ccache_below(self.folder.parent))
        return objects

    def link(self, program: str, objects: Sequence[str], keep: bool = True) -> Path:
        """Link a program of the build with these objects before its libraries.

        `keep`: with its own objects too, except those of sources with the names of these objects.
        """
        build, linked = newest_build(), self.folder / program
        ninja = run(["ninja", "-C", str(build), "-t", "commands", "-s", program])
        (command,) = (line for line in ninja.splitlines() if f"-o {program} " in line)
        words = shlex.split(command.removeprefix(": && ").removesuffix(" && :"))
        at = words.index("-o")
        replaced = {Path(path).stem for path in objects}
        before = [
            w for w in words[:at] if not w.endswith(".o") or (keep and Path(w).name.split(".")[0] not in replaced)
        ]
        run([*before, *objects, "-o", str(linked), *words[at + 2 :]], cwd=build)
        return linked

    def link_library(self, name: str, objects: Sequence[str], archives: Sequence[str]) -> Path:
        """Link a shared library with archives of the build."""
        build, linked = newest_build(), self.folder / name
        run([str(COMPILER), "-shared", *objects, "-o", str(linked), *(str(build / archive) for archive in archives)])
        return linked

    def run_python(self, script: str, *arguments: object, cwd: Path = ROOT, **environment: str) -> str:
        """Run a script that imports the tree's files in place of the project's; return what it prints."""
        command = [sys.executable, "-c", f"{_IMPORTS}\n{script}", str(self.folder), *map(str, arguments)]
        return run(command, cwd, **environment)


def run(command: Sequence[str], cwd: Path = ROOT, **environment: str) -> str:
    """Run a command that must succeed; return what it prints."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout
