# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`sign` and `verify`: sign program files with a private key, and verify the signature."""

from __future__ import annotations

import argparse

from executorch.devtools.command.arguments import Command

_SIGN = """\
Signs a program and its data files with a private key, without network access. All files must be in one folder:

  openssl ecparam -name prime256v1 -genkey -noout -out key.pem
  openssl ec -in key.pem -pubout -out key.pub
  python -m executorch.devtools sign model.pte weights.ptd --private-key key.pem -o model.sig

The signature has the format of the package model-signing 1.x (a Sigstore bundle).
"""
_VERIFY = """\
Verifies that files are unchanged since the owner of the key signed them:

  python -m executorch.devtools verify model.pte weights.ptd --public-key key.pub --signature model.sig

The runner can verify them before it runs the program:

  executor_runner model.pte --data_path weights.ptd --verify model.sig --public_key key.pub
"""


def _add_sign(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a .pte file and its .ptd files")
    parser.add_argument("--private-key", metavar="KEY.pem", required=True, help="on the curve P-256, P-384 or P-521")
    parser.add_argument(
        "-o", "--output", metavar="FILE.sig", help="signature to write (default: first file's stem .sig)"
    )


def _sign(options: argparse.Namespace) -> int:
    from pathlib import Path

    from executorch.devtools.provenance import sign_files

    output = options.output or Path(options.files[0]).with_suffix(".sig")
    sign_files(options.files, private_key=options.private_key, signature=output)
    print(output)
    return 0


def _add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="files to verify; each must be in the signature")
    parser.add_argument("--public-key", metavar="KEY.pub", required=True, help="public key of the signer, as PEM")
    parser.add_argument("--signature", metavar="FILE.sig", required=True, help="signature that `sign` wrote")


def _verify(options: argparse.Namespace) -> int:
    from executorch.devtools.provenance import verify_files

    for name in verify_files(options.files, public_key=options.public_key, signature=options.signature):
        print(f"{name}: as signed")
    return 0


SIGN = Command("sign", "sign a program and its data files", _SIGN, _add_sign, _sign)
VERIFY = Command("verify", "verify the signature of files", _VERIFY, _add_verify, _verify)
