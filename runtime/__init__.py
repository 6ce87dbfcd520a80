# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Runs programs (`.pte` files).

    import numpy as np
    from executorch.runtime import Runtime

    program = Runtime.get().load_program("model.pte")
    method = program.load_method("forward")
    outputs = method.execute([np.ones((1, 64), np.float32)])

Only numpy is required; neither torch nor the compiler is imported. Torch tensors are accepted, without a copy where
layout and plan allow it, and outputs are then torch tensors.
"""

from executorch.extension.pybindings.portable_lib import MethodMeta, Tensor, TensorInfo, ThreadPool, Verification
from executorch.runtime.errors import (
    AccessError,
    DelegateError,
    ExecuTorchError,
    InstructionBudgetError,
    InvalidArgumentError,
    InvalidProgramError,
    InvalidStateError,
    InvalidTypeError,
    MethodNotFoundError,
    NotFoundError,
    NotSupportedError,
    OperatorMissingError,
    OutOfMemoryError,
    RegistrationError,
)
from executorch.runtime.program import Method, Program
from executorch.runtime.registry import BackendRegistry, OperatorRegistry
from executorch.runtime.session import DEFAULT_MAX_PLANNED_BYTES, Runtime

__all__ = [
    "AccessError",
    "BackendRegistry",
    "DelegateError",
    "DEFAULT_MAX_PLANNED_BYTES",
    "ExecuTorchError",
    "InstructionBudgetError",
    "InvalidArgumentError",
    "InvalidProgramError",
    "InvalidStateError",
    "InvalidTypeError",
    "Method",
    "MethodMeta",
    "MethodNotFoundError",
    "NotFoundError",
    "NotSupportedError",
    "OperatorMissingError",
    "OperatorRegistry",
    "OutOfMemoryError",
    "Program",
    "RegistrationError",
    "Runtime",
    "Tensor",
    "TensorInfo",
    "ThreadPool",
    "Verification",
]
