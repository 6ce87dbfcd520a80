# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Who made a program: signatures of `.pte` and `.ptd` files, which `executor_runner --verify` checks as well."""

from executorch.devtools.provenance.signing import SignatureError, sign_files, verify_files

__all__ = ["SignatureError", "sign_files", "verify_files"]
