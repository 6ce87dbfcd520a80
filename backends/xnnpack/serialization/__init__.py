# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The format of payloads: their classes, writer and reader."""
