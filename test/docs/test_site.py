# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The site's pages: links lead somewhere, every page is in the table of contents, generated pages match the code."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from docs.code_blocks import ROOT, pages

DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

import break_names  # noqa: E402
import cmake_options  # noqa: E402
import command_options  # noqa: E402
import environment_variables  # noqa: E402
import pipeline_steps  # noqa: E402
import plain_docstrings  # noqa: E402
import runner_options  # noqa: E402

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner  # noqa: E402
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import get_symmetric_quantization_config  # noqa: E402
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig  # noqa: E402
from executorch.exir.passes import MemoryPlanningPass  # noqa: E402
from executorch.exir.program import pipeline  # noqa: E402
from executorch.runtime import Runtime  # noqa: E402

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.M | re.S)
# They name files of older versions and of ExecuTorch 1.4.
HISTORY = {"CHANGELOG.md", "coming-from-executorch.md", "pages-of-executorch.md"}
# Pages that the build writes.
GENERATED = {
    "reference/generated/cmake-options",
    "reference/generated/commands",
    "reference/generated/environment",
    "reference/generated/executor-runner",
    "reference/generated/model-coverage",
    "reference/generated/pipeline",
    "notebooks/getting_started",
}


def _tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.splitlines() if (ROOT / name).is_file()]


def _without_code(text: str) -> str:
    return re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.M | re.S)


def _anchors(page: Path) -> set[str]:
    """The headings' anchors, as GitHub and the site make them."""
    heads = re.findall(r"^#+ (.+)$", _without_code(page.read_text(encoding="utf-8")), re.M)
    plain = [re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads]
    return set(plain)


@pytest.mark.parametrize("page", _tracked("*.md"), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    wrong = []
    for link in _LINK.findall(_without_code(page.read_text(encoding="utf-8"))):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        name = str(target.relative_to(DOCS).with_suffix("")) if target.is_relative_to(DOCS) else ""
        if name in GENERATED:
            continue
        is_there = target.exists() and target.is_relative_to(ROOT)
        if not is_there or (anchor and target.suffix == ".md" and anchor not in _anchors(target)):
            wrong.append(link)
    assert not wrong, f"{page.relative_to(ROOT)}: {wrong}"


def test_every_page_is_in_exactly_one_table_of_contents() -> None:
    listed: list[str] = []
    for page in DOCS.rglob("*.md"):
        for tree in _TOCTREE.findall(page.read_text(encoding="utf-8")):
            entries = [line.strip() for line in tree.splitlines() if line.strip() and not line.startswith(":")]
            names = [re.sub(r".*<(.+)>", r"\1", entry) for entry in entries]
            for name in names:
                found = sorted(page.parent.glob(f"{name}.md")) if "*" in name else [page.parent / name]
                listed += [str(page.resolve().relative_to(DOCS).with_suffix("")) for page in found]
    own = {str(page.relative_to(DOCS).with_suffix("")) for page in pages() if page.is_relative_to(DOCS)}
    expected = (own | GENERATED) - {"index", "README"}  # the first page and the folder's own
    assert sorted(listed) == sorted(expected)


def test_the_environment_variables_that_sources_read_are_listed() -> None:
    named = {name for rows in environment_variables.TABLES.values() for name in rows}
    assert environment_variables.names_read() <= named
    unread = named - environment_variables.names_read() - {"BENCHMARK_PYTHON", "EXECUTORCH_DOCS_QUICK"}
    assert not unread


def test_the_cmake_options_of_the_page_are_those_that_the_build_knows() -> None:
    names = {option.name for option in cmake_options.options()}
    known = cmake_options._list("cmake/refused_options.cmake", "known_options")
    page = cmake_options.page()
    assert {"EXECUTORCH_BUILD_XNNPACK", "EXECUTORCH_SELECT_OPS_MODEL", "XNNPACK_ROOT", "EXECUTORCH_CPU"} <= names
    # SIZE_PROGRAM names a file of the size test.
    missing = [name for name in known if f"EXECUTORCH_{name}" not in page and name != "SIZE_PROGRAM"]
    assert set(missing) <= {"BUILD_CPUINFO", "BUILD_PTHREADPOOL"}


def test_refused_cmake_options_are_on_the_page_under_the_names_that_cmake_refuses() -> None:
    source = (cmake_options.ROOT / "cmake/refused_options.cmake").read_text()
    backends = [f"BUILD_{name}" for name in cmake_options._list("cmake/refused_options.cmake", "refused_backends")]
    parts = cmake_options._list("cmake/refused_options.cmake", "refused_parts")
    replaced = re.findall(r"^executorch_refuse\((\w+) ", source, re.M)
    page = cmake_options.page()
    assert [name for name in (*backends, *parts, *replaced) if f"`EXECUTORCH_{name}`" not in page] == []
    assert "EXECUTORCH_BUILD_BUILD_" not in page


def test_the_options_of_executor_runner_are_all_on_the_page() -> None:
    text = runner_options.SOURCE.read_text()
    table = text[text.index("kRows[]") : text.index("kRowCount")]
    assert len(runner_options.rows()) == len(re.findall(r'^    \{"\w+",', table, re.M))


@pytest.mark.parametrize(
    ("function", "page"),
    [
        (XnnpackPartitioner, "guides/xnnpack.md"),
        (get_symmetric_quantization_config, "guides/quantization.md"),
        (MemoryPlanningPass, "memory-planning.md"),
        (Runtime.load_program, "guides/python-runtime.md"),
    ],
)
def test_a_guide_names_each_argument_of_its_subject(function: Callable[..., object], page: str) -> None:
    text = (DOCS / page).read_text()
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "data")]
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def test_the_guide_of_xnnpack_names_each_option_of_the_backend() -> None:
    header = (ROOT / "backends/xnnpack/runtime/XNNPACKBackend.h").read_text()
    keys = re.findall(r'_option_key\[\] = "(\w+)"', header)
    text = (DOCS / "guides/xnnpack.md").read_text()
    assert len(keys) > 4
    assert [key for key in keys if f"| `{key}` |" not in text] == []


def test_every_command_with_arguments_is_on_the_page() -> None:
    page = command_options.page()
    assert not [name for name in command_options.commands() if f"## python -m {name}" not in page]
    assert "## python -m executorch.devtools profile" in page
    assert "## python -m executorch.codegen.tools.gen_oplist" in page
    assert "`--fast-memory BYTES`" in page


def test_every_step_of_the_pipeline_is_on_the_page_with_the_docstring_of_its_pass() -> None:
    page = pipeline_steps.page()
    for step in (
        *pipeline.steps_to_edge(EdgeCompileConfig()),
        *pipeline.steps_to_out_variants(ExecutorchBackendConfig(), "forward"),
    ):
        assert f"| `{step.__name__}` | " in page, step.__name__
    assert (
        "| `CSEPass` | Merges equal calls of deterministic operators | masks, sizes, shared projections |  |  |" in page
    )
    assert "| `reinplace_pass` | " in page and "| KV caches |  | `run_reinplace_pass` |" in page


def test_a_docstring_becomes_text_without_markup_of_its_own() -> None:
    lines = ["Return `a_` of *b.", "", "Args:", "    name: what `it` is,", "        continued."]
    rst = [line for line in plain_docstrings.to_rst(lines) if line]
    assert rst == ["Return ``a_`` of \\*b.", "**Args**", "- ``name``: what ``it`` is, continued."]


def test_a_sentence_that_describes_a_parameter_becomes_an_item() -> None:
    lines = ["one: the first, wherever", "it is. other: the second. Raises it."]
    rst = [line for line in plain_docstrings.to_rst(lines, {"one", "other"}) if line]
    assert rst == ["- ``one``: the first, wherever it is.", "- ``other``: the second.", "Raises it."]


def test_a_name_in_code_or_a_heading_may_break_between_its_words() -> None:
    code = '<code><span class="pre">size_of.py&lt;MaxSize&gt;</span></code>'
    assert break_names.rewrite(code) == code.replace("size_of", "size_<wbr />of").replace("MaxSize", "Max<wbr />Size")
    heading = "<h2>python -m executorch.devtools<a>#</a></h2> executorch.devtools"
    assert break_names.rewrite(heading) == heading.replace("executorch.devtools<", "executorch.<wbr />devtools<")
    assert break_names.rewrite("<p>of --backend</p>") == '<p>of <span class="unbroken">--b</span>ackend</p>'
    assert break_names.breakable("-DA_B") == '<span class="unbroken">-D</span>A_<wbr />B'


def test_the_site_has_the_version_of_the_package() -> None:
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)
    release = re.search(r'^release = "(.+)"', (DOCS / "conf.py").read_text(), re.M)
    assert version is not None and release is not None and release[1] == version[1]


def test_the_page_of_errors_lists_every_code_and_every_exception() -> None:
    page = (DOCS / "errors.md").read_text()
    header = (ROOT / "runtime/core/error.h").read_text()
    codes = re.findall(r"^  (\w+) = 0x(\w\w),", header, re.M)
    assert len(codes) > 20
    assert not [name for name, number in codes if f"| 0x{number} | `{name}` |" not in page]
    classes = re.findall(r"^class (\w+)\(", (ROOT / "runtime/errors.py").read_text(), re.M)
    assert not [name for name in classes if f"`{name}`" not in page]


# Files of examples, of other projects' formats, and those that a build writes.
NOT_TRACKED = {
    *(
        "exir/passes/FOLDER/verb_noun_pass.py",
        "test_verb_noun_pass.py",
        "verb_noun_pass.py",
        "devtools/command/doing.py",
        "examples/models/llama/source_transformation/SUBJECT.py",
    ),
    *("exir/memory/algorithms/NAME.py", "exir/memory/solve/NAME.py", "test/exir/memory/solve/test_NAME.py"),
    *("tokenizer.json", "tekken.json", "params.json", "adapter_config.json"),
    *("NativeFunctions.h", "Functions.h", "selected_operators.yaml", "selected_dtypes.h"),
    *("extension/llm/tokenizers/NAME.cpp", "extension/llm/tokenizers/include/pytorch/tokenizers/NAME.h"),
    *("executorch/extension/c_api/executorch.h", "executorch/extension/pybindings/pybindings_data_loader.h"),
}


@pytest.mark.parametrize("page", [page for page in pages() if page.name not in HISTORY], ids=lambda page: page.name)
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    suffixes = "py|h|cpp|c|inc|fbs|yaml|json|sh|md|cmake|ini|toml|ipynb"
    named = re.findall(rf"`([\w./-]+\.(?:{suffixes}))`", page.read_text(encoding="utf-8"))
    tracked = [f"/{path.relative_to(ROOT)}" for path in _tracked("*")]
    missing = [name for name in named if not any(path.endswith(f"/{name}") for path in tracked)]
    assert not set(missing) - NOT_TRACKED


def test_every_top_folder_has_a_readme_that_names_three_files() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tops = {name.split("/")[0] for name in listed.splitlines() if "/" in name and not name.startswith(".")}
    for top in sorted(tops):
        text = (ROOT / top / "README.md").read_text()
        assert len(text.splitlines()) <= 10, top
        assert len(re.findall(r"^\| \[.+\]\(.+\) \|", text, re.M)) == 3, top
