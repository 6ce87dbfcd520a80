# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The commands of `python -m executorch.devtools`, one per file: help, arguments, implementation."""
