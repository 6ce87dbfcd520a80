# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The page of environment variables. A test compares the table with what the sources read."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tables import code, table

ROOT = Path(__file__).resolve().parents[2]

BUILD = {
    "EXECUTORCH_CMAKE_ARGS": "CMake options that `pip install` adds, split as a shell splits them",
    "CMAKE_ARGS": "the same, the documented name",
    "CMAKE_BUILD_ARGS": "arguments of `cmake --build` in `pip install`",
    "CMAKE_BUILD_PARALLEL_LEVEL": "jobs of the build; `pip install` takes 2 by default",
    "EXECUTORCH_DEPS_DIR": "the folder of downloaded archives and of the XNNPACK build; default: "
    "`~/.cache/executorch`. It must belong to the user, and nobody else may write to it",
    "CC": "the C compiler of the XNNPACK build",
    "CXX": "the C++ compiler of the XNNPACK build, of CMake, and of the tests that compile",
    "CMAKE_PREFIX_PATH": "an installed package, for `examples/portable/custom_ops/test_custom_ops.sh`; default: one "
    "that the script builds",
    "PYTHON_EXECUTABLE": "the Python of `install_executorch.sh`",
    "EXECUTORCH_VENV": "the virtual environment of the README's commands; default: `.venv`",
    "PYTHON": "the Python that creates a new virtual environment",
    "SOURCE_DATE_EPOCH": "the time of the files in the wheel, in seconds since 1970; default: the commit's",
    "EXECUTORCH_DOCS_QUICK": "builds this site without executing the notebook; `docs/build.sh --quick` sets it",
}
RUNTIME = {
    "EXECUTORCH_MAX_ISA": "the highest instruction set that `cpu_engine` uses: `scalar`, `sse2`, `neon`, "
    "`avx2`, `avxvnni`, `avx512`, `avx512vnni`, `avx512bf16`, `avx512fp16` or `amx`; read once by a process",
    "XDG_CACHE_HOME": "an absolute path: the key that signs cache files of packed weights is in its folder "
    "`executorch`; the type checker's cache is there too",
    "HOME": "the same below `$HOME/.cache`, if `XDG_CACHE_HOME` is not an absolute path",
    "TMPDIR": "where temporary files of tests, and the program of the README's first command, are written",
    "HF_HUB_OFFLINE": "set by the example `minilm` and by the README's commands: no download",
    "TRANSFORMERS_VERBOSITY": "set by the example `minilm`",
}
TESTS = {
    "EXECUTORCH_PEER_PYTHON": "a Python with ExecuTorch 1.4.1, for tests and benchmarks that compare with it",
    "BENCHMARK_PYTHON": "a Python with onnxruntime and openvino, for `python -m test.benchmark`",
    "LLAMA_CPP_PYTHON": "a Python with llama-cpp-python, for `python -m test.benchmark.llm`",
    "ONNXRUNTIME_GENAI_PYTHON": "a Python with onnxruntime-genai and transformers, for the same",
    "OPENVINO_GENAI_PYTHON": "a Python with openvino-genai, for the same",
    "XNNPACK_DIRECT": "the library `xnnpack_direct`, for the benchmark's engine of that name",
    "EXECUTORCH_ATEN_RUNNER": "`executor_runner_aten`, for tests of ATen mode",
    "EXECUTORCH_DEMO_PYTHON": "a Python extension with the demo backends, in place of the one found in the build",
    "EXECUTORCH_KERNEL_ENTRY": "the library through which tests call kernels; another one tests other kernels",
    "EXECUTORCH_KERNEL_VECTORS": "the widest vectors that kernels may use in tests",
    "EXECUTORCH_ORACLE_EXAMPLES": "how many generated examples the kernels' property tests take",
    "EXECUTORCH_ORACLE_SAMPLES": "how many OpInfo samples of an operator and dtype the tests take; default: 2",
    "EXECUTORCH_ORACLE_SEED": "which samples these are; default: 0",
    "EXECUTORCH_RECORD_CALLS": "a folder: tests record there the kernel calls that `replay` runs again",
    "EXECUTORCH_FIRMWARE_PRESETS": "presets of the firmware tests; default: `cortex-m4`",
    "EXECUTORCH_CONCURRENT_PROGRAMS": "a folder of programs, for the thread sanitizer's tests",
    "EXECUTORCH_FAIL_AT": "the index of the system call or thread start that fails; `test.faults.whole_suite` sets it",
    "EXECUTORCH_FAULT_REPORT": "the file to which a program writes how many of them it made; set likewise",
    "ASAN_OPTIONS": "options of the address sanitizer; a test of exits adds one to yours",
    "EXECUTORCH_EMULATED": "set in an emulator, which cannot run some tests of threads and `fork`",
    "ET_FUZZ_RUNS": "how many damaged programs the fuzz test tries",
    "HYPOTHESIS_PROFILE": "`search` draws other examples in each run; default: `repeat`",
}
TABLES = {"Building": BUILD, "Running": RUNTIME, "Testing": TESTS}

_PYTHON = re.compile(r'(?:environ\.get\(|environ\[|environ\.setdefault\(|getenv\(|arguments_from\()\s*"([A-Z][A-Z_]+)"')
_MEMBER = re.compile(r'"([A-Z][A-Z_]+)" (?:not )?in os\.environ')
_CPP = re.compile(r'\b(?:secure_)?getenv\("([A-Z][A-Z_]+)"\)')
_SHELL = re.compile(r"\$\{([A-Z][A-Z_]+):?-")


def names_read() -> set[str]:
    """Return the variables that tracked sources read or set a default for."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names: set[str] = set()
    for name in listed.splitlines():
        path = ROOT / name
        if not path.is_file() or path == Path(__file__).resolve():
            continue
        if path.suffix == ".py":
            names.update(*(pattern.findall(path.read_text()) for pattern in (_PYTHON, _MEMBER)))
        elif path.suffix in (".cpp", ".h", ".c", ".cc"):
            names.update(_CPP.findall(path.read_text()))
        elif path.suffix == ".sh":
            names.update(_SHELL.findall(path.read_text()))
    return names - {"PATH"}


def page() -> str:
    """Return the page."""
    sections = [
        f"## {title}\n\n{table(('variable', 'meaning'), [(code(name), text) for name, text in rows.items()])}"
        for title, rows in TABLES.items()
    ]
    about = "Generated by `docs/_ext/environment_variables.py`; a test compares the list with the sources."
    head = f"# Environment variables\n\n{about}\n\n"
    return head + "\n".join(sections)
