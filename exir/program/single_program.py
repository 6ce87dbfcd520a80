# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented classes of a program with one method, over the managers; nothing inside the project imports
it except `executorch.exir` and `executorch.exir.program._program`, which only pass the names on."""

from __future__ import annotations

from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule

from executorch.exir.capture import EdgeCompileConfig, ExecutorchBackendConfig
from executorch.exir.passes.edge.memory_format_ops_pass import MemoryFormatOpsPass
from executorch.exir.passes.edge.remove_graph_asserts_pass import RemoveGraphAssertsPass
from executorch.exir.passes.memory.spec_prop_pass import SpecPropPass
from executorch.exir.passes.views.normalize_views_pass import NormalizeViewsPass
from executorch.exir.passes.views.replace_view_copy_with_view_pass import ReplaceViewCopyWithViewPass
from executorch.exir.program.edge import to_edge
from executorch.exir.program.executorch_manager import ExecutorchProgramManager
from executorch.exir.program.executorch_steps import delegates_named_data, to_executorch_programs
from executorch.exir.program.pipeline import for_method
from executorch.exir.program.transform import run_passes
from executorch.exir.rewrite.program_copy import copy_program
from executorch.exir.schema import Program


class ExirExportedProgram:
    """A program, in the edge dialect or before it; a wrapper of `to_edge` and the managers."""

    def __init__(
        self,
        exported_program: ExportedProgram,
        after_to_edge_passes: bool,
        compile_config: EdgeCompileConfig | None = None,
    ) -> None:
        self.exported_program = exported_program
        self.after_to_edge_passes = after_to_edge_passes
        self.compile_config = compile_config or EdgeCompileConfig()

    def transform(self, *passes: object) -> ExirExportedProgram:
        """Run passes on the program, which is replaced; return this object."""
        self.exported_program = run_passes(copy_program(self.exported_program), list(passes))
        return self

    def __call__(self, *args: object) -> Any:
        return self.exported_program.module()(*args)

    def to_edge(self, config: EdgeCompileConfig | None = None) -> ExirExportedProgram:
        """Return the program in the edge dialect."""
        config = config or self.compile_config
        edge = to_edge(self.exported_program, compile_config=config)
        return ExirExportedProgram(edge.exported_program(), True, config)

    def dump(self) -> None:
        """Print the graph."""
        print(self.exported_program.graph_module.graph)

    def to_executorch(self, config: ExecutorchBackendConfig | None = None) -> ExecutorchProgram:
        """Return the finished program. Raises RuntimeError before `to_edge`."""
        _check_edge(self, "to_executorch")
        config = config or ExecutorchBackendConfig()
        planned, _ = to_executorch_programs({"forward": self.exported_program}, config, self.compile_config.strict)
        return ExecutorchProgram(
            ExirExportedProgram(planned["forward"], True, self.compile_config),
            config.emit_stacktrace,
            config.extract_delegate_segments,
            config.segment_alignment,
            config.constant_tensor_alignment,
            config.delegate_alignment,
        )

    def __deepcopy__(self, memo: dict[int, object] | None = None) -> ExirExportedProgram:
        return ExirExportedProgram(copy_program(self.exported_program), self.after_to_edge_passes, self.compile_config)


class ExecutorchProgram(ExecutorchProgramManager):
    """A finished program with the one method `forward`.

    exir_exported_program: out variants with planned memory. The others: fields of `ExecutorchBackendConfig`.
    Raises RuntimeError for a program that is not in the edge dialect.
    """

    def __init__(
        self,
        exir_exported_program: ExirExportedProgram,
        emit_stacktrace: bool,
        extract_delegate_segments: bool,
        segment_alignment: int,
        constant_tensor_alignment: int | None = None,
        delegate_alignment: int | None = None,
    ) -> None:
        _check_edge(exir_exported_program, "ExecutorchProgram")
        program = exir_exported_program.exported_program
        config = ExecutorchBackendConfig(
            emit_stacktrace=emit_stacktrace,
            extract_delegate_segments=extract_delegate_segments,
            segment_alignment=segment_alignment,
            constant_tensor_alignment=constant_tensor_alignment,
            delegate_alignment=delegate_alignment,
        )
        super().__init__({"forward": program}, None, config, delegates_named_data([program]))

    @property
    def program(self) -> Program:
        """The program's values."""
        return self.executorch_program

    @property
    def graph_module(self) -> GraphModule:
        """The planned graph."""
        return self.dump_graph_module()

    def dump_graph_module(self) -> GraphModule:
        """Return the planned graph."""
        graph_module: GraphModule = self.exported_program().graph_module
        return graph_module

    def dump_exported_program(self) -> ExportedProgram:
        """Return the planned program."""
        return self.exported_program()


def edge_to_executorch_passes(
    config: ExecutorchBackendConfig, name: str | None = None, edge_compile_config: EdgeCompileConfig | None = None
) -> list[object]:
    """Return the passes that make out variants of an edge graph, in their order.

    They see only the graph. `to_executorch` also does what needs the program: it folds constants, writes state back
    and removes weights that delegates hold (program/pipeline.py).

    Args:
        config: Configuration of the passes; `config.passes` come first.
        name: The method; None for `forward`.
        edge_compile_config: The one that `to_edge` took. Its `_skip_dim_order` keeps memory formats.
    """
    skip_dim_order = (edge_compile_config or EdgeCompileConfig())._skip_dim_order
    return [
        *config.passes,
        *([] if skip_dim_order else [MemoryFormatOpsPass()]),
        RemoveGraphAssertsPass(),
        NormalizeViewsPass(),
        SpecPropPass(),
        for_method(config.sym_shape_eval_pass, name or "forward"),
        *([ReplaceViewCopyWithViewPass()] if config.remove_view_copy else []),
        config.to_out_var_pass,
    ]


def _check_edge(program: ExirExportedProgram, where: str) -> None:
    if not program.after_to_edge_passes:
        raise RuntimeError(f"{where}: expected a program in the edge dialect; call to_edge first")
