# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Which tiles XNNPACK computes products in: the changes of its settings, and why."""

from __future__ import annotations

from typing import NamedTuple

from xnnpack_change import Change

_LARGER_TILES = "products in larger tiles: backends/xnnpack/xnnpack_additions/product_6x16_fma3.h says why"
_WIDE_TILES = "products in larger tiles: backends/xnnpack/xnnpack_additions/product_10x32_avx512.h says why"
_INTEGER_TILES = "products of integers: backends/xnnpack/xnnpack_additions/integer_product.h"


class _Tile(NamedTuple):
    """Ours, for the processors of a condition; `theirs` ends the names of XNNPACK's for them."""

    rows: int
    columns: int
    log2_kr: int
    instructions: str
    condition: str
    theirs: str


_AVX2 = _Tile(6, 16, 1, "avx2", "    if (hardware_config->use_x86_avx2) {\n", "1x8c8__avx2")
_VNNI = _Tile(
    *(8, 32, 2, "vnni"),
    "      if (!XNN_PLATFORM_MOBILE && hardware_config->use_x86_avx512vnni) {\n",
    "1x16c8__avx512vnni_prfm",
)


def _integer_tiles(kind: str, result: str, wrapper: str, tile: _Tile, settings: tuple[str, ...]) -> Change:
    """Ours come before theirs. wrapper: "dq" where operands are quantized while running."""
    config, indent = f"{kind}_gemm_config", tile.condition[: tile.condition.index("if")] + "  "
    first = f"{indent}{config}.minmax.{wrapper}gemm[XNN_MR_TO_INDEX(1)] = xnn_init_hmp_{wrapper}gemm_ukernel("
    theirs = f"(xnn_{wrapper}gemm_ukernel_fn) xnn_{kind}_gemm_minmax{result}_ukernel_{tile.theirs});"
    entries = (("gemm", 1, tile.rows), ("gemm", tile.rows, tile.rows), ("igemm", 1, 1), ("igemm", tile.rows, tile.rows))
    size = f"x{tile.columns}c{1 << tile.log2_kr}_{tile.instructions}"
    ours = [
        f"{config}.minmax.{wrapper}{name}[XNN_MR_TO_INDEX({most})] = xnn_init_hmp_{wrapper}{name}_ukernel("
        f"(xnn_{wrapper}{name}_ukernel_fn) executorch_{kind}_{name}_{rows}{size});"
        for name, most, rows in entries
    ]
    measures = f"mr = {tile.rows}", f"nr = {tile.columns}", f"log2_kr = {tile.log2_kr}"
    ours += [f"{config}.{each};" for each in (*settings, *measures)]
    lines = "".join(f"{indent}{line}\n" for line in ours)
    old = f"{tile.condition}{first}{theirs}"
    new = f"#if XNN_ARCH_X86_64\n{tile.condition}{lines}{indent[2:]}}} else\n#endif\n{old}"
    return Change("xnnpack/src/configs/gemm-config.c", old, new, _INTEGER_TILES)


def _packing_of_convolutions(kind: str) -> tuple[str, ...]:
    """The settings of XNNPACK's packing for any tile. kind: that of the operand, "qs8" or "qs8_to_qu8"."""
    names = ("igemm_goki", "conv_goki"), ("igemm_kgo", "conv_kgo"), ("deconv_goki", "deconv_goki")
    return tuple(f"pack_{name} = (xnn_pack_{of}_w_fn) xnn_pack_{kind}_{of}_w" for name, of in names)


_NUMBERS = ("init.f32 = xnn_init_f32_minmax_scalar_params",)
_INTEGERS = ("init.qs8_qc8w = xnn_init_qs8_qc8w_conv_minmax_fp32_scalar_params",)
# What has no sign has other beginnings of its sums.
_WITHOUT_SIGN = (
    "pack_weights_and_biases = NULL",
    "packed_stride_weights_and_biases = NULL",
    "pack_gemm_gio = (xnn_packw_gemm_gio_ukernel_fn) xnn_pack_qs8_to_qu8_gemm_gio_w",
    "pack_gemm_goi = (xnn_packw_gemm_goi_ukernel_fn) xnn_pack_qs8_to_qu8_gemm_goi_w",
    *_packing_of_convolutions("qs8_to_qu8"),
)

_WIDE_BEFORE = """\
        f32_gemm_config.mr = 7;
        f32_gemm_config.nr = 32;
      } else
    #endif
    if (hardware_config->use_x86_fma3) {
"""
_WIDE_AFTER = (
    "#if XNN_ARCH_X86_64\n"
    + "".join(
        f"        f32_gemm_config.minmax.{kind}[XNN_MR_TO_INDEX({rows})] = xnn_init_hmp_{kind}_ukernel({kernel});\n"
        for kind in ("gemm", "igemm")
        for rows, kernel in (
            (7, "NULL"),
            *((rows, f"(xnn_{kind}_ukernel_fn) executorch_f32_{kind}_{rows}x32_avx512") for rows in (5, 10)),
        )
    )
    + "        f32_gemm_config.mr = 10;\n#else\n"
    + _WIDE_BEFORE.replace("        f32_gemm_config.nr", "#endif\n        f32_gemm_config.nr")
)

TILES = (
    Change(
        "xnnpack/src/configs/gemm-config.c",
        '#include "xnnpack/gemm.h"',
        '#include "executorch/integer_product_6x16_avx2.h"\n#include "executorch/integer_product_8x32_vnni.h"\n'
        '#include "executorch/product_6x16_fma3.h"\n'
        '#include "executorch/product_10x32_avx512.h"\n#include "xnnpack/gemm.h"',
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
    Change("xnnpack/src/configs/gemm-config.c", _WIDE_BEFORE, _WIDE_AFTER, _WIDE_TILES),
    _integer_tiles("qd8_f32_qc8w", "", "dq", _AVX2, _NUMBERS),
    _integer_tiles("qd8_f32_qc8w", "", "dq", _VNNI, _NUMBERS),
    _integer_tiles("qs8_qc8w", "_fp32", "", _AVX2, (*_INTEGERS, *_packing_of_convolutions("qs8"))),
    _integer_tiles("qs8_qc8w", "_fp32", "", _VNNI, (*_INTEGERS, *_WITHOUT_SIGN)),
)
