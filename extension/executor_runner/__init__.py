# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The program `executor_runner`; `command` starts it from Python."""
