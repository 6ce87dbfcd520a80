# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Write both tables that follow from the built kernels:

    python test/oracle/kernels/write_tables.py [NAME ...]

exir/dialects/edge_operators.json: operators and their dtypes. NAME: kernels to probe again (`aten::add.out`); by
default all, which takes about a minute. kernels/sources.json: the source of each kernel, from the newest build.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from oracle.kernels.tables import edge_table, kernel_source_table

if __name__ == "__main__":
    edge_table.main(sys.argv[1:])
    kernel_source_table.write(kernel_source_table.newest_build())
