# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""State: initial values, updates, separate or shared between methods, exported, restored and reset."""

import peer_programs
import pytest
import torch
from torch import nn
from torch.export import export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.error import ExportError
from executorch.exir.passes import MemoryPlanningPass
from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer
from executorch.runtime import Runtime
from executorch.runtime.errors import NotSupportedError


class Cache(nn.Module):
    """Keys by position; the position itself is state too."""

    def __init__(self, start=0.5):
        super().__init__()
        self.register_buffer("cache", torch.full((4, 3), start))
        self.register_buffer("at", torch.zeros(1, dtype=torch.long))
        self.weight = nn.Parameter(torch.arange(9.0).view(3, 3))

    def forward(self, x):
        self.cache[self.at] = x @ self.weight
        self.at.add_(1)
        return self.cache.sum(1)


class ReadCache(Cache):
    def forward(self, scale):
        return self.cache @ self.weight * scale, self.at


class ResetCache(Cache):
    def forward(self):
        self.cache.fill_(0.5)
        self.at.zero_()
        return self.at + 0


X = (torch.ones(1, 3),)
SCALE = (torch.tensor(2.0),)


def _methods():
    return {
        "forward": export(Cache(), X),
        "read": export(ReadCache(), SCALE),
        "reset": export(ResetCache(), ()),
    }


def _lower(methods, **options):
    return to_edge(methods).to_executorch(
        ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(**options), emit_mutable_buffer_names=True)
    )


def _close(found, expected):
    torch.testing.assert_close(list(found), list(expected) if isinstance(expected, tuple) else [expected])


def test_methods_have_separate_state_unless_they_share_it():
    buffer = _lower(_methods()).buffer
    program = Runtime.get().load_program(buffer)
    forward, read = program.load_method("forward"), program.load_method("read")
    eager = Cache()
    for _ in range(2):
        _close(forward.execute(X), eager(*X))
    _close(read.execute(SCALE), ReadCache()(*SCALE))
    assert len(program.load_method("forward").execute(X)) == 1
    _close(Runtime.get().load_program(buffer).load_method("forward").execute(X), Cache()(*X))


def _eager_together():
    """The three methods over one state."""
    state = Cache()
    return {
        "forward": lambda *given: Cache.forward(state, *given),
        "read": lambda *given: tuple(result.clone() for result in ReadCache.forward(state, *given)),
        "reset": lambda *given: ResetCache.forward(state, *given),
    }


CALLS = [("forward", X), ("read", SCALE), ("forward", X), ("forward", (2 * X[0],)), ("read", SCALE), ("reset", ())] * 2


@pytest.mark.parametrize("first", ["forward", "read", "reset"])
def test_methods_share_their_state_in_arenas_that_are_shared(first):
    lowered = _lower(_methods(), share_mutable_buffers=True)
    program = Runtime.get().load_program(lowered.buffer, share_memory_arenas=True)
    program.load_method(first)
    methods = {name: program.load_method(name) for name in ("forward", "read", "reset")}
    eager = _eager_together()
    for name, given in CALLS:
        _close(methods[name].execute(given), eager[name](*given))


def test_another_program_of_the_same_file_has_separate_state():
    buffer = _lower(_methods(), share_mutable_buffers=True).buffer
    left, right = (Runtime.get().load_program(buffer, share_memory_arenas=True) for _ in range(2))
    for _ in range(3):
        left.load_method("forward").execute(X)
    _close(right.load_method("forward").execute(X), Cache()(*X))


def test_arenas_cannot_be_shared_by_methods_with_separate_state():
    with pytest.raises(NotSupportedError, match="keeps state in planned buffer 0"):
        Runtime.get().load_program(_lower(_methods()).buffer, share_memory_arenas=True)


def test_weights_of_all_methods_are_one():
    program = _lower(_methods(), share_mutable_buffers=True).executorch_program
    weight = Cache().weight
    assert [len(buffer.storage) for buffer in program.constant_buffer].count(weight.nbytes) == 1


def test_state_can_be_exported_given_back_and_reset():
    program = _lower({"forward": export(Cache(), X)})
    module = _load_for_executorch_from_buffer(program.buffer)
    method = Runtime.get().load_program(program.buffer).load_method("forward")._method
    method(X)
    kept = {name: method.get_attribute(name).clone() for name in ("cache", "at")}
    second = method(X)
    for name, value in kept.items():
        method.get_attribute(name).copy_(value)
    _close(method(X), second[0])
    initial = Cache()
    for name in kept:
        method.get_attribute(name).copy_(getattr(initial, name))
    _close(method(X), Cache()(*X))
    _close(module.forward(X), Cache()(*X))


def test_shared_buffers_of_different_sizes_are_refused():
    class Wider(Cache):
        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(5, 3))

    methods = {"forward": export(Cache(), X), "wide": export(Wider(), X)}
    with pytest.raises(ExportError, match="cache"):
        _lower(methods, share_mutable_buffers=True)


def test_programs_of_the_peer_share_state_too():
    program = Runtime.get().load_program(peer_programs.path("shared_state"), share_memory_arenas=True)
    x, found = torch.ones(3), []
    for name in ("add", "halve", "add"):
        found.append(program.load_method(name).execute([x])[0][0].item())
    assert found == [2.0, 1.5, 3.0]
