# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""executor_runner runs files, prints and writes outputs, and reports faults in one line."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import peer_programs
import pytest
from oracle.tolerances import FEW_ROUNDINGS

from executorch.extension.executor_runner import command

ADD = str(peer_programs.path("add"))
MLP = str(peer_programs.path("mlp_dynamic"))
WIDTH = peer_programs.inputs("mlp_dynamic", "forward")[0].shape[1]
BOTH = str(peer_programs.path("multi_method"))


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command.BINARY, *arguments], capture_output=True, text=True, check=False)


def output_of(*arguments: str | Path) -> str:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_runs_on_ones_and_prints_the_outputs() -> None:
    assert "output 0: tensor(sizes=[2, 3], [2., 2., 2., 2., 2., 2.])\n" in output_of("--model_path", ADD)


def test_it_runs_on_files_and_writes_files(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32)
    for name, value in (("a", x), ("b", x * 10)):
        (tmp_path / name).write_bytes(value.tobytes())
    files = f"{tmp_path / 'a'},{tmp_path / 'b'}"
    output_of("--model_path", ADD, "--inputs", files, "--output_file", tmp_path / "out", "--print_output=none")
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out-0.bin", np.float32), x * 11)


def test_it_agrees_with_eager_torch(tmp_path: Path) -> None:
    (x,) = peer_programs.inputs("multi_method", "encode")
    (tmp_path / "x").write_bytes(x.tobytes())
    arguments = ("--method", "encode", "--inputs", tmp_path / "x", "--output_file", tmp_path / "out")
    output_of("--model_path", BOTH, "--num_executions", "3", *arguments)
    result = np.fromfile(tmp_path / "out-0.bin", np.float32).reshape(2, 6)
    np.testing.assert_allclose(result, peer_programs.outputs("multi_method", "encode")[0], **FEW_ROUNDINGS)


def test_it_runs_the_given_number_of_times() -> None:
    assert "Model executed successfully: ran 'forward' 5 times" in output_of("--model_path", ADD, "--num_executions=5")


@pytest.mark.parametrize("threads", [("--threads", "1"), ("--cpu_threads=1",), ("--cpu_threads", "-1")])
def test_it_runs_on_the_given_number_of_threads(threads: tuple[str, ...]) -> None:
    assert "[2., 2., 2., 2., 2., 2.]" in output_of("--model_path", ADD, *threads)


def test_it_refuses_a_number_of_threads_below_one() -> None:
    done = run("--model_path", ADD, "--threads", "0")
    assert done.returncode != 0
    assert "expected a number from 1 on, found '0'" in done.stderr


def test_it_runs_a_method_whose_outputs_have_no_planned_memory() -> None:
    assert "[2., 2., 2., 2., 2., 2.]" in output_of("--model_path", str(peer_programs.path("add_unplanned")))


def test_it_prints_the_first_and_last_values_unless_all_are_wanted() -> None:
    def values(*arguments: str) -> list[str]:
        text = output_of("--model_path", BOTH, "--method", "encode", *arguments)
        items = text.split("output 0: tensor(sizes=[2, 6], [")[1].removesuffix("])\n").split(",")
        return [item.strip() for item in items if item.strip()]

    full = values("--print_output", "all")
    assert len(full) == 12
    assert values() == [*full[:5], "...", *full[-5:]]


def test_it_prints_shapes_alone_or_nothing() -> None:
    assert "output 0: Float [2, 3]\n" in output_of("--model_path", ADD, "--print_output", "shape")
    assert "output" not in output_of("--model_path", ADD, "--print_output", "none")


def test_it_prints_every_dtype() -> None:
    lines = output_of("--model_path", str(peer_programs.path("dtypes")))
    for one, count in (("1.", 4), ("1", 5), ("True", 1)):
        assert lines.count(f": tensor(sizes=[8], [{', '.join([one] * 8)}])\n") == count


def test_it_lists_the_contents_of_the_file() -> None:
    listing = output_of("--model_path", BOTH, "--list")
    for text in (
        "program: 2 methods, ",
        "bytes of constants",
        "method encode:",
        "method decode:",
        "0: Float [2, 6], 48 bytes",
        "aten::addmm.out\n",
        "together: ",
    ):
        assert text in listing


def test_help_lists_the_options() -> None:
    text = output_of("--help")
    for option in ("model_path", "method", "inputs", "num_executions", "print_output", "list"):
        assert f"--{option}" in text


def test_it_starts_from_python() -> None:
    starter = [sys.executable, "-m", "executorch.extension.executor_runner.command", "--model_path", ADD]
    done = subprocess.run(starter, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "output 0" in done.stdout


def test_the_runner_of_language_models_starts_from_python() -> None:
    code = "from executorch.extension.executor_runner.command import llama_main; llama_main()"
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("llama_main --model_path")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--method_name", "encode", "--print_output", "summary"),
        ("-method_name=encode", "-print_output=summary", "--server_mode=false"),
        ("--method_name=encode", "--print_output=all", "--noserver_mode", "--nolist"),
    ],
)
def test_documented_flags_are_accepted_in_every_form(arguments: tuple[str, ...]) -> None:
    values = output_of(f"--model_path={BOTH}", *arguments).split("output 0: tensor(sizes=[2, 6], [")[1]
    assert values.count(".") == 12


def test_the_program_is_model_pte_unless_another_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.pte").symlink_to(ADD)
    done = subprocess.run([command.BINARY], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "output 0: tensor(sizes=[2, 3]" in done.stdout) == (0, True)


def test_a_server_runs_once_for_each_line_with_the_files_as_they_are_then(tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    arguments = ["--inputs", ",".join(map(str, files)), "--output_file", tmp_path / "out", "--server_mode"]
    server = subprocess.Popen(
        [command.BINARY, "--model_path", ADD, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdin is not None and server.stderr is not None
    for scale in (1, 5):
        x = np.arange(6, dtype=np.float32) * scale
        for file in files:
            file.write_bytes(x.tobytes())
        server.stdin.write("\n")
        server.stdin.flush()
        assert server.stderr.readline() == "SERVER MODE DONE\n"
        np.testing.assert_array_equal(np.fromfile(tmp_path / "out-0.bin", np.float32), x * 2)
    server.communicate()
    assert server.returncode == 0


@pytest.mark.parametrize(
    "lines", ["no end of line", "a\0b\n", "long" * 500_000 + "\n"], ids=["unfinished", "zero", "long"]
)
def test_a_server_runs_once_for_any_line(lines: str, tmp_path: Path) -> None:
    arguments = ["--model_path", ADD, "--output_file", tmp_path / "out", "--server_mode"]
    done = subprocess.run([command.BINARY, *arguments], input=lines, capture_output=True, text=True, check=True)
    assert done.stderr == "SERVER MODE DONE\n"


def test_a_server_ends_with_the_fault_of_a_run(tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    for file, size in zip(files, (6, 5), strict=True):
        file.write_bytes(np.ones(size, dtype=np.float32).tobytes())
    arguments = ["--inputs", ",".join(map(str, files)), "--output_file", tmp_path / "out", "--server_mode"]
    done = subprocess.run(
        [command.BINARY, "--model_path", ADD, *arguments], input="\n\n", capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "input 1: expected 24 bytes, found 20" in done.stderr and "DONE" not in done.stderr


def test_output_that_cannot_be_written_is_a_fault() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [command.BINARY, "--model_path", ADD], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "executor_runner: cannot write to standard output: No space left on device\n"


def test_inputs_take_the_given_sizes() -> None:
    largest = output_of("--model_path", MLP, "--print_output=shape")
    assert "output 0: Float [2, " in output_of("--model_path", MLP, "--print_output=shape", f"--input_shapes=2x{WIDTH}")
    assert "output 0: Float [2, " not in largest


def test_an_empty_value_is_the_default() -> None:
    names = ("data_path", "inputs", "input_shapes", "output_file", "method_name", "etdump_path")
    given = output_of("--model_path", ADD, *(f"--{name}=" for name in names))
    assert "output 0: tensor(sizes=[2, 3]" in given


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model_path", ADD, "--server_mode"), "--server_mode needs --output_file"),
        (("--model_path", ADD, "--server_mode=maybe"), "--server_mode: expected true or false, found 'maybe'"),
        (("--model_path", ADD, "--input_shapes=2x3"), "has 2 inputs, found the sizes of 1"),
        (("--model_path", ADD, "--input_shapes=2xx3,"), "expected sizes such as 1x98, found '2xx3'"),
        (("--model_path", ADD, "--input_shapes=200x3,"), "--input_shapes: input 0"),
        ((), "--model_path is required"),
        (("--frobnicate",), "unknown option --frobnicate"),
        (("--model_path",), "--model_path needs a value"),
        (("--model_path", ADD, "stray"), "unexpected argument 'stray'"),
        (("--model_path", ADD, "--num_executions", "0"), "--num_executions: expected a number from 1 on, found '0'"),
        (("--model_path", ADD, "--num_executions", "many"), "found 'many'"),
        (
            ("--model_path", ADD, "--print_output", "some"),
            "--print_output: expected short, summary, all, shape or none, found 'some'",
        ),
        (("--model_path", "/no/such/file.pte"), "cannot read '/no/such/file.pte'"),
        (("--model_path", "/dev/null"), "/dev/null"),
        (("--model_path", __file__), "cannot load"),
        (("--model_path", ADD, "--method", "backward"), "'backward'"),
        (("--model_path", BOTH), "choose one with --method"),
        (("--model_path", ADD, "--inputs", ADD), "takes 2 tensors, 1 were given"),
        (("--model_path", ADD, "--inputs", f"{ADD},{ADD}"), "input 0: expected 24 bytes, found"),
        (("--model_path", MLP, "--inputs", "/no/such/input"), "cannot read input '/no/such/input'"),
        (("--model_path", ADD, "--list=perhaps"), "--list: expected true or false, found 'perhaps'"),
        (("--model_path", ADD, "--input_shapes", "2x"), "--input_shapes: expected sizes such as 1x98, found '2x'"),
        (("--model_path", ADD, "--input_shapes", "2x3"), "has 2 inputs, found the sizes of 1"),
        (("--model_path", ADD, "--output_file", "/no/such/folder/out"), "cannot write '/no/such/folder/out-0.bin'"),
    ],
)
def test_a_fault_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.startswith("executor_runner: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("\n")


def test_inputs_that_are_not_files_or_too_large_are_refused_before_memory_is_taken(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 42)
    for name, message in (
        (tmp_path / "fifo", "not a regular file"),
        (Path("/dev/zero"), "not a regular file"),
        (tmp_path, "not a regular file"),
        (tmp_path / "sparse", "expected at most 1073741824 bytes, found 4398046511104"),
    ):
        done = run("--model_path", ADD, "--inputs", f"{name},{name}")
        assert done.returncode == 1
        assert message in done.stderr


@pytest.mark.parametrize("start", [ADD, str(peer_programs.path("add")).replace(".pte", ".bpte")])
def test_programs_and_bundles_in_sparse_files_are_refused_before_memory_is_taken(start: str, tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        head = bytearray(Path(start).read_bytes()[:8])
        file.write(head)
        file.truncate(1 << 42)
    done = run("--model_path", tmp_path / "sparse")
    assert done.returncode == 1
    assert "4398046511104 bytes, expected at most 2147483647" in done.stderr


def test_a_method_that_wants_more_memory_than_allowed_is_not_run() -> None:
    done = run("--model_path", MLP, "--max_planned_bytes", "100")
    assert done.returncode == 1
    assert "for planned buffers and outputs; the limit max_planned_bytes is 100" in done.stderr
    for limit in ("none", "0", "1000000"):
        assert output_of("--model_path", MLP, "--max_planned_bytes", limit)


def test_limits_that_are_not_numbers_are_refused() -> None:
    for option in ("--max_planned_bytes", "--instruction_budget"):
        done = run("--model_path", MLP, option, "much")
        assert (done.returncode, f"{option}: expected a number from 1 on" in done.stderr) == (1, True)
