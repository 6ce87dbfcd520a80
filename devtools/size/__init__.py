# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Where each byte of a `.pte` file goes: `python -m executorch.devtools.size FILE.pte`."""

from executorch.devtools.size.breakdown import Part, Size, size_of

__all__ = ["Part", "Size", "size_of"]
