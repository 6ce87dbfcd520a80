// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Matrix products of int8 in tiles of 6 rows and 16 columns, for processors with AVX2 but without
// instructions for products of bytes (VNNI) or AVX-512. XNNPACK is built with them
// (cmake/xnnpack_changes.py) in the place of its own tiles of 3 or 4 rows and 8 columns: those
// extend every byte of A anew for each 8 columns, and their 16 sums and operands do not fit the 16
// registers. Here A's rows are extended to 16 bits once, two steps along K are one multiplication,
// and no sum has to be added up across a register. The results are the same to the bit.
#pragma once

#include "integer_product.h"

/// Those of integer_product.h for up to 6 rows; W is packed with nr = 16 and kr = 2.
EXECUTORCH_QD8_GEMM(executorch_qd8_f32_qc8w_gemm_6x16c2_avx2);
EXECUTORCH_QD8_IGEMM(executorch_qd8_f32_qc8w_igemm_6x16c2_avx2);
EXECUTORCH_QD8_IGEMM(executorch_qd8_f32_qc8w_igemm_1x16c2_avx2);
EXECUTORCH_QS8_GEMM(executorch_qs8_qc8w_gemm_6x16c2_avx2);
EXECUTORCH_QS8_IGEMM(executorch_qs8_qc8w_igemm_6x16c2_avx2);
EXECUTORCH_QS8_IGEMM(executorch_qs8_qc8w_igemm_1x16c2_avx2);
