# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Model coverage: every architecture that torch.export takes, lowered, run and compared with eager."""
