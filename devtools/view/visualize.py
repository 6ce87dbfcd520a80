# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Show programs as a page with their graph in the browser."""

from __future__ import annotations

import tempfile
import webbrowser
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from torch.export import ExportedProgram
from torch.fx import GraphModule

from executorch.devtools.view.delegation import write_delegation
from executorch.exir import EdgeProgramManager, ExecutorchProgramManager
from executorch.exir.program.program_graph import with_graph
from executorch.exir.verification.verifier import WellFormed

Visualizable = ExportedProgram | EdgeProgramManager | ExecutorchProgramManager


class ModelExplorerServer(AbstractContextManager[None]):
    """ExecuTorch's documented context for several programs: `with ModelExplorerServer(): visualize(program)`.

    Our pages are files and need no server. The class starts nothing, and `port` is ignored.
    """

    def __init__(self, open_in_browser: bool = True, port: int | None = None) -> None:
        self.open_in_browser, self.port = open_in_browser, port

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class SingletonModelExplorerServer(ModelExplorerServer):
    """The same context for nested use."""


def visualize(
    visualizable: Visualizable,
    reuse_server: bool = True,
    no_open_in_browser: bool = False,
    path: str | Path | None = None,
) -> Path:
    """Write a page with the graph of a program (all methods of a manager), open it in the browser, return its path.

    path: file to write; by default a new temporary file. reuse_server: accepted for compatibility and ignored. Raises
    TypeError for an object that is not a program.
    """
    return _show(_programs(visualizable), no_open_in_browser, path)


def visualize_graph(
    graph_module: GraphModule,
    exported_program: Visualizable,
    reuse_server: bool = True,
    no_open_in_browser: bool = False,
    path: str | Path | None = None,
) -> Path:
    """Like `visualize`, for a graph such as a pass returns, in place of the program's own."""
    name, program = next(iter(_programs(exported_program).items()))
    return _show({name: with_graph(program, graph_module, [WellFormed])}, no_open_in_browser, path)


def _programs(visualizable: object) -> dict[str, ExportedProgram]:
    if isinstance(visualizable, ExportedProgram):
        return {"forward": visualizable}
    if isinstance(visualizable, (EdgeProgramManager, ExecutorchProgramManager)):
        return {name: visualizable.exported_program(name) for name in visualizable.methods}
    raise TypeError(
        "visualize takes an ExportedProgram, an EdgeProgramManager or an ExecutorchProgramManager; "
        f"found {type(visualizable).__name__}"
    )


def _show(programs: Mapping[str, ExportedProgram], no_open_in_browser: bool, path: str | Path | None) -> Path:
    if path is None:
        with tempfile.NamedTemporaryFile(prefix="executorch_", suffix=".html", delete=False) as file:
            path = file.name
    write_delegation(programs, path)
    if not no_open_in_browser:
        webbrowser.open(Path(path).resolve().as_uri())
    return Path(path)
