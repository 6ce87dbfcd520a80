# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Pages and pictures: memory plans, graphs, delegation, timelines, and the report on a run."""
