# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The page of CMake options, read from the build's own files."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from tables import code, plain, table

ROOT = Path(__file__).resolve().parents[2]
DEFAULTS = ROOT / "tools" / "cmake" / "preset" / "default.cmake"
# Other files that declare options of the build.
FILES = ("cmake/selected_kernels.cmake", "cmake/xnnpack/xnnpack.cmake", "cmake/toolchains/arm-none-eabi.cmake")
_DECLARED = re.compile(r'define_overridable_option\(\s*(\w+)\s+"([^"]*)"\s+(\w+)\s+("[^"]*"|\w+)\s*\)')
_CACHED = re.compile(r'^\s*set\((\w+) ("[^"]*"|\S+) CACHE (\w+) "([^"]*)"\)', re.M)
_OPTION = re.compile(r'^option\((\w+) "([^"]*)" (\w+)\)', re.M)
_REPORTED = re.compile(r'executorch_report_option\((\w+) (ON|OFF) "([^"]*)"\)')
_REPLACED = re.compile(r'executorch_refuse\((\w+) "([^"]*)"\)')

_HEAD = """\
# CMake options

Generated from the build's files by `docs/_ext/cmake_options.py`. Give an option with `-DNAME=VALUE`; a preset sets
those that the command line leaves out. An unknown `EXECUTORCH_*` option is an error that lists near names.

"""
_PARTS = """
`EXECUTORCH_BUILD_PRESET_FILE` names a CMake file that sets options; `tools/cmake/preset` has the project's.

## Parts that can be left out

These parts are built unless the option is `OFF`. A library that a kept one links stays.

"""


@dataclass(frozen=True)
class Option:
    """One option as its declaration states it."""

    name: str
    kind: str
    default: str
    help: str


def options() -> list[Option]:
    """Return every declared option, in the order of the files."""
    declared = [Option(*match.group(1, 3, 4, 2)) for match in _DECLARED.finditer(DEFAULTS.read_text())]
    for name in FILES:
        text = (ROOT / name).read_text()
        declared += [Option(*match.group(1, 3, 2, 4)) for match in _CACHED.finditer(text)]
        declared += [Option(match[1], "BOOL", match[3], match[2]) for match in _OPTION.finditer(text)]
    return declared


def _list(file: str, name: str) -> list[str]:
    match = re.search(rf"set\({name}\s+([^)]*)\)", (ROOT / file).read_text())
    if match is None:
        raise ValueError(f"{file}: expected set({name} ...), found none")
    return match[1].split()


def page() -> str:
    """Return the page."""
    rows = [(code(o.name), code(o.default.strip('"')) or "empty", plain(o.help)) for o in options()]
    parts = "cmake/documented_options.cmake"
    reported = [(code(f"{m[1]}={m[2]}"), plain(m[3])) for m in _REPORTED.finditer((ROOT / parts).read_text())]
    refused = "cmake/refused_options.cmake"
    names = [f"EXECUTORCH_BUILD_{name}" for name in _list(refused, "refused_backends")]
    names += [f"EXECUTORCH_{name}" for name in _list(refused, "refused_parts")]
    replaced = [(code(f"EXECUTORCH_{m[1]}"), plain(m[2])) for m in _REPLACED.finditer((ROOT / refused).read_text())]
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    return (
        _HEAD
        + table(("option", "default", "meaning"), rows)
        + _PARTS
        + table(("option",), [(code(f"EXECUTORCH_BUILD_{part}"),) for part in _list(parts, "optional_parts")])
        + "\n## Options of ExecuTorch 1.4 without effect\n\nCMake prints a line that says why.\n\n"
        + table(("option", "message"), reported)
        + "\n## Options that are refused\n\nThey select parts that this project does not have: "
        + ", ".join(code(name) for name in names)
        + ".\n\nThese have a replacement:\n\n"
        + table(("option", "instead"), replaced)
        + "\n## Presets\n\n`cmake --preset NAME` needs CMake 3.25.\n\n"
        + table(
            ("preset", "contents of the build"),
            [(code(p["name"]), plain(p["displayName"])) for p in presets if not p.get("hidden")],
        )
    )
