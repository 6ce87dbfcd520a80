# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A part that is not linked in has a null address with every linker and in every kind of binary."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

USER = """
#include "runtime/executor/plan/optional_link.h"
extern "C" {
extern const int part_number ET_OPTIONAL_LINK;
}
ET_OPTIONAL_LINK int part_function();
extern "C" __attribute__((visibility("default"))) int use_part() {
  return (&part_function == nullptr ? 0 : part_function()) + (&part_number == nullptr ? 0 : part_number);
}
"""
PART = """
#include "runtime/executor/plan/optional_link.h"
extern "C" {
extern const int part_number ET_OPTIONAL_LINK;
const int part_number = 4;
}
ET_OPTIONAL_LINK int part_function();
int part_function() { return 3; }
"""
PROGRAM = 'extern "C" int use_part();\nint main() { return use_part(); }\n'
KINDS = {"shared": ("-fPIC",), "pie": ("-fPIE", "-pie"), "fixed": ("-fno-pie", "-no-pie")}
LINKERS = [name for name in ("bfd", "gold", "lld", "mold") if shutil.which(f"ld.{name}") or shutil.which(name)]


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="links with g++ on Linux")
@pytest.mark.parametrize("is_linked", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("linker", LINKERS)
def test_a_part_is_used_only_if_it_is_linked(linker: str, kind: str, is_linked: bool, tmp_path: Path) -> None:
    for name, text in {"user": USER, "part": PART, "program": PROGRAM}.items():
        (tmp_path / f"{name}.cpp").write_text(text)

    def build(*arguments: str) -> None:
        command = ["g++", "-std=c++17", "-O2", "-fvisibility=hidden", f"-I{ROOT}", f"-fuse-ld={linker}"]
        subprocess.run([*command, *KINDS[kind], *arguments], cwd=tmp_path, check=True)

    sources = ["user.cpp", "part.cpp"] if is_linked else ["user.cpp"]
    if kind == "shared":
        build("-shared", *sources, "-o", "libuser.so")
        sources = ["./libuser.so"]
    build("program.cpp", *sources, "-o", "program")
    assert subprocess.run([tmp_path / "program"], cwd=tmp_path, check=False).returncode == (7 if is_linked else 0)
