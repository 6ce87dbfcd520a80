# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The decorators of `executorch.exir._warnings`."""

import warnings
from collections.abc import Callable

import pytest

from executorch.exir._warnings import ExperimentalWarning, deprecated, experimental


@experimental("Tried may change")
class Tried:
    @deprecated("use new")
    def old(self) -> int:
        return 3

    @experimental("new may change")
    def new(self) -> int:
        return 4


@experimental("tried() may change")
def tried() -> int:
    return 5


@experimental("for type checkers", category=None)
def quiet() -> int:
    return 6


def _warning_of(call: Callable[[], object]) -> warnings.WarningMessage | None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    return seen[-1] if seen else None


@pytest.mark.parametrize("call, message", [(Tried, "Tried may change"), (tried, "tried() may change")])
def test_the_use_of_an_experimental_name_warns_with_its_message(call: Callable[[], object], message: str) -> None:
    seen = _warning_of(call)
    assert seen is not None and seen.category is ExperimentalWarning and str(seen.message) == message
    assert seen.filename == __file__


def test_methods_warn_when_they_are_called() -> None:
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        tried = Tried()
    old, new = _warning_of(tried.old), _warning_of(tried.new)
    assert old is not None and old.category is DeprecationWarning
    assert new is not None and new.category is ExperimentalWarning


def test_without_a_category_there_is_no_warning_at_run_time() -> None:
    assert _warning_of(quiet) is None and quiet() == 6


def test_filters_that_hide_deprecations_hide_experimental_names_too() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("ignore", DeprecationWarning)
        assert tried() == 5
    assert not seen
