# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Plans for tensor sizes that only the run determines."""
