# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Files signed in Python verify in Python, model-signing and the runner; changed files do not."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from model_signing import verifying

from executorch.devtools.__main__ import main
from executorch.devtools.provenance import SignatureError, sign_files, verify_files
from executorch.extension.executor_runner import command

DATA = Path(__file__).resolve().parents[2] / "data"


class Keys(NamedTuple):
    private: Path
    public: Path


def write_keys(folder: Path, name: str, key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> Keys:
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    keys = Keys(folder / f"{name}.pem", folder / f"{name}.pub")
    keys.private.write_bytes(private)
    keys.public.write_bytes(public)
    return keys


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return write_keys(tmp_path, "key", ec.generate_private_key(ec.SECP256R1()))


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    files = [tmp_path / "model" / "model.pte", tmp_path / "model" / "weights.ptd"]
    files[0].parent.mkdir()
    files[0].write_bytes((DATA / "peer" / "add.pte").read_bytes())
    files[1].write_bytes(b"weights")
    return files


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command.BINARY, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()], ids=lambda c: c.name)
def test_signed_files_verify_in_python_and_in_the_runner(
    curve: ec.EllipticCurve, files: list[Path], tmp_path: Path
) -> None:
    keys = write_keys(tmp_path, "other", ec.generate_private_key(curve))
    signature = tmp_path / "model.sig"
    sign_files(files, private_key=keys.private, signature=signature)
    assert verify_files(files[:1], public_key=keys.public, signature=signature) == ["model.pte", "weights.ptd"]
    verifying.Config().use_elliptic_key_verifier(public_key=str(keys.public)).verify(files[0].parent, signature)
    done = run(files[0], "--verify", signature, "--public_key", keys.public)
    assert (done.returncode, done.stderr) == (0, "")


def test_another_file_of_the_name_is_refused(files: list[Path], keys: Keys, tmp_path: Path) -> None:
    signature = tmp_path / "model.sig"
    sign_files(files, private_key=keys.private, signature=signature)
    changed = bytearray(files[0].read_bytes())
    changed[-1] ^= 1
    files[0].write_bytes(changed)
    with pytest.raises(SignatureError, match=r"contents of model\.pte differ from the signed ones"):
        verify_files(files, public_key=keys.public, signature=signature)
    done = run(files[0], "--verify", signature, "--public_key", keys.public)
    assert done.returncode == 1
    assert f"'{files[0]}' is not what was signed" in done.stderr
    assert "expected SHA-256" in done.stderr


def test_a_data_file_that_was_not_signed_is_refused_by_the_runner(
    files: list[Path], keys: Keys, tmp_path: Path
) -> None:
    signature = tmp_path / "model.sig"
    sign_files(files[:1], private_key=keys.private, signature=signature)
    done = run(files[0], "--data_path", files[1], "--verify", signature, "--public_key", keys.public)
    assert done.returncode == 1
    assert "signs no file named 'weights.ptd'" in done.stderr
    with pytest.raises(SignatureError, match=r"does not sign weights\.ptd"):
        verify_files(files, public_key=keys.public, signature=signature)


def test_a_signature_of_another_key_is_refused(files: list[Path], keys: Keys, tmp_path: Path) -> None:
    other = write_keys(tmp_path, "other", ec.generate_private_key(ec.SECP256R1()))
    signature = tmp_path / "model.sig"
    sign_files(files, private_key=other.private, signature=signature)
    with pytest.raises(SignatureError, match="Key mismatch"):
        verify_files(files, public_key=keys.public, signature=signature)
    done = run(files[0], "--verify", signature, "--public_key", keys.public)
    assert done.returncode == 1
    assert "was not made with the private key of this public key" in done.stderr


def test_a_signature_that_was_changed_is_refused(files: list[Path], keys: Keys, tmp_path: Path) -> None:
    signature = tmp_path / "model.sig"
    sign_files(files, private_key=keys.private, signature=signature)
    text = signature.read_text()
    place = text.index('"payload"') + 60
    signature.write_text(text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :])
    with pytest.raises(SignatureError):
        verify_files(files, public_key=keys.public, signature=signature)
    done = run(files[0], "--verify", signature, "--public_key", keys.public)
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"dsseEnvelope": {"payload": "e30="}}', "[" * 100_000])
def test_an_invalid_signature_is_refused(text: str, files: list[Path], keys: Keys, tmp_path: Path) -> None:
    signature = tmp_path / "model.sig"
    signature.write_text(text)
    with pytest.raises(SignatureError, match="is not a signature of model-signing"):
        verify_files(files, public_key=keys.public, signature=signature)
    done = run(files[0], "--verify", signature, "--public_key", keys.public)
    assert done.returncode == 1
    assert "InvalidExternalData" in done.stderr


def test_files_and_keys_that_cannot_be_used_are_refused_by_name(files: list[Path], keys: Keys, tmp_path: Path) -> None:
    signature = tmp_path / "model.sig"
    fifo = tmp_path / "model" / "fifo"
    os.mkfifo(fifo)
    ed = write_keys(tmp_path, "ed", ed25519.Ed25519PrivateKey.generate())
    for wrong, message in (
        ([], "found none"),
        ([files[0], files[0]], "different files of one folder"),
        ([files[0], keys.private], "different files of one folder"),
        ([tmp_path / "nothing.pte"], "there is no file"),
        ([fifo], "is not a regular file"),
    ):
        with pytest.raises(SignatureError, match=message):
            sign_files(wrong, private_key=keys.private, signature=signature)
    with pytest.raises(SignatureError, match="cannot sign"):
        sign_files(files, private_key=ed.private, signature=signature)
    sign_files(files, private_key=keys.private, signature=signature)
    with pytest.raises(SignatureError):
        verify_files(files, public_key=ed.public, signature=signature)
    done = run(files[0], "--verify", signature, "--public_key", ed.public)
    assert "expected a public key on an elliptic curve" in done.stderr


def test_the_runner_wants_signature_and_key_together(files: list[Path]) -> None:
    for option in ("--verify", "--public_key"):
        done = run(files[0], option, "file")
        assert (done.returncode, "--verify and --public_key require each other" in done.stderr) == (1, True)


def test_the_commands_sign_and_verify(
    files: list[Path], keys: Keys, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [str(file) for file in files]
    assert main(["sign", *names, "--private-key", str(keys.private)]) == 0
    signature = files[0].with_suffix(".sig")
    assert capsys.readouterr().out == f"{signature}\n"
    verify = ["verify", *names, "--public-key", str(keys.public), "--signature", str(signature)]
    assert main(verify) == 0
    assert capsys.readouterr().out == "model.pte: as signed\nweights.ptd: as signed\n"
    files[1].write_bytes(b"others")
    assert main(verify) == 1
    assert "contents of weights.ptd differ from the signed ones" in capsys.readouterr().err


def test_without_model_signing_the_commands_say_what_is_missing(
    files: list[Path], keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "model_signing.signing", None)
    with pytest.raises(SignatureError, match=r"pip install 'executorch\[sign\]'"):
        sign_files(files, private_key=keys.private, signature=tmp_path / "model.sig")
