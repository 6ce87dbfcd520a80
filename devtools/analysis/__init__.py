# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The data of a report: a program's calls and plan as its file has them, and the analysis of a run."""
