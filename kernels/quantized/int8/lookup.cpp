// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Functions of one 8-bit integer, by a table of all results.
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/kernels/quantized/int8/operands.h>

namespace executorch::kernels::quantized {

namespace {

bool expect_byte(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor) {
  const ScalarType dtype = tensor.scalar_type();
  return ET_EXPECT(ctx, dtype == ScalarType::Char || dtype == ScalarType::Byte,
                   "%s must be int8 or uint8, found %s", name, name_of(dtype));
}

}  // namespace

/// out = table[input - the smallest integer of its dtype], of any sizes.
Tensor& lookup_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& table,
                   Tensor& out) {
  if (!expect_byte(ctx, "input", input) || !expect_byte(ctx, "table", table) ||
      !expect_same_dtype(ctx, "table", table, "out", out) ||
      !ET_EXPECT(ctx, table.dim() == 1 && table.size(0) == 256, "table must be [256], found %s",
                 ShapeText(table).text) ||
      !resize_like(ctx, out, input)) {
    return out;
  }
  const auto* const results = static_cast<const uint8_t*>(table.const_data_ptr());
  // int8 begins at -128, whose byte is 128.
  const uint8_t flip = input.scalar_type() == ScalarType::Char ? 0x80 : 0;
  const LoopNest nest{Strided(out), Strided(input)};
  nest.for_each_row([&](char* const* at) {
    const int64_t to_step = nest.stride(0), from_step = nest.stride(1), n = nest.row();
    auto* to = reinterpret_cast<uint8_t*>(at[0]);
    const auto* from = reinterpret_cast<const uint8_t*>(at[1]);
    for (int64_t i = 0; i < n; ++i) to[i * to_step] = results[from[i * from_step] ^ flip];
  });
  return out;
}

}  // namespace executorch::kernels::quantized
