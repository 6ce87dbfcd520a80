# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Write kernels/sources.json from the symbols of a build's kernel libraries:

    python test/oracle/kernels/tables/kernel_source_table.py [BUILD]

BUILD: the build's folder, by default the newest below build/. Run it after adding or moving a kernel, and when a source
of kernels/ begins to refer to another.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from executorch.codegen.binding import KERNELS, Library, read_rows

_FOLDERS = {"portable_kernels": "portable", "kernel_engine": "loops", "quantized_kernels": "quantized"}
"""Folder below kernels/ with the sources of each library."""


def newest_build() -> Path:
    """Return the folder of the newest build with all kernels, not sanitized and for this processor."""
    found = [
        path for path in KERNELS.parent.glob("build/*/kernels/libquantized_ops_lib.a") if _is_ours(path.parents[1])
    ]
    if not found:
        raise FileNotFoundError("no build/*/kernels/libquantized_ops_lib.a: build the project first")
    return max(found, key=lambda path: path.stat().st_mtime).parents[1]


def _is_ours(build: Path) -> bool:
    cache = (build / "CMakeCache.txt").read_text()
    others = (
        r"EXECUTORCH_SANITIZE:.*=.+|EXECUTORCH_BUILD_ATEN:.*=ON|CMAKE_TOOLCHAIN_FILE:.*=.+|CMAKE_CXX_FLAGS:.*-m32.*"
    )
    return not re.search(rf"^({others})$", cache, re.M)


def source_table(build: Path) -> dict[str, dict[str, object]]:
    """Return ``kernels``, the source of each kernel, and ``needs``, the sources to which each source refers."""
    strong: dict[str, str] = {}
    weak: dict[str, set[str]] = defaultdict(set)
    referenced: dict[str, set[str]] = {}
    for library, folder in _FOLDERS.items():
        for source, kind, symbol in _symbols(build / "kernels" / "CMakeFiles" / f"{library}.dir", folder):
            referenced.setdefault(source, set())
            if kind == "U":
                referenced[source].add(symbol)
            elif kind in "WV":
                weak[symbol].add(source)
            else:
                strong[symbol] = source
    needs = {}
    for source, symbols in sorted(referenced.items()):
        found = {strong[symbol] for symbol in symbols & strong.keys()}
        found |= {one for symbol in symbols - strong.keys() for one in weak.get(symbol, ())}
        needs[source] = sorted(found - {source})
    names = {symbol.partition("(")[0]: source for symbol, source in strong.items()}
    rows = [
        row
        for name in ("portable", "quantized")
        for row in read_rows(Library(name, name, KERNELS / name / "functions.yaml"))
    ]
    kernels = {row.function.removeprefix("executorch::kernels::"): names[row.function] for row in rows}
    return {"kernels": dict(sorted(kernels.items())), "needs": needs}


def _symbols(objects: Path, folder: str) -> list[tuple[str, str, str]]:
    """Return (source below kernels/, nm's letter, demangled name) of all global symbols.

    Reads the object files, since several members of the library may have one name. Objects of sources that were moved
    stay in the build's folder, so only those of existing sources count.
    """
    sources = [path.relative_to(KERNELS).as_posix() for path in sorted((KERNELS / folder).rglob("*.cpp"))]
    listing = ["nm", "-A", "-C", "-g", *(f"{source}.o" for source in sources)]
    printed = subprocess.run(listing, cwd=objects, check=True, capture_output=True, text=True).stdout
    return re.findall(r"^([^\n:]+)\.o:[0-9a-f ]{16} (\w) (.+)$", printed, re.M)


def write(build: Path) -> None:
    """Write kernels/sources.json."""
    (KERNELS / "sources.json").write_text(json.dumps(source_table(build), indent=1) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else newest_build())
