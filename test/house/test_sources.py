# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Rules for every source file of the project."""

import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = 500
MAX_FILES = 20
# Folders of headers whose paths ExecuTorch documents. Their number may only fall.
CROWDED = {"runtime/core": 22}


def _tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


SOURCES = _tracked("*.py", "*.pyi", "*.h", "*.cpp", "*.cmake", "*.sh", "CMakeLists.txt")


def test_source_files_are_short_enough_to_read() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in SOURCES}
    long = {name: count for name, count in lines.items() if count > MAX_LINES}
    assert not long, f"expected at most {MAX_LINES} lines, found {long}"


def test_a_folder_has_few_enough_files_to_be_a_table_of_contents() -> None:
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in SOURCES)
    full = {folder: count for folder, count in counts.items() if count > CROWDED.get(folder, MAX_FILES)}
    assert not full, f"divide by subject: expected at most {MAX_FILES} files, found {full}"
    assert all(counts[folder] > MAX_FILES for folder in CROWDED), "remove folders that are no longer crowded"


def test_source_files_name_their_licence() -> None:
    heads = {str(path.relative_to(ROOT)): path.read_text()[:400] for path in SOURCES}
    wrong = [name for name, head in heads.items() if head and "BSD-3-Clause" not in head]
    assert not wrong, f"without a licence line: {wrong}"


def test_no_file_has_a_vague_name() -> None:
    vague = re.compile(r"^(utils?|helpers?|common|misc)\.(py|h|cpp)$")
    # Documented import paths keep their names.
    documented = (
        "exir/backend",
        "backends/transforms",
        "backends/xnnpack/utils",
        "extension/export_util",
        "examples/portable",
        "examples/xnnpack/quantization",
    )
    allowed = {ROOT / folder / "utils.py" for folder in documented}
    allowed |= {ROOT / "extension/llm" / folder / "util.h" for folder in ("runner", "sampler")}
    assert not [str(p.relative_to(ROOT)) for p in SOURCES if vague.match(p.name) and p not in allowed]


def test_the_runtime_and_kernels_hold_no_malloc_iostream_exceptions_or_abort() -> None:
    banned = re.compile(
        r"#include <(iostream|sstream|fstream|vector|string|map|unordered_map)>|\b(throw|try|catch)\b\s*[({]|std::abort"
    )
    violations = []
    for folder in ("runtime", "kernels"):
        for path in [*(ROOT / folder).rglob("*.h"), *(ROOT / folder).rglob("*.cpp")]:
            relative = str(path.relative_to(ROOT))
            # Torch's dispatcher, to which kernels/aten is the bridge, throws and speaks in strings and vectors. Eigen,
            # beneath kernels/linalg, throws where its allocations fail.
            tests = "testing_util" in relative or "/test/" in relative
            if relative == "runtime/platform/standard_headers.h":  # only for users' sources
                continue
            if tests or "platform/default" in relative or relative.startswith(("kernels/aten/", "kernels/linalg/")):
                continue
            violations += [f"{relative}:{n}: {line.strip()}" for n, line in enumerate(path.read_text().splitlines(), 1)
                      if banned.search(line) and not line.lstrip().startswith(("//", "*"))]  # fmt: skip
    assert not violations, "\n".join(violations)


def test_the_runtime_and_kernels_use_no_constants_that_boards_lack() -> None:
    """C libraries for boards declare M_PI and others only with the compiler's extensions, which the build turns off."""
    found = {}
    for path in _tracked("runtime/*.h", "runtime/*.cpp", "kernels/*.h", "kernels/*.cpp"):
        code = re.sub(r"//.*", "", path.read_text())
        if names := re.findall(r"\bM_[A-Z0-9_]+\b", code):
            found[str(path.relative_to(ROOT))] = names
    assert found == {}


def test_the_comment_above_a_type_or_template_opens_with_three_slashes() -> None:
    plain = re.compile(r"^// .*\n(?://.*\n)*(?=(?:template|class|struct|enum)\b.*[^;]\n)", re.MULTILINE)
    found = []
    for path in _tracked("*.h", "*.cpp", "*.inc"):
        text = path.read_text()
        found += [f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, at.start()) + 1}" for at in plain.finditer(text)]
    assert not found, "\n".join(found)
