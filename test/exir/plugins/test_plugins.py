# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Parts registered in `plugins.ini`, and by entry points of other distributions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from executorch.devtools.backend_tools import debug_tools
from executorch.exir.backend.backend_details import BackendDetails
from executorch.exir.backend.debug_tools import DebugTools
from executorch.exir.plugins import load_plugin, plugin_names, registry

GROUPS = ("backends", "recipes", "models", "runtime_probe", "export_record")


@pytest.fixture
def other_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a distribution that registers a backend, and one with a name of ours."""
    info = tmp_path / "other-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[executorch.backends]\n"
        "OtherBackend = other_backend:OtherBackend\n"
        "XnnpackBackend = other_backend:OtherBackend\n"
    )
    (tmp_path / "other_backend.py").write_text(
        "from executorch.exir.backend.backend_details import BackendDetails\n"
        "from executorch.exir.backend.debug_tools import DebugTools\n"
        "class OtherBackend(BackendDetails):\n"
        "    @classmethod\n"
        "    def debug_tools(cls):\n"
        "        return DebugTools(default_partitioner=list)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    registry._registered.cache_clear()
    yield
    registry._registered.cache_clear()


@pytest.mark.parametrize("group", GROUPS)
def test_every_registered_part_can_be_loaded(group: str) -> None:
    assert plugin_names(group)
    assert all(load_plugin(group, name) is not None for name in plugin_names(group))


def test_an_unknown_group_or_name_raises() -> None:
    with pytest.raises(KeyError, match="no_such_group"):
        plugin_names("no_such_group")
    with pytest.raises(KeyError, match="no_such_backend"):
        load_plugin("backends", "no_such_backend")


def test_backends_are_registered_by_their_class_name() -> None:
    for name in plugin_names("backends"):
        backend = load_plugin("backends", name)
        assert issubclass(backend, BackendDetails) and backend.__name__ == name


@pytest.mark.usefixtures("other_distribution")
def test_another_distribution_registers_a_backend() -> None:
    assert debug_tools("OtherBackend").default_partitioner is list
    assert debug_tools("XnnpackBackend").open_payload is not None  # names of ours stay ours


def test_xnnpack_has_all_debug_tools() -> None:
    tools = debug_tools("XnnpackBackend")
    assert tools.open_payload is not None and tools.default_partitioner is not None
    assert type(tools.default_partitioner()).__name__ == "XnnpackPartitioner"


def test_an_unknown_backend_has_no_debug_tools() -> None:
    assert debug_tools("NoSuchBackend") == DebugTools()
