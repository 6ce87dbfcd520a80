# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every code block of the documentation runs, or says why not."""

import contextlib
import io
import linecache
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from compilers import COMPILER
from docs.code_blocks import CODE, ROOT, Block, blocks_of, commands_of, missing_line, pages

RUN_MARKS = {"python": ("",), "console": ("run",), "cpp": ("compile",)}
BLOCKS = [block for page in pages() for block in blocks_of(page)]
WITH_CODE = [page for page in pages() if any(b.language in RUN_MARKS and not b.reason for b in blocks_of(page))]
NOT_RUN = 35


def _is_run(block: Block) -> bool:
    return block.mark in RUN_MARKS.get(block.language, ()) or bool(block.folder and block.language == "python")


def test_every_code_block_is_run_or_gives_the_reason_why_not() -> None:
    code = [block for block in BLOCKS if block.language in CODE]
    assert not [str(block) for block in code if not _is_run(block) and not block.reason]


def test_a_block_without_code_has_no_mark_but_output() -> None:
    other = [block for block in BLOCKS if block.language not in CODE]
    assert not [str(block) for block in other if block.mark not in ("", "output")]
    assert not [str(block) for block in BLOCKS if not block.language], "name the language; text is one"


def test_the_number_of_blocks_that_are_not_run_is_the_one_written_here() -> None:
    assert sum(bool(block.reason) for block in BLOCKS) == NOT_RUN


class _Page:
    """Runs the blocks of one page in order; keeps the output of the last one."""

    def __init__(self, page: Path) -> None:
        self.module = types.ModuleType(f"docs_page_{page.stem.replace('-', '_')}")
        self.printed = ""

    def run(self, block: Block) -> None:
        if block.mark == "output":
            line = missing_line(block.text.splitlines(), self.printed)
            assert line is None, f"{block}: the code does not print {line!r}, it prints:\n{self.printed}"
        elif block.language == "python":
            self._run_python(block)
        elif block.language == "console":
            self._run_commands(block)

    def _run_python(self, block: Block) -> None:
        # As many lines before it as in the page, so that a traceback names the page's line.
        text = "\n" * (block.line - 1) + block.text
        linecache.cache[str(block.page)] = (len(text), None, text.splitlines(keepends=True), str(block.page))
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            exec(compile(text, str(block.page), "exec"), self.module.__dict__)
        self.printed = stream.getvalue()

    def _run_commands(self, block: Block) -> None:
        tools = str(Path(sys.executable).parent)
        environment = {**os.environ, "PATH": tools + os.pathsep + os.environ["PATH"], "OMP_NUM_THREADS": "1"}
        for command, shown in commands_of(block):
            done = subprocess.run(
                ["bash", "-c", command], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL
            )
            self.printed = done.stdout
            assert done.returncode == 0, f"{block}: {command}\n{done.stdout}{done.stderr}"
            line = missing_line(shown, done.stdout)
            assert line is None, f"{block}: {command} does not print {line!r}, it prints:\n{done.stdout}"


@pytest.mark.sampled
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_code_of_a_page_runs_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    running = _Page(page)
    monkeypatch.setitem(sys.modules, running.module.__name__, running.module)
    for block in blocks_of(page):
        if block.folder:
            monkeypatch.syspath_prepend(str(ROOT / block.folder))
        if _is_run(block) or block.mark == "output":
            running.run(block)


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_the_cpp_blocks_of_every_page_compile(tmp_path: Path) -> None:
    (tmp_path / "executorch").symlink_to(ROOT)
    failed = []
    for page in pages():
        parts = [b for b in blocks_of(page) if b.language == "cpp" and b.mark == "compile"]
        if not parts:
            continue
        source = tmp_path / f"{page.stem}.cpp"
        source.write_text("".join(f'#line {b.line} "{page}"\n{b.text}' for b in parts))
        flags = ("-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", f"-I{tmp_path}")
        done = subprocess.run([str(COMPILER), *flags, str(source)], capture_output=True, text=True)
        failed += [done.stderr] if done.returncode else []
    assert not failed, "\n".join(failed)


def test_a_line_that_is_not_printed_is_reported() -> None:
    assert missing_line(["a … c", "d"], "a b  c\nd\n") is None
    assert missing_line(["d", "a"], "a\nd\n") == "a"
    assert missing_line(["a"], "ab\n") == "a"
