# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""From tags on nodes to partitions as programs, with the reasons why nodes were not taken."""
