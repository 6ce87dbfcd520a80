# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What is added to and changed in the sources of XNNPACK and its thread pool before they are built, and why."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

# What is added, and its folder within XNNPACK's sources.
ADDED = tuple(
    Path(__file__).resolve().parents[1] / "backends/xnnpack/xnnpack_additions" / name
    for name in ("product_6x16_fma3.c", "product_6x16_fma3.h", "tile_order.h")
)
ADDED_FOLDER = "xnnpack/src/executorch"
_TILE_ORDER = "products in another order of tiles: backends/xnnpack/xnnpack_additions/tile_order.h says why"
_LARGER_TILES = "products in larger tiles: backends/xnnpack/xnnpack_additions/product_6x16_fma3.h says why"


class Change(NamedTuple):
    """A text of a file that is there once, and what takes its place."""

    file: str
    old: str
    new: str
    why: str


CHANGES = (
    Change(
        "xnnpack/src/memory-planner.c",
        "sizeof(struct memory_block) * num_values_to_alloc);",
        "sizeof(struct memory_block) * (num_values_to_alloc + 1));",
        "room for the block below",
    ),
    Change(
        "xnnpack/src/memory-planner.c",
        "size_t num_live_mem_blocks = 0;",
        "size_t num_live_mem_blocks = 1; current_live_mem_blocks[0].start = current_live_mem_blocks[0].end = 0;",
        "the gap below the first live block is never used, so that the scratch of a chain of layers piles up "
        "(ResNet-50: 44 MB, a few are needed); an empty block at the bottom makes it a gap like others",
    ),
    Change(
        "pthreadpool/src/threadpool-common.h",
        "#define PTHREADPOOL_SPIN_WAIT_ITERATIONS 1000000",
        "#define PTHREADPOOL_SPIN_WAIT_ITERATIONS 20000",
        "threads that wait spin for tens of milliseconds: on a machine with other work, two threads are then many "
        "times slower than one, and several pools starve each other. A fraction of one bridges what lies between "
        "operators",
    ),
    Change(
        "xnnpack/src/operator-run.c",
        '#include "pthreadpool.h"\n',
        '#include "executorch/tile_order.h"\n',
        _TILE_ORDER,
    ),
    Change(
        "xnnpack/src/operator-run.c",
        "        pthreadpool_parallelize_2d_tile_2d(",
        "        executorch_parallelize_2d_tile_2d(",
        _TILE_ORDER,
    ),
    Change(
        "xnnpack/src/operator-run.c",
        "        pthreadpool_parallelize_3d_tile_2d(",
        "        executorch_parallelize_3d_tile_2d(",
        _TILE_ORDER,
    ),
    Change(
        "xnnpack/CMakeLists.txt",
        "LIST(APPEND PROD_MICROKERNEL_SRCS ${PROD_FMA3_MICROKERNEL_SRCS})",
        "LIST(APPEND PROD_MICROKERNEL_SRCS ${PROD_FMA3_MICROKERNEL_SRCS})\n"
        "  IF(CMAKE_SIZEOF_VOID_P EQUAL 8)\n"
        "    LIST(APPEND PROD_MICROKERNEL_SRCS src/executorch/product_6x16_fma3.c)\n"
        "  ENDIF()",
        _LARGER_TILES,
    ),
    Change(
        "xnnpack/src/configs/gemm-config.c",
        '#include "xnnpack/gemm.h"',
        '#include "executorch/product_6x16_fma3.h"\n#include "xnnpack/gemm.h"',
        _LARGER_TILES,
    ),
    Change(
        "xnnpack/src/configs/gemm-config.c",
        "          f32_gemm_config.mr = 5;",
        "#if XNN_ARCH_X86_64\n"
        "          f32_gemm_config.minmax.gemm[XNN_MR_TO_INDEX(6)] = "
        "xnn_init_hmp_gemm_ukernel((xnn_gemm_ukernel_fn) executorch_f32_gemm_6x16_fma3);\n"
        "          f32_gemm_config.minmax.igemm[XNN_MR_TO_INDEX(6)] = "
        "xnn_init_hmp_igemm_ukernel((xnn_igemm_ukernel_fn) executorch_f32_igemm_6x16_fma3);\n"
        "          f32_gemm_config.mr = 6;\n"
        "#else\n"
        "          f32_gemm_config.mr = 5;\n"
        "#endif",
        _LARGER_TILES,
    ),
)


class SourceChanged(RuntimeError):
    """A text to be changed is not where it was; the message says which."""


def change(sources: Path) -> None:
    """Adds our files and makes the changes below `sources`. Raises SourceChanged where a text is not there once."""
    (sources / ADDED_FOLDER).mkdir()
    for path in ADDED:
        shutil.copy2(path, sources / ADDED_FOLDER)
    for each in CHANGES:
        path = sources / each.file
        text = path.read_text()
        if text.count(each.old) != 1:
            raise SourceChanged(f"{each.file}: expected {each.old!r} once, found it {text.count(each.old)} times")
        path.write_text(text.replace(each.old, each.new))
