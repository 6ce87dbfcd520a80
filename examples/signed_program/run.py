# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Run a program only with a valid signature, and one that is encrypted.

python examples/signed_program/run.py [folder of an installed executorch]
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import executorch.codegen
from executorch.devtools.provenance import sign_files
from executorch.exir import to_edge

HERE = Path(__file__).resolve().parent
PACKAGE = Path(sys.argv[1] if len(sys.argv) > 1 else Path(executorch.codegen.__file__).parents[1]).resolve()


def call(*command: object) -> str:
    """Return the output of a command, which must succeed."""
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def is_refused(*command: object) -> bool:
    """Run a command that must refuse its file; print why it does."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    print("refused:", done.stderr.strip().splitlines()[-1].partition("] ")[2])
    return done.returncode == 1 and not done.stdout


with tempfile.TemporaryDirectory() as temporary:
    folder = Path(temporary)
    call("cmake", "-S", HERE, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={PACKAGE}")
    call("cmake", "--build", folder / "build")
    program, key, public = folder / "model.pte", folder / "key.pem", folder / "key.pub"
    model = torch.nn.Linear(4, 2)
    program.write_bytes(to_edge(torch.export.export(model, (torch.ones(1, 4),))).to_executorch().buffer)

    call("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
    call("openssl", "ec", "-in", key, "-pubout", "-out", public)
    sign_files([program], private_key=key, signature=folder / "model.sig")
    signed = (folder / "build" / "run_signed", program, folder / "model.sig", public)
    print("signed:   ", call(*signed))

    secret, nonce = os.urandom(32), os.urandom(12)
    (folder / "secret").write_bytes(secret)
    (folder / "model.enc").write_bytes(nonce + AESGCM(secret).encrypt(nonce, program.read_bytes(), None))
    print("encrypted:", call(folder / "build" / "run_encrypted", folder / "model.enc", folder / "secret"))

    program.write_bytes(program.read_bytes().replace(b"aten::", b"aten:;"))
    (folder / "secret").write_bytes(os.urandom(32))
    assert is_refused(*signed)
    assert is_refused(folder / "build" / "run_encrypted", folder / "model.enc", folder / "secret")
