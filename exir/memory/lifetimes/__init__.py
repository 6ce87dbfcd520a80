# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Which tensors a graph holds, how long each is needed, and which may share an operand's memory."""
