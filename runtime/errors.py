# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Errors of loading or running a program, grouped by who is at fault.

Every class is a `RuntimeError` (the only class that older scripts catch) and, where Python has a class for the kind of
fault, also of that class: a bad argument is a `ValueError`, a missing file an `OSError`, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence


class ExecuTorchError(RuntimeError):
    """A fault that the runtime reported.

    Attributes:
        error: the runtime's name for the error code, for instance `"InvalidArgument"`.
        details: what the runtime logged during the call that failed, one line each, oldest first: the operator,
            the argument, and the shapes and dtypes found and expected. They are part of the message as well.
    """

    def __init__(self, message: str, error: str = "Internal", details: Sequence[str] = ()) -> None:
        super().__init__(message, error, tuple(details))
        self.message = message
        self.error = error
        self.details = tuple(details)

    def __str__(self) -> str:
        return "\n  ".join((self.message, *self.details))


class InvalidProgramError(ExecuTorchError):
    """The file is not a program, damaged, of another version, or inconsistent."""


class InvalidArgumentError(ExecuTorchError, ValueError):
    """An argument does not fit: number, dtype, rank or size of inputs, or what an operator was given."""


class InvalidTypeError(InvalidArgumentError, TypeError):
    """A value has a type that is not allowed in its place."""


class NotFoundError(ExecuTorchError, LookupError):
    """A requested name or index does not exist."""


class MethodNotFoundError(NotFoundError, KeyError):
    """The program lacks a method of this name."""

    __str__ = ExecuTorchError.__str__


class OperatorMissingError(ExecuTorchError):
    """The program needs an operator, or a dtype of one, that no registered kernel offers."""


class NotSupportedError(ExecuTorchError, NotImplementedError):
    """This build of the runtime does not support the request."""


class OutOfMemoryError(ExecuTorchError, MemoryError):
    """An allocation failed, or an allocator that the caller sized is too small."""


class AccessError(ExecuTorchError, OSError):
    """The program's bytes could not be read."""

    __str__ = ExecuTorchError.__str__


class InvalidStateError(ExecuTorchError):
    """The call came at the wrong time, for instance running before the inputs are set."""


class CancelledError(ExecuTorchError):
    """The execution was cancelled before its end."""


class InstructionBudgetError(ExecuTorchError):
    """A method's loops ran more instructions than its `instruction_budget` allows."""


class RegistrationError(ExecuTorchError):
    """A kernel or backend could not be registered."""


class DelegateError(ExecuTorchError):
    """A backend refused its part of the program."""


_CLASS_OF_CODE: dict[str, type[ExecuTorchError]] = {
    "InvalidState": InvalidStateError,
    "EndOfMethod": InvalidStateError,
    "AlreadyLoaded": InvalidStateError,
    "ExecutionCancelled": CancelledError,
    "InstructionBudgetUsedUp": InstructionBudgetError,
    "NotSupported": NotSupportedError,
    "NotImplemented": NotSupportedError,
    "InvalidArgument": InvalidArgumentError,
    "InvalidType": InvalidTypeError,
    "OperatorMissing": OperatorMissingError,
    "RegistrationExceedingMaxKernels": RegistrationError,
    "RegistrationAlreadyRegistered": RegistrationError,
    "NotFound": NotFoundError,
    "MethodNotFound": MethodNotFoundError,
    "MemoryAllocationFailed": OutOfMemoryError,
    "OutOfResources": OutOfMemoryError,
    "AccessFailed": AccessError,
    "InvalidProgram": InvalidProgramError,
    "InvalidExternalData": InvalidProgramError,
    "DelegateInvalidCompatibility": DelegateError,
    "DelegateMemoryAllocationFailed": OutOfMemoryError,
    "DelegateInvalidHandle": DelegateError,
}


def from_runtime(error: str, message: str, details: Sequence[str]) -> ExecuTorchError:
    """Return the exception for an error code of the runtime. The extension module raises it.

    `MethodNotFound` is not a code of the runtime: the binding passes it where it looked up a method's name.
    A code that the table does not name (`Internal`, or one of a user's own backend) is a plain `ExecuTorchError`.
    """
    return _CLASS_OF_CODE.get(error, ExecuTorchError)(message, error, details)
