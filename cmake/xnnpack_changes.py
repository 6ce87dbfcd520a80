# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What is added to and changed in the sources of XNNPACK and its thread pool before they are built, and why."""

from __future__ import annotations

import shutil
from pathlib import Path

from xnnpack_activations import ACTIVATIONS
from xnnpack_adding import ADDING
from xnnpack_cached_weights import CACHED_WEIGHTS
from xnnpack_change import Change
from xnnpack_depthwise import DEPTHWISE
from xnnpack_nan import keep_nan
from xnnpack_norms import NORMS
from xnnpack_packing import PACKING
from xnnpack_tiles import TILES
from xnnpack_winograd import WINOGRAD

# What is added, its name in the folder of XNNPACK's sources for it, and that folder.
_ADDITIONS = Path(__file__).resolve().parents[1] / "backends/xnnpack/xnnpack_additions"
_ROOT = _ADDITIONS.parents[2]
ADDED = {path: path.name for path in sorted(_ADDITIONS.glob("*.*")) if path.suffix in (".c", ".cc", ".h")}
_SHARED = (
    *("kernels/loops/float_math.h", "kernels/loops/wide.h"),
    *("kernels/optimized/row_loops.h", "kernels/optimized/vector_math.h"),
)
ADDED |= {_ROOT / name: name for name in _SHARED}
ADDED_FOLDER = "xnnpack/src/executorch"
_ZEROS = "images that are quantized while running vary in number: backends/xnnpack/xnnpack_additions/zeros_of_images.h"
_TILE_ORDER = "products in another order of tiles: backends/xnnpack/xnnpack_additions/tile_order.h says why"
_LARGER_TILES = "products in larger tiles: backends/xnnpack/xnnpack_additions/product_6x16_fma3.h says why"
_TABLE = "a table of pointers that nothing reads is not filled: backends/xnnpack/xnnpack_additions/windows_table.h"
_POOLING = "max pooling of more channels at once: backends/xnnpack/xnnpack_additions/max_pooling_avx.h"
_PLANES = "images of colours have their channels last sooner: backends/xnnpack/xnnpack_additions/three_planes_sse.h"
_LATE_WORKERS = "nobody waits for threads that have not begun: backends/xnnpack/xnnpack_additions/late_workers.c"
_CHANNELS = "images with another number of channels have their pixels at other distances"
_ELEMENTARY = "elementary functions: backends/xnnpack/xnnpack_additions/elementary.h says why"


def _zeros_of_images(operator: str, of: str, parts: tuple[str, str, str], following: str) -> Change:
    """parts: the beginning, the indentation and the end of what XNNPACK does. following: what is there once."""
    begin, indent, end = parts
    op = f"{operator}_op"
    theirs = (
        f"{indent}if ({op}->zero_buffers) {{\n{indent}  for (size_t i = 1; i < batch_size; ++i) {{\n"
        f"{indent}    xnn_release_simd_memory({op}->zero_buffers[i]);\n{indent}  }}\n{indent}}}\n{of}"
        f"{indent}{op}->zero_buffers = xnn_reallocate_memory({op}->zero_buffers, batch_size * sizeof(void*));\n"
        f"{indent}{op}->zero_buffers[0] = {op}->zero_buffer;\n"
        f"{indent}for (size_t i = 1; i < batch_size; ++i) {{\n"
        f"{indent}  {op}->zero_buffers[i] = xnn_allocate_simd_memory({op}->zero_size);\n{indent}}}\n"
    )
    ours = (
        f"  const enum xnn_status zeros_status = executorch_zeros_of_images({op}, batch_size);\n"
        "  if (zeros_status != xnn_status_success) {\n    return zeros_status;\n  }\n"
    )
    file = f"xnnpack/src/operators/{operator}-nhwc.c"
    return Change(file, f"{begin}{theirs}{end}{following}", f"{ours}{following}", _ZEROS)


_IF_SIZES_CHANGED = ("  if (input_size_changed(convolution_op)) {\n", "    ", "  }\n")


def _remembers_channels(file: str, operator: str, channels: str) -> tuple[Change, Change]:
    """Where windows lie is found anew when the channels change too, not only the height or width."""
    path, last = f"xnnpack/src/operators/{file}", f"{operator}->last_input"
    asked, kept = f"if (input_height != {last}_height ||", f"{last}_height = input_height;"
    return (
        Change(path, asked, f"if ({channels} != {last}_channels || input_height != {last}_height ||", _CHANNELS),
        Change(path, kept, f"{last}_channels = {channels};\n    {kept}", _CHANNELS),
    )


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
        "xnnpack/include/xnnpack.h",
        "#define XNN_EXTRA_QUANTIZATION_PARAMS 10",
        "#define XNN_EXTRA_QUANTIZATION_PARAMS 15",
        "products of rows that are quantized while running read the parameters of a whole tile's rows, and the last "
        "that they compute is kept; tiles have up to 14 rows (4-bit integers, AVX-512 with VNNI and GFNI) or 16 (AMX)",
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
        "pthreadpool/CMakeLists.txt",
        "    LIST(APPEND PTHREADPOOL_SRCS src/pthreads.c)\n",
        '    IF(CMAKE_SYSTEM_NAME STREQUAL "Linux")\n'
        "      LIST(APPEND PTHREADPOOL_SRCS ../xnnpack/src/executorch/late_workers.c)\n"
        "    ELSE()\n      LIST(APPEND PTHREADPOOL_SRCS src/pthreads.c)\n    ENDIF()\n",
        _LATE_WORKERS,
    ),
    Change(
        "xnnpack/src/runtime.c",
        "void* new_workspace_data = xnn_allocate_zero_simd_memory(mem_arena_size);",
        "void* new_workspace_data = xnn_allocate_simd_memory(mem_arena_size);",
        "scratch memory is written before it is read: nothing has to touch all of it while loading",
    ),
    Change(
        "xnnpack/src/runtime.c",
        "    if (output->num_consumers == 1) {\n",
        "    if (output->num_consumers != 0) {\n",
        "what several nodes read can lie where its only operand lay, too: the planner knows the last of them. "
        "Otherwise the reshaped queries, keys and values of an attention are copied",
    ),
    Change(
        "xnnpack/src/runtime.c",
        "      assert(tracker->usage[reuse_id].last_node < output->first_consumer);\n",
        "      const uint32_t last_consumer = tracker->usage[output->id].last_node;\n"
        "      assert(tracker->usage[reuse_id].last_node < output->first_consumer);\n",
        "see above",
    ),
    Change(
        "xnnpack/src/runtime.c",
        "      xnn_mark_tensor_as_reuse(tracker, output->id, reuse_id, output->first_consumer);\n",
        "      xnn_mark_tensor_as_reuse(tracker, output->id, reuse_id, last_consumer);\n",
        "see above",
    ),
    Change(
        "xnnpack/src/runtime.c",
        "    runtime->workspace->data = new_workspace_data;",
        "    memset(new_workspace_data, 0, persistent_size);\n    runtime->workspace->data = new_workspace_data;",
        "state that lasts from call to call does begin as zeros",
    ),
    *CACHED_WEIGHTS,
    Change(
        "xnnpack/src/operators/convolution-nhwc.c",
        "      xnn_indirection_init_conv2d(\n",
        "#if XNN_ARCH_X86_64\n"
        "      if (executorch_needs_no_table(convolution_op, igemm_ukernel, mr)) {\n"
        "        convolution_op->indirection_buffer[0] = NULL;\n"
        "      } else\n"
        "#endif\n"
        "      xnn_indirection_init_conv2d(\n",
        _TABLE,
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
        "    LIST(APPEND PROD_MICROKERNEL_SRCS src/executorch/max_pooling_avx.c)\n"
        "    LIST(APPEND PROD_MICROKERNEL_SRCS src/executorch/pack_columns_avx512.c)\n"
        "    LIST(APPEND PROD_MICROKERNEL_SRCS src/executorch/product_6x16_fma3.c)\n"
        "    LIST(APPEND PROD_MICROKERNEL_SRCS src/executorch/product_10x32_avx512.c)\n"
        "    LIST(APPEND PROD_MICROKERNEL_SRCS src/executorch/integer_product_6x16_avx2.c)\n"
        "    LIST(APPEND PROD_MICROKERNEL_SRCS src/executorch/integer_product_8x32_vnni.c)\n"
        "    LIST(APPEND PROD_MICROKERNEL_SRCS src/executorch/three_planes_sse.c)\n"
        "  ENDIF()",
        _LARGER_TILES,
    ),
    Change(
        "xnnpack/CMakeLists.txt",
        "SET(REFERENCE_SRCS\n",
        'SET_PROPERTY(SOURCE src/executorch/elementary.cc PROPERTY COMPILE_FLAGS "-std=c++17 -O3 -fno-math-errno '
        '-fno-trapping-math -ffp-contract=off")\nSET(REFERENCE_SRCS\n  src/executorch/elementary.cc\n',
        _ELEMENTARY,
    ),
    Change(
        "xnnpack/src/operators/unary-elementwise-nc.c",
        '#include "xnnpack/reference-config.h"\n',
        '#include "xnnpack/reference-config.h"\n#include "executorch/elementary.h"\n',
        _ELEMENTARY,
    ),
    Change(
        "xnnpack/src/operators/unary-elementwise-nc.c",
        "  enum xnn_datatype datatype = output_datatype;\n  if (datatype == xnn_datatype_qint8) {\n",
        "  enum xnn_datatype datatype = output_datatype;\n"
        "  const struct xnn_unary_elementwise_config* ours = executorch_elementary(op_type, datatype);\n"
        "  if (ours != NULL) {\n    return ours;\n  }\n  if (datatype == xnn_datatype_qint8) {\n",
        _ELEMENTARY,
    ),
    *_remembers_channels("max-pooling-nhwc.c", "max_pooling_op", "channels"),
    *_remembers_channels("resize-bilinear-nhwc.c", "resize_op", "input_pixel_stride_in_bytes"),
    Change(
        "xnnpack/src/configs/maxpool-config.c",
        '#include "xnnpack/maxpool.h"',
        '#include "executorch/max_pooling_avx.h"\n#include "xnnpack/maxpool.h"',
        _POOLING,
    ),
    Change(
        "xnnpack/src/configs/maxpool-config.c",
        "(xnn_maxpool_ukernel_fn) xnn_f32_maxpool_minmax_ukernel_9p8x__sse_c4;",
        "(xnn_maxpool_ukernel_fn) xnn_f32_maxpool_minmax_ukernel_9p8x__sse_c4;\n"
        "#if XNN_ARCH_X86_64\n"
        "    if (xnn_init_hardware_config()->use_x86_avx) {\n"
        "      f32_maxpool_config.ukernel = (xnn_maxpool_ukernel_fn) executorch_f32_max_pooling_avx;\n"
        "    }\n"
        "#endif",
        _POOLING,
    ),
    Change(
        "xnnpack/src/configs/transpose-config.c",
        '#include "xnnpack/transpose.h"\n',
        '#include "executorch/three_planes_sse.h"\n#include "xnnpack/transpose.h"\n',
        _PLANES,
    ),
    Change(
        "xnnpack/src/configs/transpose-config.c",
        "        .const_size_ukernel = (xnn_transposec_ukernel_fn) xnn_x32_transposec_ukernel__8x8_reuse_multi_avx,\n",
        "#if XNN_ARCH_X86_64\n"
        "        .const_size_ukernel = (xnn_transposec_ukernel_fn) executorch_x32_transpose,\n"
        "#else\n"
        "        .const_size_ukernel = (xnn_transposec_ukernel_fn) xnn_x32_transposec_ukernel__8x8_reuse_multi_avx,\n"
        "#endif\n",
        _PLANES,
    ),
    *(
        _zeros_of_images(
            *("convolution", "", _IF_SIZES_CHANGED),
            "  return reshape_convolution2d_nhwc(\n"
            f"    convolution_op, xnn_operator_type_convolution_nhwc_qd8_{result}_qc8w,",
        )
        for result in ("f16", "f32")
    ),
    _zeros_of_images("deconvolution", "\n", ("", "  ", ""), "\n  return reshape_deconvolution2d_nhwc("),
    Change(
        "xnnpack/src/operator-utils.c",
        "    for (size_t i = 1; i < op->batch_size; ++i) {",
        "    for (size_t i = 1; i < op->valid_batch_size; ++i) {",
        _ZEROS,
    ),
    *ACTIVATIONS,
    *ADDING,
    *DEPTHWISE,
    *NORMS,
    *PACKING,
    *TILES,
    *WINOGRAD,
)


class SourceChanged(RuntimeError):
    """A text to be changed is not where it was; the message says which."""


def change(sources: Path) -> None:
    """Adds our files and makes the changes below `sources`. Raises SourceChanged where a text is not there once."""
    for path, name in ADDED.items():
        target = sources / ADDED_FOLDER / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    for each in CHANGES:
        path = sources / each.file
        text = path.read_text()
        if text.count(each.old) != 1:
            raise SourceChanged(f"{each.file}: expected {each.old!r} once, found it {text.count(each.old)} times")
        path.write_text(text.replace(each.old, each.new))
    if keep_nan(sources / "xnnpack/src") == 0:
        raise SourceChanged("xnnpack/src: no limit is the second operand of a minimum or maximum")
