# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Presets choose options; an option on the command line wins over the preset."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from build_system.configuring import ROOT, cached, configure, run

pytestmark = pytest.mark.sampled(by="file")

PARTS = ("EXTENSION_LLM", "EXTENSION_LLM_RUNNER", "KERNELS_LLM")
LANGUAGE_MODELS = {f"EXECUTORCH_BUILD_{part}": "ON" for part in PARTS}
WITHOUT_XNNPACK = "-DEXECUTORCH_BUILD_XNNPACK=OFF"


def test_all_documented_presets_exist() -> None:
    listed = run("cmake", "--list-presets").stdout
    hosted = ("linux", "llm", "llm-release", "llm-debug", "pybind", "profiling", "executor-runner-xnnpack")
    for name in (*hosted, "llm-release-logging", "arm-baremetal", "zephyr", "riscv64-linux"):
        assert f'"{name}"' in listed
    listed = run("cmake", "--list-presets=build").stdout
    for name in ("llm-release", "llm-release-logging", "llm-debug"):
        assert f'"{name}-install"' in listed
    listed = run("cmake", "--list-presets=workflow", cwd=ROOT / "examples/models/llama").stdout
    assert '"llama-release"' in listed
    assert '"llama-debug"' in listed
    for name in ("default", "linux", "llm", "pybind", "profiling", "arm_baremetal", "zephyr", "riscv64_linux"):
        assert (ROOT / f"tools/cmake/preset/{name}.cmake").exists()


@pytest.mark.parametrize(
    ("preset", "expected", "left_out"),
    [
        ("llm-debug", {**LANGUAGE_MODELS, "EXECUTORCH_BUILD_EXECUTOR_RUNNER": "OFF"}, None),
        ("linux", {"EXECUTORCH_BUILD_PYBIND": "ON", **LANGUAGE_MODELS}, "the training extension"),
        ("profiling", {"EXECUTORCH_BUILD_DEVTOOLS": "ON", "EXECUTORCH_BUILD_KERNELS_LLM": "ON"}, None),
    ],
)
def test_a_preset_chooses_options_and_reports_what_it_leaves_out(
    tmp_path: Path, preset: str, expected: dict[str, str], left_out: str | None
) -> None:
    done = run("cmake", "--preset", preset, "-B", tmp_path, f"-DPython3_EXECUTABLE={sys.executable}", WITHOUT_XNNPACK)
    assert done.returncode == 0, done.stdout
    reported = re.findall(r"ignored, because this project lacks it: (\w+ \w+ \w+)", done.stdout)
    assert reported == ([] if left_out is None else [left_out])
    found = cached(tmp_path)
    assert {name: found[name] for name in expected} == expected
    assert found["EXECUTORCH_BUILD_XNNPACK"] == "OFF"


def test_another_preset_in_the_same_folder_chooses_all_options_again(tmp_path: Path) -> None:
    def options_after(preset: str, *options: str) -> dict[str, str]:
        file = f"-DEXECUTORCH_BUILD_PRESET_FILE=tools/cmake/preset/{preset}.cmake"
        done = configure(tmp_path, file, WITHOUT_XNNPACK, *options)
        assert done.returncode == 0, done.stdout
        return cached(tmp_path)

    runner, logging = "EXECUTORCH_BUILD_EXECUTOR_RUNNER", "EXECUTORCH_ENABLE_LOGGING"
    assert options_after("llm", f"-D{logging}=OFF")[runner] == "OFF"
    assert options_after("llm")[logging] == "OFF"
    profiling = options_after("profiling")
    assert (profiling[runner], profiling[logging], profiling["EXECUTORCH_BUILD_XNNPACK"]) == ("ON", "ON", "OFF")
    assert options_after("llm", f"-D{runner}=ON")[runner] == "ON"


def test_a_build_folder_that_is_the_install_prefix_too_has_one_package_file(tmp_path: Path) -> None:
    assert configure(tmp_path).returncode == 0
    assert list(tmp_path.glob("*-config*.cmake")) == []


RISCV = "-DEXECUTORCH_BUILD_PRESET_FILE=tools/cmake/preset/riscv64_linux.cmake"
EVENTS, TRACER = "EXECUTORCH_BUILD_RISCV_ETDUMP", "EXECUTORCH_ENABLE_EVENT_TRACER"


@pytest.mark.parametrize(("events", "tracer"), [("OFF", "OFF"), ("ON", "ON")])
def test_the_preset_for_riscv_records_events_on_demand(tmp_path: Path, events: str, tracer: str) -> None:
    done = configure(tmp_path, RISCV, WITHOUT_XNNPACK, f"-D{EVENTS}={events}")
    assert done.returncode == 0, done.stdout
    cache = cached(tmp_path)
    assert (cache["EXECUTORCH_BUILD_EXECUTOR_RUNNER"], cache[TRACER]) == ("ON", tracer)


def test_configuring_again_replaces_what_the_preset_chose_and_keeps_what_the_user_chose(tmp_path: Path) -> None:
    def tracer_after(*options: str) -> str:
        done = configure(tmp_path, RISCV, WITHOUT_XNNPACK, *options)
        assert done.returncode == 0, done.stdout
        return cached(tmp_path)[TRACER]

    assert tracer_after() == "OFF"
    assert tracer_after(f"-D{EVENTS}=ON") == "ON"
    assert tracer_after() == "ON"
    assert tracer_after(f"-D{EVENTS}=OFF") == "OFF"
    assert tracer_after(f"-D{TRACER}=OFF") == "OFF"
    assert tracer_after(f"-D{EVENTS}=ON") == "OFF"


@pytest.mark.parametrize("name", ["zephyr", "arm_baremetal"])
def test_preset_files_of_devices_leave_the_runner_out(tmp_path: Path, name: str) -> None:
    done = configure(tmp_path, f"-DEXECUTORCH_BUILD_PRESET_FILE=tools/cmake/preset/{name}.cmake")
    assert done.returncode == 0, done.stdout
    cache = cached(tmp_path)
    assert (cache["EXECUTORCH_BUILD_EXECUTOR_RUNNER"], cache["EXECUTORCH_ENABLE_EVENT_TRACER"]) == ("OFF", "OFF")


def test_users_write_presets_with_the_documented_functions(tmp_path: Path) -> None:
    preset = tmp_path / "mine.cmake"
    preset.write_text(
        'define_overridable_option(MY_OPTION "Mine" BOOL ON)\n'
        "set_overridable_option(EXECUTORCH_LOG_LEVEL Fatal)\n"
        "set_overridable_option(EXECUTORCH_BUILD_EXECUTOR_RUNNER OFF)\n"
        "check_required_options_on(IF_ON MY_OPTION REQUIRES EXECUTORCH_ENABLE_LOGGING)\n"
    )
    options = (f"-DEXECUTORCH_BUILD_PRESET_FILE={preset}", "-DEXECUTORCH_BUILD_EXECUTOR_RUNNER=ON")
    done = configure(tmp_path / "refused", *options)
    assert done.returncode != 0
    assert "MY_OPTION=ON: expected EXECUTORCH_ENABLE_LOGGING=ON" in done.stdout
    done = configure(tmp_path / "build", *options, "-DEXECUTORCH_ENABLE_LOGGING=ON")
    assert done.returncode == 0, done.stdout
    found = cached(tmp_path / "build")
    assert (found["EXECUTORCH_LOG_LEVEL"], found["EXECUTORCH_BUILD_EXECUTOR_RUNNER"]) == ("Fatal", "ON")


@pytest.mark.skipif(shutil.which("arm-none-eabi-g++") is None, reason="the package gcc-arm-none-eabi is not installed")
def test_the_kernels_compile_for_boards() -> None:
    build = ROOT / "build" / "arm-baremetal"  # kept, so that later runs compile only changed sources
    done = run("cmake", "--preset", "arm-baremetal", "--fresh", "-B", build, f"-DPython3_EXECUTABLE={sys.executable}")
    assert done.returncode == 0, done.stdout
    done = run("cmake", "--build", build, "--parallel", "2", "--target", "portable_kernels", "quantized_kernels")
    assert done.returncode == 0, done.stdout[-2000:]
    assert (build / "kernels" / "libportable_kernels.a").exists()
