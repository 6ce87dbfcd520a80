# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Options of the C++ build are honoured, or refused by name."""

from pathlib import Path

import pytest
from build_system.configuring import ROOT, configure, run

pytestmark = pytest.mark.sampled(by="file")

PROJECT = f"""cmake_minimum_required(VERSION 3.24)
project(product LANGUAGES C CXX)
add_subdirectory("{ROOT}" executorch)
file(WRITE main.cpp "int main() {{}}")
add_executable(product main.cpp)
target_link_libraries(product PRIVATE executorch executorch::backends executorch::extensions executorch::kernels)
"""


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("EXECUTORCH_BUILD_QNN=ON", "EXECUTORCH_BUILD_QNN: this project has no such backend"),
        ("EXECUTORCH_BUILD_VULKAN=ON", "EXECUTORCH_BUILD_VULKAN: this project has no such backend"),
        ("EXECUTORCH_DTYPE_SELECTIVE_BUILD=ON", "EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD requires programs"),
        ("EXECUTORCH_SELECT_OPS_FROM_MODELS=a.pte", "EXECUTORCH_SELECT_OPS_FROM_MODEL, EXECUTORCH_SELECT_OPS_LIST"),
        (
            "EXECUTORCH_BUILD_EVALU_UTILS=ON",
            "Near names: EXECUTORCH_BUILD_EXTENSION_EVALUE_UTIL, EXECUTORCH_BUILD_EXTENSION_RUNNER",
        ),
        ("EXECUTORCH_ENABLE_LOGGIN=ON", "no such option. Near names: EXECUTORCH_ENABLE_LOGGING, "),
        ("EXECUTORCH_ENABLE_SUNSHINE=ON", "no such option. The options: EXECUTORCH_BUILD_ATEN"),
        ("EXECUTORCH_BUILD_KERNELS_TORCHAO=ON", "KERNELS_TORCHAO: this project does not have this part"),
        ("EXECUTORCH_NNLIB_OPT=ON", "EXECUTORCH_NNLIB_OPT: this project does not have this part"),
        ("EXECUTORCH_BUILD_ARM_BAREMETAL=ON", "The preset arm-baremetal builds for Cortex-M"),
        ("EXECUTORCH_USE_CPP_CODE_COVERAGE=ON", "test/coverage.sh measures coverage"),
        ("EXECUTORCH_BUILD_PRESET_FILE=/no/such.cmake", "EXECUTORCH_BUILD_PRESET_FILE: expected a CMake file"),
        ("EXECUTORCH_PAL_DEFAULT_FILE_PATH=/no/such.cpp", "EXECUTORCH_PAL_DEFAULT_FILE_PATH: expected a C++ source"),
        ("EXECUTORCH_LOG_LEVEL=loud", "expected Debug, Info, Error or Fatal, found 'loud'"),
    ],
)
def test_an_unsupported_option_is_refused_by_name(tmp_path: Path, option: str, message: str) -> None:
    done = configure(tmp_path, f"-D{option}")
    assert done.returncode != 0
    assert message in done.stdout


def test_documented_options_configure(tmp_path: Path) -> None:
    options = (
        "BUILD_EXTENSION_MODULE=ON",
        "BUILD_EXTENSION_TENSOR=ON",
        "BUILD_EXTENSION_IMAGE=ON",
        "BUILD_EXTENSION_ASR_RUNNER=ON",
        "BUILD_DEVTOOLS=ON",
        "BUILD_QNN=OFF",
        "LOG_LEVEL=debug",
    )
    done = configure(tmp_path, *(f"-DEXECUTORCH_{option}" for option in options))
    assert done.returncode == 0, done.stdout
    assert "-DET_MIN_LOG_LEVEL=Debug" in (tmp_path / "build.ninja").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("BUILD_XNNPACK=ON", "BUILD_CPUINFO=OFF"),
            "expected EXECUTORCH_BUILD_CPUINFO=ON, which XNNPACK needs, found OFF",
        ),
        (
            ("THREADPOOL_USE_ALL_LOGICAL_CORES=ON", "THREADPOOL_USE_PERFORMANCE_CORES=ON"),
            "expected EXECUTORCH_THREADPOOL_USE_ALL_LOGICAL_CORES unset, found 'ON'",
        ),
    ],
)
def test_options_that_exclude_each_other_are_an_error(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    done = configure(tmp_path, *(f"-DEXECUTORCH_{option}" for option in options))
    assert done.returncode != 0
    assert message in done.stdout


@pytest.mark.parametrize("speech", [False, True])
def test_the_runner_of_language_models_is_left_out_unless_speech_needs_it(tmp_path: Path, speech: bool) -> None:
    options = ["-DEXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=OFF", "-DEXECUTORCH_BUILD_EXTENSION_LLM=OFF"]
    done = configure(tmp_path, *options, *(["-DEXECUTORCH_BUILD_EXTENSION_ASR_RUNNER=ON"] if speech else []))
    assert done.returncode == 0, done.stdout
    stays = "extension_llm_runner stays in the build and the install, because extension_asr_runner links it"
    assert (stays in done.stdout) == speech
    assert ("tokenizers stays in the build" in done.stdout) == speech


def test_the_xnnpack_backend_is_built_without_xnnpack_by_option(tmp_path: Path) -> None:
    done = configure(tmp_path, "-DEXECUTORCH_BUILD_XNNPACK=ON", "-DEXECUTORCH_XNNPACK_LIBRARY=NONE")
    assert done.returncode == 0, done.stdout
    assert "XnnpackBackend runs on the CPU engine alone" in done.stdout
    rules = (tmp_path / "build.ninja").read_text()
    assert "operators/without_xnnpack.cpp" in rules
    assert "libXNNPACK" not in rules


def test_an_xnnpack_with_other_functions_is_not_used(tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    (prefix / "include").mkdir(parents=True)
    (prefix / "include/xnnpack.h").write_text("enum xnn_status xnn_define_static_reduce_v2(void);\n")
    build = tmp_path / "build"
    build.mkdir()
    done = configure(
        build, "-DEXECUTORCH_BUILD_XNNPACK=ON", "-DEXECUTORCH_XNNPACK_LIBRARY=SYSTEM", f"-DXNNPACK_ROOT={prefix}"
    )
    assert done.returncode != 0
    assert "take other arguments than those of 2024-11" in done.stdout
    assert "EXECUTORCH_XNNPACK_LIBRARY=NONE builds without it" in done.stdout


def test_an_unknown_xnnpack_library_is_an_error(tmp_path: Path) -> None:
    done = configure(tmp_path, "-DEXECUTORCH_BUILD_XNNPACK=ON", "-DEXECUTORCH_XNNPACK_LIBRARY=OURS")
    assert done.returncode != 0
    assert "expected AUTO, SYSTEM, PINNED or NONE, found 'OURS'" in done.stdout


def test_options_that_always_hold_are_accepted_and_reported(tmp_path: Path) -> None:
    options = (
        *("BUILD_PTHREADPOOL=ON", "BUILD_CPUINFO=ON", "USE_DL=OFF", "ENABLE_PROGRAM_VERIFICATION=OFF"),
        *("THREADPOOL_USE_PERFORMANCE_CORES=ON", "XNNPACK_ENABLE_KLEIDI=ON", "FLATBUFFERS_MAX_ALIGNMENT=1024"),
    )
    options = (*options, "BUILD_KERNELS_QUANTIZED_AOT=ON", "BUILD_KERNELS_LLM_AOT=ON", "BUILD_FLATC=ON", "BUILD_SDK=ON")
    others = ("-DENABLE_XNNPACK_PROFILING=ON", "-DSUPPORT_REGEX_LOOKAHEAD=ON")
    done = configure(tmp_path, *(f"-DEXECUTORCH_{option}" for option in options), *others)
    assert done.returncode == 0, done.stdout
    assert "verification of programs cannot be turned off" in done.stdout
    assert "EXECUTORCH_BUILD_CPUINFO=ON: the library comes with XNNPACK" in done.stdout
    for option in ("BUILD_KERNELS_LLM_AOT", "BUILD_KERNELS_QUANTIZED_AOT"):
        assert f"EXECUTORCH_{option}=ON: the Python package registers these operators in PyTorch" in done.stdout
    for option in ("BUILD_FLATC", "BUILD_SDK"):
        assert f"EXECUTORCH_{option}=ON: an option of older releases" in done.stdout
    assert "the runtime sets no maximum for the alignment of tensor data" in done.stdout
    assert "XNNPACK is built without KleidiAI" in done.stdout
    assert "ENABLE_XNNPACK_PROFILING=ON: every build has the profiler" in done.stdout
    assert "SUPPORT_REGEX_LOOKAHEAD=ON: tokenizers use PCRE2" in done.stdout


def test_a_build_without_pthreadpool_reports_that_it_uses_its_own_threads(tmp_path: Path) -> None:
    done = configure(tmp_path, "-DEXECUTORCH_BUILD_PTHREADPOOL=OFF")
    assert done.returncode == 0, done.stdout
    assert "EXECUTORCH_BUILD_PTHREADPOOL=OFF: extension_threadpool, which has threads of its own" in done.stdout


def test_documented_options_choose_flags_and_sources(tmp_path: Path) -> None:
    (tmp_path / "my_platform.cpp").touch()
    options = (
        f"PAL_DEFAULT_FILE_PATH={tmp_path / 'my_platform.cpp'}",
        "OPTIMIZE_SIZE=ON",
        "THREADPOOL_USE_ALL_LOGICAL_CORES=ON",
        "USE_SANITIZER=ON",
        "USE_DL=ON",
    )
    done = configure(tmp_path / "build", *(f"-DEXECUTORCH_{option}" for option in options))
    assert done.returncode == 0, done.stdout
    commands = (tmp_path / "build/build.ninja").read_text()
    assert "my_platform.cpp.o" in commands
    assert "default/posix.cpp" not in commands
    assert "-Os -DNDEBUG" in commands
    assert "-O3" not in commands
    assert "-fsanitize=address,undefined" in commands
    assert "-DEXECUTORCH_USE_ALL_LOGICAL_CORES" in commands
    assert "-DET_USE_LIBDL" in commands


def test_the_older_name_of_the_option_for_size_is_honoured(tmp_path: Path) -> None:
    done = configure(tmp_path, "-DOPTIMIZE_SIZE=ON")
    assert done.returncode == 0, done.stdout
    assert "-Os -DNDEBUG" in (tmp_path / "build.ninja").read_text()


def test_parts_that_are_off_are_neither_built_by_default_nor_installed(tmp_path: Path) -> None:
    off = ("BUILD_EXTENSION_MODULE", "BUILD_EXTENSION_TENSOR", "BUILD_DEVTOOLS", "BUILD_KERNELS_OPTIMIZED")
    options = [f"-DEXECUTORCH_{name}=OFF" for name in (*off, "BUILD_EXECUTOR_RUNNER")]
    done = configure(tmp_path, *options)
    assert done.returncode == 0, done.stdout
    assert "extension_tensor stays in the build and the install, because extension_image links it" in done.stdout
    install = (tmp_path / "cmake_install.cmake").read_text()
    built = run("ninja", "-C", tmp_path, "-t", "inputs", "all").stdout
    for library in ("extension_module", "bundled_program", "etdump", "optimized_kernels"):
        assert f"lib{library}.a" not in install
        assert f"lib{library}.a" not in built
    for library in ("extension_tensor", "quantized_kernels"):
        assert f"lib{library}.a" in install
        assert f"lib{library}.a" in built


def test_a_project_links_all_backends_extensions_and_kernels_by_their_documented_names(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    done = configure(tmp_path / "build", source=tmp_path)
    assert done.returncode == 0, done.stdout
