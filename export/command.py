# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The command line: exports a model to a `.pte` file and prints a summary of the program."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executorch.export.progress import Steps
from executorch.export.recipe_choice import BACKENDS, PRECISIONS, QUANTIZATIONS, choose_recipe
from executorch.util.exit_code import exit_code

if TYPE_CHECKING:
    from executorch.exir import ExecutorchBackendConfig, ExecutorchProgramManager
    from executorch.export.recipe import ExportRecipe
    from executorch.export.user_model import UserModel

__all__ = ["main"]

_DESCRIPTION = "Exports a PyTorch model to an ExecuTorch program (.pte) and prints a summary of it."
_EXAMPLES = """\
MODEL is the name of an example model (a key of executorch.examples.models.MODEL_NAME_TO_MODEL), or MODULE:CALLABLE:
a dotted module or a .py file, a colon, and a function or class in it. Calling it returns one of
  model, args                                  an nn.Module and a tuple of example inputs
  model, args, kwargs                          with keyword inputs
  model, args, kwargs, dynamic_shapes          with torch.export's dynamic shapes
  {"model": ..., "args": ..., ...}             the same by name
  model                                        with --inputs MODULE:CALLABLE for the inputs
  an ExportedProgram
  an instance of EagerModelBase                as the example models are

--quantize and --backend choose a recipe:
  int8            weights and activations, static, calibrated with the example inputs
  int8-dynamic    weights; activations of linear layers are quantized at run time
  8da4w           weights of linear layers to 4 bits, activations to 8 bits at run time

examples:
  python -m executorch.export mv2 --backend xnnpack --quantize int8 -o mv2.pte
  python -m executorch.export mv2 --backend xnnpack --etrecord
  python -m executorch.devtools profile mv2.pte
  python -m executorch.export my_model.py:make
  python -m executorch.export package.models:resnet -o resnet.pte
  python -m executorch.export bert.py:model --inputs bert.py:inputs --dynamic input_ids:1=tokens:1..512
  python -m executorch.export my_model.py:make --partitioner my_backend.partitioner:MyPartitioner
  python -m executorch.export my_model.py:make --json > summary.json
  python -m executorch.export my_model.py:make --fast-memory 65536 --memory-header my_model_memory.h
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code: 0, 1 if the export failed, 2 for wrong arguments (argparse exits)."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.memory_plan and Path(options.memory_plan).suffix not in (".svg", ".html"):
        parser.error(f"--memory-plan {options.memory_plan}: expected a file that ends in .svg or .html")

    def message(error: Exception) -> str:
        if not options.verbose:
            return f"{_one_line(error)}\n(--verbose shows the stack trace)"
        traceback.print_exc()
        return _one_line(error)

    with contextlib.nullcontext() if options.verbose else _quiet():
        # Any exception: the user's model, partitioner and quantizer run here.
        return exit_code("export", lambda: print(_run(options)), (Exception,), message)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m executorch.export",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_model(parser)
    _add_lowering(parser)
    _add_results(parser)
    return parser


def _add_model(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the model, its inputs and the file to write."""
    parser.add_argument("model", metavar="MODEL", help="name of an example model, or MODULE:CALLABLE; see below")
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (default: the model's name with .pte)")
    parser.add_argument(
        "--inputs",
        metavar="MODULE:CALLABLE",
        help="callable that returns the example inputs: a tuple, or a dict by keyword",
    )
    parser.add_argument(
        "--dynamic",
        metavar="INPUT:DIM=NAME[:MIN..MAX]",
        action="append",
        default=[],
        help="make a dimension of an input dynamic; may be repeated",
    )
    parser.add_argument("--method", metavar="NAME", default="forward", help="name of the method (default: forward)")


def _add_lowering(parser: argparse.ArgumentParser) -> None:
    """Add the options of quantization, delegation and memory planning."""
    parser.add_argument("--backend", choices=BACKENDS, help="backend to delegate to (default: portable, no delegation)")
    parser.add_argument("--quantize", choices=QUANTIZATIONS, help="quantize for the backend; see below")
    parser.add_argument(
        "--compute-precision",
        choices=PRECISIONS,
        help="precision of the factors in float32 products (default: fp32)",
    )
    parser.add_argument(
        "--max-error",
        metavar="X",
        type=float,
        help="with --compute-precision bf16: keep products in float32 until the relative error of the outputs on the "
        "example inputs is at most X (0.01 is 40 dB)",
    )
    parser.add_argument("--recipe", metavar="NAME", help="a registered recipe, in place of --backend and --quantize")
    parser.add_argument(
        "--partitioner",
        metavar="MODULE:CLASS",
        action="append",
        default=[],
        help="delegates to a backend; may be repeated; partitioners run in this order, before that of --backend",
    )
    parser.add_argument("--strict", action="store_true", help="fail if a partitioner leaves operators to kernels")
    parser.add_argument("--strict-trace", action="store_true", help="trace with torch.export's strict mode")
    parser.add_argument(
        "--no-check-target", action="store_true", help="do not check that the installed runtime can run the program"
    )
    parser.add_argument(
        "--fast-memory",
        metavar="BYTES",
        type=int,
        action="append",
        default=[],
        help="size in bytes of a faster memory to plan first; may be repeated, fastest first",
    )


def _add_results(parser: argparse.ArgumentParser) -> None:
    """Add the options of further files and of the printed summary."""
    parser.add_argument(
        "--memory-plan", metavar="FILE", help="draw the planned memory (time x address) to a .svg or .html file"
    )
    parser.add_argument(
        "--memory-header", metavar="FILE", help="write how much memory each method needs to a header of C and C++"
    )
    parser.add_argument(
        "--etrecord",
        metavar="PATH",
        nargs="?",
        const="",
        help="write the ETRecord for the developer tools (default: beside the program, suffix .etrecord)",
    )
    parser.add_argument(
        "--delegation", metavar="FILE", help="draw delegates, fallbacks and their reasons to an .html file"
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--verbose", action="store_true", help="show warnings, logs, and the trace of an error")


def _run(options: argparse.Namespace) -> str:
    steps = Steps(count=6 if options.quantize or options.recipe else 5, quiet=options.quiet or options.verbose)
    with steps.step("import"):
        recipe = choose_recipe(
            options.backend, options.quantize, options.recipe, options.compute_precision, options.max_error
        )
        user, partitioners = _load(options)
    # torch prints whole graphs before it raises.
    torch_says = contextlib.nullcontext() if options.verbose else contextlib.redirect_stderr(io.StringIO())
    if recipe.quantization_recipe is not None:
        from executorch.export.user_quantization import quantize_user_model

        with steps.step("quantize"), torch_says:
            user = quantize_user_model(user, recipe.quantization_recipe, options.model)
    with steps.step("export"), torch_says:
        program = _export(user, options.strict_trace)
    with steps.step("lower"):
        from executorch.exir import to_edge_transform_and_lower
        from executorch.export.recipe import LoweringRecipe

        lowering = recipe.lowering_recipe or LoweringRecipe()
        config = lowering.compile_config()
        edge = to_edge_transform_and_lower(
            {options.method: program},
            partitioner=[*partitioners, *(lowering.partitioners or ())] or None,
            compile_config=replace(config, strict=config.strict or options.strict),
            generate_etrecord=options.etrecord is not None,
        )
    with steps.step("plan and emit"):
        manager = edge.to_executorch(_backend_config(options, recipe))
    with steps.step("write"):
        path = _output_path(options)
        _write(manager, path)
        if options.etrecord is not None:
            from executorch.export.record_file import record_path

            manager.get_etrecord().save(options.etrecord or record_path(path))
        if options.memory_plan:
            from executorch.devtools.view.memory import write_memory_plan

            write_memory_plan(manager.memory_plans, options.memory_plan)
        if options.memory_header:
            from executorch.export.memory_header import memory_header

            Path(options.memory_header).write_text(memory_header(manager, path.stem))
        if options.delegation:
            from executorch.devtools.view.delegation import write_delegation

            write_delegation({name: manager.exported_program(name) for name in manager.methods}, options.delegation)

    from executorch.export.program_summary import summarize
    from executorch.export.summary_table import render

    summary = summarize(manager, str(path), steps.seconds)
    return json.dumps(summary.as_dict(), indent=2) if options.json else render(summary)


def _load(options: argparse.Namespace) -> tuple[UserModel, list[Any]]:
    import torch

    from executorch.export.dynamic_dimensions import apply_dynamic_dimensions
    from executorch.export.user_model import UserError, load_name, load_user_model

    user = load_user_model(options.model, options.inputs)
    if isinstance(user.model, torch.nn.Module):
        user.model.eval()
    apply_dynamic_dimensions(user, options.dynamic)
    from executorch.exir.backend.partitioner import Partitioner

    partitioners = []
    for name in options.partitioner:
        partitioner = load_name(name)()
        if not isinstance(partitioner, Partitioner):
            raise UserError(
                f"--partitioner {name}: expected a Partitioner class, its call gave a {type(partitioner).__name__}"
            )
        partitioners.append(partitioner)
    return user, partitioners


def _export(user: UserModel, strict: bool) -> Any:
    import torch

    if isinstance(user.model, torch.export.ExportedProgram):
        return user.model
    with torch.no_grad():
        return torch.export.export(
            user.model, user.args, user.kwargs, dynamic_shapes=user.dynamic_shapes, strict=strict
        )


def _backend_config(options: argparse.Namespace, recipe: ExportRecipe) -> ExecutorchBackendConfig:
    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.memory.algorithms.hierarchy import MemoryHierarchy
    from executorch.exir.passes import MemoryPlanningPass

    config = replace(
        recipe.executorch_backend_config or ExecutorchBackendConfig(), check_target=not options.no_check_target
    )
    if not options.fast_memory:
        return config
    return replace(config, memory_planning_pass=MemoryPlanningPass(MemoryHierarchy(options.fast_memory)))


def _output_path(options: argparse.Namespace) -> Path:
    name = options.output or options.model.rpartition(":")[2].rpartition(".")[2]
    return Path(name if name.endswith(".pte") else f"{name}.pte")


def _write(manager: ExecutorchProgramManager, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        manager.write_to_file(file)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence torch's warnings and logs; problems that concern the user are raised as errors."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def _one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines[:3]) if lines else "no message"
    return text if type(error).__name__ == "UserError" else f"{type(error).__name__}: {text}"
