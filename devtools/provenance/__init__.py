# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Signatures of `.pte` and `.ptd` files, which `executor_runner --verify` also checks."""

from executorch.devtools.provenance.signing import SignatureError, sign_files, verify_files

__all__ = ["SignatureError", "sign_files", "verify_files"]
