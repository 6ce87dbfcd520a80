# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The wheel works in an environment with only numpy besides it."""

import importlib
import os
import re
import runpy
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
import torch
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from house.test_headers import DOCUMENTED
from models import make
from oracle.models.pipeline import to_program
from oracle.tolerances import LAYERS

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools import Inspector
from executorch.exir import to_edge_transform_and_lower

ROOT = Path(__file__).resolve().parents[2]


def _run(*command: object, cwd: Path = ROOT, **environment: str) -> str:
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution, built as a user's pip builds it, but with the build tools of this environment."""
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, ROOT)
    (built,) = folder.glob("executorch-*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with only the wheel and its base dependencies."""
    home = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(home, with_pip=True)
    _run(home / "bin/python", "-m", "pip", "install", "-q", wheel)
    return home / "bin/python"


def test_the_wheel_holds_the_packages_the_programs_the_headers_and_the_libraries(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for expected in (
        "executorch/exir/__init__.py",
        "executorch/plugins.ini",
        "executorch/runtime/py.typed",
        "executorch/kernels/portable/functions.yaml",
        "executorch/examples/models/llama/config/llama_xnnpack.yaml",
        "executorch/examples/models/qwen3/config/0_6b_config.json",
        "executorch/examples/models/toy_model.py",
        "executorch/examples/portable/scripts/export.py",
        "executorch/examples/xnnpack/aot_compiler.py",
        "executorch/data/bin/executor_runner",
        "executorch/include/executorch/extension/module/module.h",
        "executorch/include/executorch/kernels/portable/Functions.h",
        "executorch/kernels/portable/conv/forward.cpp",
        "executorch/lib/cmake/ExecuTorch/kernel_libraries.cmake",
        "executorch/lib/libexecutorch_core.a",
        "executorch/share/cmake/executorch-config.cmake",
        "executorch/tools/cmake/Codegen.cmake",
        "executorch/tools/cmake/Test.cmake",
        "executorch/tools/cmake/Utils.cmake",
    ):
        assert expected in names
    shipped_examples = {n.split("/")[2] for n in names if n.startswith("executorch/examples/")}
    assert shipped_examples == {"models", "portable", "xnnpack"}
    left_out = ("executorch/test/", "executorch/setup.py", "executorch/install_executorch")
    assert not [n for n in names if n.startswith(left_out)]


def test_the_wheel_has_the_module_of_each_command_that_the_site_documents(
    wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs/_ext")
    modules = importlib.import_module("command_options").commands().values()
    names = set(zipfile.ZipFile(wheel).namelist())
    assert not [module for module in modules if module.replace(".", "/") + ".py" not in names]


def test_the_wheel_builds_bit_for_bit_twice(wheel: Path, tmp_path: Path) -> None:
    """Build it again from the same objects with another date, umask and temporary folder."""
    (tmp_path / "scratch").mkdir()
    command = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT)
    before = os.umask(0o077)
    try:
        _run(*command, TMPDIR=str(tmp_path / "scratch"), TZ="Asia/Tokyo")
    finally:
        os.umask(before)
    (again,) = tmp_path.glob("executorch-*.whl")
    first, second = zipfile.ZipFile(wheel), zipfile.ZipFile(again)
    assert [entry.filename for entry in first.infolist()] == [entry.filename for entry in second.infolist()]
    assert [name for name in first.namelist() if first.read(name) != second.read(name)] == []
    assert wheel.read_bytes() == again.read_bytes()


def test_no_file_of_the_wheel_names_a_folder_of_the_build(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    places = [str(place).encode() for place in (ROOT, Path.home(), Path(sys.prefix))]
    assert [name for name in archive.namelist() if any(place in archive.read(name) for place in places)] == []


def test_the_wheel_has_a_bill_of_materials_that_follows_the_schema(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = [
        name for name in archive.namelist() if re.fullmatch(r"executorch-.*\.dist-info/sboms/.*\.cdx\.json", name)
    ]
    text = archive.read(name).decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert '"name": "xnnpack"' in text


def test_the_runtime_needs_neither_torch_nor_the_compiler(python: Path, tmp_path: Path) -> None:
    script = (
        "import executorch.runtime, sys; assert 'torch' not in sys.modules; assert 'executorch.exir' not in sys.modules"
    )
    _run(python, "-c", script, cwd=tmp_path)
    installed = _run(python, "-m", "pip", "list", "--format=freeze", cwd=tmp_path).split()
    assert {line.partition("==")[0] for line in installed} <= {"executorch", "numpy", "pip", "setuptools"}


def test_the_compiler_without_its_extra_names_it(python: Path, tmp_path: Path) -> None:
    script = "import executorch.exir"
    done = subprocess.run([python, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert 'pip install "executorch[export]"' in done.stderr


def test_nothing_compiled_links_libtorch(python: Path, tmp_path: Path) -> None:
    package = next(python.parents[1].glob("lib/python*/site-packages/executorch"))
    for binary in (*package.rglob("*.so"), package / "data/bin/executor_runner"):
        assert "torch" not in _run("ldd", binary).replace(str(package), "")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The install tree of the wheel's build, moved to another folder."""
    folder = tmp_path_factory.mktemp("prefix")
    _run("cmake", "--install", ROOT / "build/wheel", "--prefix", folder / "first")
    return (folder / "first").rename(folder / "moved")


@pytest.fixture(params=["wheel", "install"])
def package(request: pytest.FixtureRequest) -> Path:
    """The prefix of a CMake package: of the wheel, or of an install tree."""
    if request.param == "install":
        found: Path = request.getfixturevalue("installed")
        return found
    python: Path = request.getfixturevalue("python")
    return next(python.parents[1].glob("lib/python*/site-packages/executorch"))


def test_the_cmake_package_names_no_place_and_links_no_whole_archive(package: Path) -> None:
    files = [*package.glob("lib/cmake/ExecuTorch/*.cmake"), *package.glob("share/cmake/*.cmake")]
    assert len(files) >= 6
    for text in (file.read_text() for file in files):
        assert str(ROOT) not in text and str(Path.home()) not in text and "--whole-archive" not in text
        assert not re.search(r'"/(?!")', text), "an absolute path"


LIBRARIES = (
    *("executorch_core", "executorch", "executorch_kernels", "executorch_extensions", "etdump", "etdump_flatcc"),
    *("portable_kernels", "portable_ops_lib", "optimized_kernels", "optimized_ops_lib", "optimized_native_cpu_ops_lib"),
    *("quantized_kernels", "quantized_ops_lib", "xnnpack_backend", "extension_module", "extension_module_static"),
    *("extension_tensor", "extension_data_loader", "extension_flat_tensor", "extension_named_data_map"),
    *("extension_threadpool", "extension_memory_allocator", "extension_runner_util", "extension_evalue_util"),
    *("extension_signature", "prim_kernels", "executorch_module_static", "executorch_tensor", "executorch_no_prim_ops"),
    *("prim_ops_lib", "flatccrt", "XNNPACK", "cpuinfo", "cpublas", "extension_kernels", "extension_llm_sampler"),
)
MORE_HEADERS = (
    *("devtools/etdump/etdump_flatcc.h", "extension/flat_tensor/flat_tensor_data_map.h"),
    *("extension/threadpool/threadpool.h", "backends/xnnpack/runtime/XNNPACKBackend.h"),
    *("kernels/portable/Functions.h", "kernels/portable/NativeFunctions.h"),
)
EACH_LIBRARY = """cmake_minimum_required(VERSION 3.24)
project(each_library LANGUAGES CXX)
find_package(executorch 1.4 CONFIG REQUIRED)
add_library(program OBJECT program.cpp)
foreach(library {libraries})
  add_executable(with_${{library}} $<TARGET_OBJECTS:program>)
  target_link_libraries(with_${{library}} PRIVATE ${{library}})
endforeach()
add_executable(registered registered.cpp)
target_compile_options(registered PRIVATE -Wall -Wextra -Werror)
target_link_libraries(registered PRIVATE executorch::extensions executorch::kernels executorch::xnnpack_backend)
"""
REGISTERED = """{includes}
int main() {{
  using namespace executorch::runtime;
  const char* const operators[] = {{"aten::add.out", "aten::sym_size.int",
                                   "quantized_decomposed::choose_qparams.Tensor_out"}};
  for (const char* name : operators) {{
    if (!registry_has_op_function(name)) return 1;
  }}
  return get_backend_class("XnnpackBackend") == nullptr ? 2 : 0;
}}
"""


@pytest.mark.sampled(by="file")
@pytest.mark.usefixtures("compiler_cache")
def test_every_library_links_alone_and_every_public_header_is_there(package: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(EACH_LIBRARY.format(libraries=" ".join(LIBRARIES)))
    (tmp_path / "program.cpp").write_text("int main() { return 0; }\n")
    includes = "\n".join(f"#include <executorch/{header}>" for header in (*DOCUMENTED, *MORE_HEADERS))
    (tmp_path / "registered.cpp").write_text(REGISTERED.format(includes=includes))
    _run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={package}")
    _run("cmake", "--build", tmp_path / "build", "--parallel", "2")
    _run(tmp_path / "build/registered")


@pytest.mark.sampled(by="file")
@pytest.mark.usefixtures("compiler_cache")
def test_a_cpp_program_builds_against_the_installed_package_alone(package: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/cpp", tmp_path / "source")
    _run("cmake", "-S", tmp_path / "source", "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={package}")
    _run("cmake", "--build", tmp_path / "build")
    model, inputs = make("mlp")
    program = tmp_path / "mlp.pte"
    delegated = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=[XnnpackPartitioner()])
    for buffer in (to_program(model, inputs), delegated.to_executorch().buffer):
        program.write_bytes(buffer)
        printed = _run(tmp_path / "build/run_program", program).split()
        expected = model(torch.ones_like(inputs[0])).flatten()[: len(printed)]
        assert len(printed) == 10
        torch.testing.assert_close(torch.tensor([float(one) for one in printed]), expected, **LAYERS)


@pytest.mark.sampled(by="file")
@pytest.mark.usefixtures("compiler_cache")
def test_the_example_runner_runs_and_verifies_a_test_case(package: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/devtools", tmp_path / "source")
    _run("cmake", "-S", tmp_path / "source", "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={package}")
    _run("cmake", "--build", tmp_path / "build")
    script = (sys.executable, "-m", "examples.devtools.scripts.export_bundled_program", "-m", "add", "-d", tmp_path)
    assert "add_bundled.bpte" in _run(*script, cwd=ROOT)
    runner, bundle = tmp_path / "build/example_runner", f"--bundled_program_path={tmp_path / 'add_bundled.bpte'}"
    printed = _run(runner, bundle, "--output_verification", "--print_output", "--dump_outputs", cwd=tmp_path)
    assert "tensor(sizes=[1], [2.])" in printed and "Model verified successfully" in printed
    assert (tmp_path / "debug_output.bin").stat().st_size == 262144
    assert Inspector(etdump_path=str(tmp_path / "etdump.etdp")).event_blocks
    with pytest.raises(AssertionError, match="InvalidArgument"):
        _run(runner, bundle, "--testset_idx", "1", cwd=tmp_path)
    with pytest.raises(AssertionError, match="unknown option '--no_such_option'"):
        _run(runner, "--no_such_option")


ON_ATEN = """cmake_minimum_required(VERSION 3.24)
project(on_aten LANGUAGES CXX)
find_package(executorch CONFIG REQUIRED COMPONENTS aten)
file(WRITE ${CMAKE_BINARY_DIR}/main.cpp [[
#include <ATen/ATen.h>
#include <executorch/extension/module/module.h>
int main(int, char** argv) {
  executorch::extension::Module module(argv[1]);
  const auto outputs = module.forward(executorch::runtime::EValue(at::ones({ROWS})));
  if (!outputs.ok()) return 1;
  const at::Tensor& y = (*outputs)[0].toTensor();
  for (int64_t i = 0; i < y.numel(); ++i) printf("%a ", y.flatten()[i].item<float>());
}
]])
add_executable(on_aten ${CMAKE_BINARY_DIR}/main.cpp)
target_link_libraries(on_aten PRIVATE extension_aten)
"""


@pytest.mark.sampled(by="file")
@pytest.mark.usefixtures("compiler_cache")
def test_programs_on_at_tensor_build_against_a_package_that_has_its_libraries(python: Path, tmp_path: Path) -> None:
    package = next(python.parents[1].glob("lib/python*/site-packages/executorch"))
    model, inputs = make("mlp")
    rows = ", ".join(map(str, inputs[0].shape))
    (tmp_path / "CMakeLists.txt").write_text(ON_ATEN.replace("ROWS", rows))
    command = ("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={package}")
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode != 0 and "built without EXECUTORCH_BUILD_ATEN" in " ".join(done.stderr.split())
    runner = os.environ.get("EXECUTORCH_ATEN_RUNNER")
    if not runner:
        pytest.skip("EXECUTORCH_ATEN_RUNNER is not set: built without ATen mode")
    _run("cmake", "--install", Path(runner).parent, "--prefix", package, "--component", "aten_sdk")
    _run(*command, f"-DPython3_EXECUTABLE={sys.executable}", "-DCMAKE_CXX_FLAGS=-O0")
    _run("cmake", "--build", tmp_path / "build")
    edge = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=[XnnpackPartitioner()])
    for buffer in (to_program(model, inputs), edge.to_executorch().buffer):
        (tmp_path / "mlp.pte").write_bytes(buffer)
        printed = [float.fromhex(one) for one in _run(tmp_path / "build/on_aten", tmp_path / "mlp.pte").split()]
        expected = model(torch.ones_like(inputs[0])).flatten()
        torch.testing.assert_close(torch.tensor(printed), expected, **LAYERS)


@pytest.mark.sampled(by="file")
@pytest.mark.usefixtures("compiler_cache")
def test_a_custom_operator_goes_from_eager_to_the_device(python: Path) -> None:
    package = next(python.parents[1].glob("lib/python*/site-packages/executorch"))
    printed = _run(sys.executable, ROOT / "examples/custom_operator/run.py", package)
    assert "device [4.0, 4.0, 4.0, 4.0]" in printed


@pytest.mark.sampled(by="file")
@pytest.mark.usefixtures("compiler_cache")
def test_a_custom_backend_goes_from_its_partitioner_to_the_device(python: Path) -> None:
    package = next(python.parents[1].glob("lib/python*/site-packages/executorch"))
    printed = _run(sys.executable, ROOT / "examples/backend/run.py", package)
    assert "device [0.909" in printed


@pytest.mark.sampled(by="file")
@pytest.mark.usefixtures("compiler_cache")
def test_a_signed_and_an_encrypted_program_run_only_unchanged(python: Path) -> None:
    package = next(python.parents[1].glob("lib/python*/site-packages/executorch"))
    printed = _run(sys.executable, ROOT / "examples/signed_program/run.py", package)
    signed, encrypted = (line.split()[1:] for line in printed.splitlines()[:2])
    assert len(signed) == 2 and signed == encrypted
    assert "is not" in printed or "expected SHA-256" in printed
    assert "encrypted with another key" in printed


@pytest.mark.sampled(by="file")
@pytest.mark.usefixtures("compiler_cache")
def test_a_program_without_a_heap_has_exactly_the_memory_that_export_printed(python: Path, tmp_path: Path) -> None:
    package = next(python.parents[1].glob("lib/python*/site-packages/executorch"))
    run = runpy.run_path(str(ROOT / "examples/static_memory/run.py"))
    device = run["main"](package, tmp_path)
    model, inputs = run["digits"]()
    printed = _run(device, tmp_path / "digits.pte").split()
    torch.testing.assert_close(torch.tensor([float(one) for one in printed]), model(*inputs)[0], **LAYERS)
    too_small = {"method": "MemoryAllocationFailed", "fast": "planned buffer 0", "slow": "planned buffer 1"}
    for name, message in {**too_small, "program": "InvalidProgram"}.items():
        done = subprocess.run([device, tmp_path / "digits.pte", name], capture_output=True, text=True)
        assert done.returncode == 1 and message in done.stderr
    # Matrix products can run with less temporary memory.
    assert _run(device, tmp_path / "digits.pte", "temp").split() == printed


SELECT = "gen_selected_ops(LIB_NAME ops OPS_FROM_MODEL add.pte DTYPE_SELECTIVE_BUILD ON)\n"
BIND = "set(yaml ${EXECUTORCH_PACKAGE_ROOT}/kernels/portable/functions.yaml)\n" + (
    "generate_bindings_for_kernels(LIB_NAME ops FUNCTIONS_YAML ${yaml} DTYPE_SELECTIVE_BUILD ON)\n"
)
BOTH = (
    "gen_operators_lib(LIB_NAME ops KERNEL_LIBS portable_kernels DTYPE_SELECTIVE_BUILD ON)\n"
    "add_executable(app main.cpp)\ntarget_link_libraries(app PRIVATE executorch ops portable_ops_lib)\n"
)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("gen_selected_ops(ROOT_OPS aten::add.out)\n", "LIB_NAME is missing"),
        ("gen_selected_ops(LIB_NAME ops DTYPE_SELECTIVE_BUILD ON)\n", "DTYPE_SELECTIVE_BUILD of ops requires programs"),
        ("gen_selected_ops(LIB_NAME ops ROOT_OPPS x)\n", "unknown arguments of ops: ROOT_OPPS"),
        ("generate_bindings_for_kernels(LIB_NAME ops)\n", "requires FUNCTIONS_YAML or CUSTOM_OPS_YAML"),
        ("gen_operators_lib(LIB_NAME ops)\n", "call generate_bindings_for_kernels"),
        (SELECT + BIND + BOTH, "EXECUTORCH_KERNEL_DTYPES"),
    ],
)
def test_a_wrong_selective_build_does_not_configure(python: Path, tmp_path: Path, lines: str, message: str) -> None:
    package = next(python.parents[1].glob("lib/python*/site-packages/executorch"))
    head = "cmake_minimum_required(VERSION 3.24)\nproject(wrong LANGUAGES CXX)\nfind_package(executorch REQUIRED)\n"
    (tmp_path / "CMakeLists.txt").write_text(head + lines)
    (tmp_path / "main.cpp").write_text("int main() {}\n")
    command = ("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={package}")
    done = subprocess.run(
        [*map(str, command), f"-DPython3_EXECUTABLE={sys.executable}"], capture_output=True, text=True
    )
    assert done.returncode != 0 and message in " ".join(done.stderr.split())


def test_the_runner_of_the_wheel_is_a_command(python: Path, tmp_path: Path) -> None:
    assert "--model_path" in _run(python.parent / "executor_runner", "--help", cwd=tmp_path)
