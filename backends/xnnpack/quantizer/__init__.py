# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""XNNPACKQuantizer: which operators PT2E quantizes, and how."""
