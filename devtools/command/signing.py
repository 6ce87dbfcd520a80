# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`sign` and `verify`: who made a program, and that nobody has changed it since."""

from __future__ import annotations

import argparse

from executorch.devtools.command.arguments import Command

_SIGN = """\
Signs a program and its data files with a private key. No network is used. The files must lie in one folder:

  openssl ecparam -name prime256v1 -genkey -noout -out key.pem
  openssl ec -in key.pem -pubout -out key.pub
  python -m executorch.devtools sign model.pte weights.ptd --private-key key.pem -o model.sig

The signature has the format of the package model-signing 1.x (a Sigstore bundle).
"""
_VERIFY = """\
Checks that files are what the owner of a key has signed:

  python -m executorch.devtools verify model.pte weights.ptd --public-key key.pub --signature model.sig

The runner checks them in the same way before it runs anything:

  executor_runner model.pte --data_path weights.ptd --verify model.sig --public_key key.pub
"""


def _add_sign(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a .pte file and its .ptd files")
    parser.add_argument("--private-key", metavar="KEY.pem", required=True, help="on the curve P-256, P-384 or P-521")
    parser.add_argument("-o", "--output", metavar="FILE.sig", help="the signature (default: the first file's, as .sig)")


def _sign(options: argparse.Namespace) -> int:
    from pathlib import Path

    from executorch.devtools.provenance import sign_files

    output = options.output or Path(options.files[0]).with_suffix(".sig")
    sign_files(options.files, private_key=options.private_key, signature=output)
    print(output)
    return 0


def _add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="those that must have been signed")
    parser.add_argument("--public-key", metavar="KEY.pub", required=True, help="of the key that signed, as PEM")
    parser.add_argument("--signature", metavar="FILE.sig", required=True, help="what `sign` wrote")


def _verify(options: argparse.Namespace) -> int:
    from executorch.devtools.provenance import verify_files

    for name in verify_files(options.files, public_key=options.public_key, signature=options.signature):
        print(f"{name}: as signed")
    return 0


SIGN = Command("sign", "a signature of a program and its data files", _SIGN, _add_sign, _sign)
VERIFY = Command("verify", "whether files are what was signed", _VERIFY, _add_verify, _verify)
