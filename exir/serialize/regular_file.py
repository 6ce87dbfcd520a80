# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Read untrusted files."""

from __future__ import annotations

import errno
import os
import stat


def read_regular_file(path: str | os.PathLike[str]) -> bytes:
    """Return a file's bytes.

    Raises:
        OSError: There is no such file, it cannot be read, it is a FIFO, device, socket or folder, or it is larger than
            the machine's memory (a sparse file may be, at no cost). The call does not block.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if status.st_size > memory:
            reason = f"a file of {status.st_size} bytes, more than the machine's memory of {memory}"
            raise OSError(errno.EFBIG, reason, os.fspath(path))
        return file.read()
