# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Offline signatures with an elliptic-curve key pair, in the format of the package `model-signing`."""

from __future__ import annotations

import base64
import binascii
import importlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

StrPath = str | os.PathLike[str]


class SignatureError(RuntimeError):
    """Signing or verification failed."""


def sign_files(files: Sequence[StrPath], *, private_key: StrPath, signature: StrPath) -> None:
    """Write a signature of the files.

    Args:
        files: a program (`.pte`) and its data files (`.ptd`), all in one folder. The signature contains their names.
        private_key: a PEM file with an unencrypted key on the curve P-256, P-384 or P-521.
        signature: file to write, a Sigstore bundle in the format of `model-signing` 1.x.

    Raises:
        SignatureError: a file or the key is unusable; the message says which and why.
    """
    folder = _folder_of(files)
    _check_regular(*files, private_key)
    signing, hashing = _model_signing("signing"), _model_signing("hashing")

    class TheseFiles(hashing.Config):  # type: ignore[misc, name-defined]
        def hash(self, model_path: Path, *, files_to_hash: object = None) -> Any:
            return super().hash(model_path, files_to_hash=[folder / name for name in _names_of(files)])

    try:
        config = signing.Config().use_elliptic_key_signer(private_key=os.fspath(private_key))
        config.set_hashing_config(TheseFiles()).sign(folder, os.fspath(signature))
    except (ValueError, TypeError, AttributeError) as error:
        raise SignatureError(f"the key {private_key} cannot sign: {error}") from error


def verify_files(files: Sequence[StrPath], *, public_key: StrPath, signature: StrPath) -> list[str]:
    """Verify that files are unchanged since the owner of the key signed them; return the names of all signed files.

    Args:
        files: each must be named in the signature. Further files that it names must be in the same folder and are
            verified too.
        public_key: a PEM file.
        signature: file that `sign_files` wrote.

    Raises:
        SignatureError: the signature belongs to another key, or a file was changed; the message says which.
    """
    folder = _folder_of(files)
    _check_regular(*files, public_key, signature)
    verifying = _model_signing("verifying")
    invalid: type[Exception] = importlib.import_module("cryptography.exceptions").InvalidSignature
    signed, is_alone = _signed_names(signature)
    for name in set(_names_of(files)) - set(signed):
        raise SignatureError(f"{signature} does not sign {name}, only {', '.join(signed)}")
    _check_regular(*(folder / name for name in signed))
    try:
        config = verifying.Config().use_elliptic_key_verifier(public_key=os.fspath(public_key))
        config.set_ignore_unsigned_files(True).verify(folder / signed[0] if is_alone else folder, os.fspath(signature))
    except invalid as error:
        reason = f"was made with another private key than that of {public_key}, or was changed"
        raise SignatureError(f"{signature} {reason}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        # The error's text lists the files and escapes quotes inside digests.
        text = str(error).replace("\\", "")
        changed = [name for name in signed if f"Hash mismatch for '{name}'" in text]
        reason = f"contents of {', '.join(changed)} differ from the signed ones" if changed else str(error)
        raise SignatureError(f"{signature} does not verify with {public_key}: {reason}") from error
    return signed


def _signed_names(signature: StrPath) -> tuple[list[str], bool]:
    """Return the names in a signature, and whether it signs one file without a folder. Does not verify."""
    try:
        bundle = json.loads(Path(signature).read_bytes())
        statement = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"], validate=True))
        names = [str(resource["name"]) for resource in statement["predicate"]["resources"]]
        is_alone = names == ["."]
        names = [str(statement["subject"][0]["name"])] if is_alone else names
    except (ValueError, TypeError, KeyError, IndexError, binascii.Error, RecursionError) as error:
        raise SignatureError(f"{signature} is not a signature of model-signing: {error!r}") from error
    for name in names:
        if Path(name).name != name:
            raise SignatureError(f"{signature}: expected names without folders, found {name!r}")
    if not names:
        raise SignatureError(f"{signature} signs no file")
    return names, is_alone


def _names_of(files: Iterable[StrPath]) -> list[str]:
    return [Path(file).name for file in files]


def _folder_of(files: Sequence[StrPath]) -> Path:
    """The common folder of all files."""
    folders = {Path(file).parent.resolve() for file in files}
    if len(folders) != 1 or len(set(_names_of(files))) != len(files):
        raise SignatureError(f"expected different files of one folder, found {', '.join(map(str, files)) or 'none'}")
    return folders.pop()


def _check_regular(*paths: StrPath) -> None:
    """Refuse missing files, and FIFOs and devices, which would block the read."""
    for path in paths:
        if not Path(path).is_file():
            raise SignatureError(f"{path} is not a regular file" if Path(path).exists() else f"there is no file {path}")


def _model_signing(part: str) -> Any:
    """Import a module of `model-signing`, which only signing and verifying in Python require."""
    try:
        return importlib.import_module(f"model_signing.{part}")
    except ImportError as error:
        reason = f"signatures require the package model-signing: pip install 'executorch[sign]' ({error})"
        raise SignatureError(reason) from error
