// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Matrix products of int8 in tiles of 8 rows and 32 columns, for processors with AVX-512 and its
// instructions for products of bytes (VNNI). XNNPACK is built with them (cmake/xnnpack_changes.py)
// in the place of its own tiles of 7 or 10 rows and 16 columns. These instructions take bytes
// without a sign on one side: XNNPACK moves every 8 bytes of A by 128 anew for each 16 columns,
// which takes a third of the ports that multiply, and fills K up to multiples of 8, of which an
// image of 3 channels has none. Here A's rows are moved once for all columns, and K is filled up to
// multiples of 4. The results are the same to the bit.
#pragma once

#include "integer_product.h"

/// Those of integer_product.h for up to 8 rows; W is packed with nr = 32 and kr = 4.
EXECUTORCH_QD8_GEMM(executorch_qd8_f32_qc8w_gemm_8x32c4_vnni);
EXECUTORCH_QD8_IGEMM(executorch_qd8_f32_qc8w_igemm_8x32c4_vnni);
EXECUTORCH_QD8_IGEMM(executorch_qd8_f32_qc8w_igemm_1x32c4_vnni);
EXECUTORCH_QS8_GEMM(executorch_qs8_qc8w_gemm_8x32c4_vnni);
EXECUTORCH_QS8_IGEMM(executorch_qs8_qc8w_igemm_8x32c4_vnni);
EXECUTORCH_QS8_IGEMM(executorch_qs8_qc8w_igemm_1x32c4_vnni);
