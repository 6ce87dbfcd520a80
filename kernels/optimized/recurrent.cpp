// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Recurrent layers, those of float32 with the engine's loops.
#include <executorch/kernels/engine/gemm/few_rows.h>
#include <executorch/kernels/engine/recurrent/cells.h>
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/portable/recurrent/kernels.h>

namespace executorch::kernels::optimized {
namespace {

static_assert(RowsProduct<float>::kMaxRows <= engine::kRowsOfPass);

void multiply_rows(const RowsProduct<float>& p) {
  engine::FewRowsCall call;
  call.rows = p.rows;
  call.columns = p.columns;
  call.depth = p.depth;
  call.left = p.left;
  call.left_stride = p.left_stride;
  call.right = {p.right, 1, p.right_stride};
  call.out = p.out;
  call.out_stride = p.out_stride;
  engine::few_rows_function()(call);
}

RecurrentLoops loops(Recurrence kind) {
  RecurrentLoops loops = plain_loops(kind);
  loops.f32 = {engine::cell_step(kind), multiply_rows};
  return loops;
}

}  // namespace

EXECUTORCH_RECURRENT_KERNELS(loops)

}  // namespace executorch::kernels::optimized
