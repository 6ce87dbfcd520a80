// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Functions of one int8, as the table of all their results.
#include <executorch/kernels/loops/loop_nest.h>
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/kernels/quantized/fused.h>

namespace executorch::kernels::quantized {

/// out = table[input + 128], of any sizes.
Tensor& lookup_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& table,
                   Tensor& out) {
  if (!expect_int8(ctx, "input", input) || !expect_int8(ctx, "table", table) ||
      !expect_int8(ctx, "out", out) ||
      !ET_EXPECT(ctx, table.dim() == 1 && table.size(0) == 256, "table must be [256], found %s",
                 ShapeText(table).text) ||
      !resize_like(ctx, out, input)) {
    return out;
  }
  const int8_t* const results = table.const_data_ptr<int8_t>() + 128;
  const LoopNest nest{Strided(out), Strided(input)};
  nest.for_each_row([&](char* const* at) {
    const int64_t to_step = nest.stride(0), from_step = nest.stride(1), n = nest.row();
    auto* to = reinterpret_cast<int8_t*>(at[0]);
    const auto* from = reinterpret_cast<const int8_t*>(at[1]);
    for (int64_t i = 0; i < n; ++i) to[i * to_step] = results[from[i * from_step]];
  });
  return out;
}

}  // namespace executorch::kernels::quantized
