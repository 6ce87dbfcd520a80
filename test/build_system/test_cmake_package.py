# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The documented CMake helpers, in the source tree and in an installed package."""

import os
import re
import sys
from pathlib import Path

import pytest
from build_system.configuring import ROOT, cached, configure, run

pytestmark = pytest.mark.sampled(by="file")

HELPERS = """
gen_selected_ops(chosen "" "aten::add.out" OFF)
generate_bindings_for_kernels(LIB_NAME chosen FUNCTIONS_YAML ${EXECUTORCH_PACKAGE_ROOT}/kernels/portable/functions.yaml)
gen_operators_lib(LIB_NAME chosen KERNEL_LIBS portable_kernels DEPS executorch_core)
merge_yaml(FUNCTIONS_YAML ${EXECUTORCH_PACKAGE_ROOT}/kernels/optimized/functions.yaml
           FALLBACK_YAML ${EXECUTORCH_PACKAGE_ROOT}/kernels/portable/functions.yaml OUTPUT_DIR merged)
add_custom_target(merge DEPENDS merged/merged.yaml)
file(WRITE ${CMAKE_BINARY_DIR}/main.cpp "int main() {}")
add_library(own_backend STATIC ${CMAKE_BINARY_DIR}/main.cpp)
executorch_target_link_options_shared_lib(own_backend)
target_link_options_shared_lib(chosen)
file(WRITE ${CMAKE_BINARY_DIR}/floats.yaml "operators: {'aten::add.out': {dtypes: [Float]}}\\ndtypes: [Float]\\n")
gen_selected_ops(LIB_NAME floats OPS_SCHEMA_YAML ${CMAKE_BINARY_DIR}/floats.yaml INCLUDE_ALL_OPS "${unset}"
                 DTYPE_SELECTIVE_BUILD ON)
generate_bindings_for_kernels(LIB_NAME floats FUNCTIONS_YAML ${EXECUTORCH_PACKAGE_ROOT}/kernels/portable/functions.yaml
                              DTYPE_SELECTIVE_BUILD ON)
executorch_target_link_options_shared_lib(quantized_ops_lib)
executorch_target_link_options_shared_lib(optimized_native_cpu_ops_lib)
add_executable(product ${CMAKE_BINARY_DIR}/main.cpp)
target_link_libraries(product PRIVATE executorch chosen own_backend quantized_ops_lib optimized_native_cpu_ops_lib)
enable_testing()
include(${EXECUTORCH_PACKAGE_ROOT}/tools/cmake/Test.cmake)
et_cxx_test(product_test SOURCES ${CMAKE_BINARY_DIR}/main.cpp EXTRA_LIBS portable_kernels)
"""

# Target names of documented pages, in the source tree and in the package.
NAMES = """
foreach(name executorch executorch_core executorch_module_static executorch_tensor executorch_no_prim_ops prim_ops_lib
             flatccrt cpublas eigen_blas optimized_portable_kernels portable_kernels_bindings extension_module_static
             extension_kernels extension_llm_sampler optimized_native_cpu_ops_lib tokenizers::tokenizers
             executorch::backends executorch::kernels executorch::extensions executorch::runtime executorch::core
             executorch::kernels_optimized executorch::kernels_quantized executorch::threadpool executorch::etdump
             executorch::extension_llm_runner)
  if(NOT TARGET ${name})
    message(FATAL_ERROR "missing: ${name}")
  endif()
endforeach()
"""


def _project(folder: Path, lines: str) -> Path:
    folder.mkdir()
    head = "cmake_minimum_required(VERSION 3.24)\nproject(product LANGUAGES C CXX)\n"
    (folder / "CMakeLists.txt").write_text(head + lines)
    return folder


def _check_helpers(build: Path) -> None:
    commands = (build / "build.ninja").read_text()
    options = re.search(r"build product: .*?LINK_FLAGS = ([^\n]*)", commands, re.S)
    assert options is not None
    assert options[1].count("--whole-archive") == 1
    assert re.search(r"--whole-archive \S*libown_backend.a", options[1])
    assert "executorch_link_chosen" in options[1]
    libraries = re.search(r"build product_test: .*?LINK_LIBRARIES = ([^\n]*)", commands, re.S)
    assert libraries is not None
    for library in ("libgtest_main.a", "libexecutorch_core.a", "libportable_kernels.a"):
        assert library in libraries[1]
    assert "product_test" in (build / "CTestTestfile.cmake").read_text()
    done = run("ninja", "-C", build, "merge", build / "chosen/selected_operators.yaml")
    assert done.returncode == 0, done.stdout
    assert "executorch::kernels::optimized::" in (build / "merged/merged.yaml").read_text()
    assert "aten::add.out" in (build / "chosen/selected_operators.yaml").read_text()
    done = run("ninja", "-C", build, "generate_floats")
    assert done.returncode == 0, done.stdout
    assert "#define EXECUTORCH_SELECTED_DTYPES 0x40ull" in (build / "floats/selected_dtypes.h").read_text()


def test_a_project_calls_the_helpers_on_the_source_tree(tmp_path: Path) -> None:
    lines = f'include("{ROOT}/tools/cmake/Codegen.cmake")\nadd_subdirectory("{ROOT}" executorch)\n' + HELPERS + NAMES
    done = configure(tmp_path / "build", source=_project(tmp_path / "product", lines))
    assert done.returncode == 0 and "CMake Warning" not in done.stdout, done.stdout
    _check_helpers(tmp_path / "build")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed package whose libraries are empty files: nothing is compiled."""
    folder = tmp_path_factory.mktemp("package")
    done = configure(folder / "build")
    assert done.returncode == 0, done.stdout
    for script in (folder / "build").rglob("cmake_install.cmake"):
        for file in re.findall(r'"([^"]+\.a)"', script.read_text()):
            if os.path.isabs(file):
                Path(file).touch()
    done = run("cmake", "--install", folder / "build", "--prefix", folder / "prefix", "--component", "sdk")
    assert done.returncode == 0, done.stdout
    return folder / "prefix"


@pytest.mark.parametrize("name", ["executorch", "ExecuTorch"])
def test_a_project_finds_the_installed_package_by_either_name(package: Path, tmp_path: Path, name: str) -> None:
    lines = f"find_package({name} REQUIRED CONFIG)\ninclude(${{EXECUTORCH_ROOT}}/tools/cmake/Utils.cmake)\n"
    lines += HELPERS + NAMES
    done = configure(tmp_path / "build", f"-DCMAKE_PREFIX_PATH={package}", source=_project(tmp_path / "product", lines))
    assert done.returncode == 0 and "CMake Warning" not in done.stdout, done.stdout
    _check_helpers(tmp_path / "build")


def test_the_runner_of_language_models_is_configured_with_the_package(package: Path, tmp_path: Path) -> None:
    options = (f"-DCMAKE_PREFIX_PATH={package}", "-DPYTHON_EXECUTABLE=python")
    done = configure(tmp_path / "build", *options, source=ROOT / "examples/models/llama")
    assert done.returncode == 0, done.stdout
    assert "libextension_llm_runner.a" in (tmp_path / "build/build.ninja").read_text()


@pytest.mark.parametrize(
    ("folder", "options", "expected"),
    [
        ("portable/custom_ops", (), "custom_ops_executor_runner"),
        ("selective_build/basic", ("EXECUTORCH_SELECT_OPS_LIST=aten::add.out",), "executorch_selected_kernels"),
        (
            "selective_build/advanced",
            ("EXECUTORCH_SELECT_OPS_LIST=my_ops::mul3.out", "EXECUTORCH_EXAMPLE_USE_CUSTOM_OPS=ON"),
            "libcustom_kernels.a",
        ),
    ],
)
def test_documented_examples_are_configured(
    package: Path, tmp_path: Path, folder: str, options: tuple[str, ...], expected: str
) -> None:
    choices = [f"-D{option}" for option in options]
    done = configure(tmp_path, f"-DCMAKE_PREFIX_PATH={package}", *choices, source=ROOT / "examples" / folder)
    assert done.returncode == 0, done.stdout
    assert expected in (tmp_path / "build.ninja").read_text()


def test_a_missing_component_is_named_for_either_name_of_the_package(package: Path, tmp_path: Path) -> None:
    source = _project(tmp_path / "product", "find_package(ExecuTorch REQUIRED CONFIG COMPONENTS aten)\n")
    done = configure(tmp_path / "build", f"-DCMAKE_PREFIX_PATH={package}", source=source)
    assert done.returncode != 0
    assert "it was built without EXECUTORCH_BUILD_ATEN" in done.stdout


def test_components_are_libraries_and_a_missing_one_is_named(package: Path, tmp_path: Path) -> None:
    prefix = f"-DCMAKE_PREFIX_PATH={package / 'share/cmake'}"
    source = _project(
        tmp_path / "product",
        "find_package(executorch 1.0 REQUIRED COMPONENTS ${components})\n"
        'message("found ${EXECUTORCH_FOUND}, C++${EXECUTORCH_CXX_STANDARD}, ${EXECUTORCH_LIBRARIES}")\n',
    )
    components = "kernels_optimized;etdump;custom_ops;executorch_kernels"
    done = configure(tmp_path / "build", prefix, f"-Dcomponents={components}", source=source)
    assert done.returncode == 0, done.stdout
    assert "found ON, C++17, executorch::executorch;" in done.stdout
    done = configure(tmp_path / "refused", prefix, "-Dcomponents=kernels_optimized;backend_cuda", source=source)
    assert done.returncode != 0
    assert "library backend_cuda is not part of this build" in done.stdout


def test_a_project_chooses_options_before_it_adds_the_source_tree(tmp_path: Path) -> None:
    source = _project(
        tmp_path / "product",
        f'include("{ROOT}/tools/cmake/common/preset.cmake")\n'
        "set_overridable_option(EXECUTORCH_BUILD_EXECUTOR_RUNNER OFF)\n"
        "set_overridable_option(EXECUTORCH_LOG_LEVEL Error)\n"
        f'add_subdirectory("{ROOT}" executorch)\n',
    )
    done = configure(tmp_path / "build", "-DEXECUTORCH_BUILD_EXECUTOR_RUNNER=ON", source=source)
    assert done.returncode == 0, done.stdout
    cache = cached(tmp_path / "build")
    assert (cache["EXECUTORCH_LOG_LEVEL"], cache["EXECUTORCH_BUILD_EXECUTOR_RUNNER"]) == ("Error", "ON")


def test_the_documented_name_chooses_the_python_interpreter(tmp_path: Path) -> None:
    command = ("cmake", "-S", ROOT, "-G", "Ninja", "-B")
    done = run(*command, tmp_path / "build", f"-DPYTHON_EXECUTABLE={sys.executable}")
    assert done.returncode == 0, done.stdout
    assert f"Found Python3: {sys.executable} " in done.stdout
    done = run(*command, tmp_path / "refused", "-DPYTHON_EXECUTABLE=no-such-python")
    assert done.returncode != 0
    assert "PYTHON_EXECUTABLE: expected a Python interpreter, found nothing at 'no-such-python'" in done.stdout
