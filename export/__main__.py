# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`python -m executorch.export`."""

import sys

from executorch.export.command import main

if __name__ == "__main__":
    sys.exit(main())
