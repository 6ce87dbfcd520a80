# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Account for each byte of a `.pte` file, and strip parts of it: `python -m executorch.devtools.size FILE.pte`."""

from executorch.devtools.size.breakdown import Part, Size, size_of
from executorch.devtools.size.edit import EditError, extract, strip
from executorch.devtools.size.regions import Region, regions_of

__all__ = ["EditError", "Part", "Region", "Size", "extract", "regions_of", "size_of", "strip"]
