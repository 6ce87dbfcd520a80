# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every public header stands alone: a source that includes nothing else compiles without a warning."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from compilers import COMPILER

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ("-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror")
OWN = ("-DEXECUTORCH_OWN_SOURCES",)  # without the headers that only users' sources rely on

# Documented headers, for users' programs, kernels and backends.
FOLDERS = {
    "runtime/executor": "program method method_meta memory_manager",
    "runtime/core": (
        "error result span array_ref evalue data_loader "
        "freeable_buffer memory_allocator hierarchical_allocator event_tracer named_data_map "
        "event_tracer_hooks_delegate device_allocator device_memory_buffer"
    ),
    "runtime/core/exec_aten": "exec_aten",
    "runtime/core/exec_aten/util": "scalar_type_util dim_order_util tensor_util",
    "runtime/core/portable_type": "tensor tensor_impl scalar scalar_type half bfloat16",
    "runtime/kernel": (
        "kernel_includes kernel_runtime_context operator_registry boxing dtype_check thread_parallel_interface"
    ),
    "runtime/backend": "interface",
    "runtime/platform": "platform runtime log assert profiler compiler compat_unistd",
    "extension/data_loader": (
        "file_data_loader mmap_data_loader buffer_data_loader shared_ptr_data_loader file_descriptor_data_loader"
    ),
    "extension/image": "image_processor image_processor_config",
    "extension/module": "module bundled_module",
    "extension/parallel": "thread_parallel",
    "extension/pytree": "pytree container spec_text",
    "extension/threadpool": "threadpool threadpool_guard cpuinfo_utils",
    "extension/tensor": "tensor tensor_ptr tensor_ptr_maker",
    "extension/runner_util": "inputs",
    "extension/kernel_util": "make_boxed_from_unboxed_functor",
    "extension/memory_allocator": "malloc_memory_allocator",
    "devtools/etdump": "etdump_flatcc etdump_filter",
    "devtools/bundled_program": "bundled_program",
    "runtime/core/exec_aten/compatibility": "dtype_traits forall_types switch_types tensor_macros tensor_predicates",
    # For googletest.
    "runtime/core/exec_aten/testing_util": "tensor_factory tensor_util",
    "runtime/core/testing_util": "error_matchers",
    "runtime/executor/test": "managed_memory_manager",
    "runtime/kernel/test": "test_util",
    "extension/testing_util": "temp_file",
    "kernels/test": "TestUtil",
    "test/utils": "DeathTest",
}
DOCUMENTED = [f"{folder}/{name}.h" for folder, names in FOLDERS.items() for name in names.split()]


def test_every_documented_header_is_there() -> None:
    assert not [header for header in DOCUMENTED if not (ROOT / header).is_file()]


def _check_compiles(folder: Path, headers: Sequence[str], code: str = "", flags: Sequence[str] = ()) -> None:
    """Compile a source that includes nothing but these headers."""
    source = folder / "source.cpp"
    source.write_text("".join(f"#include <executorch/{header}>\n" for header in headers) + code)
    (folder / "executorch").symlink_to(ROOT)
    done = subprocess.run([str(COMPILER), *FLAGS, *flags, f"-I{folder}", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.sampled
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("header", DOCUMENTED)
def test_a_documented_header_compiles_alone(header: str, tmp_path: Path) -> None:
    _check_compiles(tmp_path, [header, header], flags=OWN)  # twice: a header guards itself


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("headers", [DOCUMENTED, DOCUMENTED[::-1]], ids=["in order", "reversed"])
def test_no_macro_of_a_documented_header_disturbs_another(headers: list[str], tmp_path: Path) -> None:
    _check_compiles(tmp_path, headers)


# Names that sources for ExecuTorch 1.4 take from a header that they do not include themselves.
STANDARD_NAMES = """
int copy(void* to, const void* from, const char* text) {
  std::memcpy(to, from, 1);
  assert(to != nullptr);
  std::string line = text;
  std::vector<int> sizes(1);
  printf("%" PRId64 " %s", int64_t{1}, line.c_str());
  return static_cast<int>(std::sqrt(std::max(1.0, double(sizes[0]))));
}
"""
SWITCH = """
float first(const executorch::aten::Tensor& tensor) {
  struct { void fail(executorch::runtime::Error) {} } context;
  float value = 0;
  ET_SWITCH_REALHBF16_TYPES(tensor.scalar_type(), context, "first", CTYPE, [&]() {
    value = static_cast<float>(tensor.const_data_ptr<CTYPE>()[0]);
  });
  return value;
}
"""


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("runtime/kernel/kernel_includes.h", STANDARD_NAMES),
        (
            "runtime/core/memory_allocator.h",
            STANDARD_NAMES + "executorch::runtime::Error fine() { ET_CHECK(true); return {}; }",
        ),
        ("extension/tensor/tensor.h", STANDARD_NAMES + SWITCH),
        ("runtime/backend/interface.h", SWITCH + 'void mark() { EXECUTORCH_SCOPE_PROF("init"); }'),
        ("runtime/executor/method.h", SWITCH + "executorch::runtime::LoadBackendOptionsMap options;"),
        ("runtime/core/evalue.h", STANDARD_NAMES + "torch::executor::string_view name;"),
    ],
    ids=["kernel", "allocator", "tensor", "backend", "method", "value"],
)
def test_a_header_brings_what_the_same_header_of_executorch_1_4_brings(header: str, code: str, tmp_path: Path) -> None:
    _check_compiles(tmp_path, [header], code)


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_a_tensor_pointer_in_aten_mode_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "executorch").symlink_to(ROOT)
    command = [str(COMPILER), *FLAGS, "-DUSE_ATEN_LIB", f"-I{tmp_path}", "-x", "c++", "-"]
    source = "#include <executorch/extension/tensor/tensor_ptr.h>\n"
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    assert done.returncode != 0
    assert "TensorPtr exists only in lean mode" in done.stderr
