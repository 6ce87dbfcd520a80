// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Padding with a value: any dtype; negative padding crops.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/copy.h>

#include <algorithm>

namespace executorch::kernels::portable {
namespace {

// Sums of two stay in range, and no tensor is larger.
constexpr int64_t kLimit = int64_t(1) << 31;

/// The paddings before and after every dimension: `pad` lists the last dimension first.
struct Paddings {
  int64_t before[kMaxRank] = {};
  int64_t after[kMaxRank] = {};
};

bool read_paddings(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> pad,
                   Paddings* paddings, Shape* shape) {
  const int rank = int(self.dim());
  if (!ET_EXPECT(ctx, pad.size() % 2 == 0 && pad.size() <= size_t(2 * rank),
                 "pad must have an even number of values, at most %d, found %zu", 2 * rank,
                 pad.size())) {
    return false;
  }
  *shape = Shape(self);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int d = rank - 1 - int(i);
    paddings->before[d] = pad[2 * i];
    paddings->after[d] = pad[2 * i + 1];
    const bool fits = pad[2 * i] > -kLimit && pad[2 * i] < kLimit && pad[2 * i + 1] > -kLimit &&
                      pad[2 * i + 1] < kLimit;
    if (fits) shape->sizes[d] += pad[2 * i] + pad[2 * i + 1];
    if (!ET_EXPECT(ctx, fits && shape->sizes[d] >= 0,
                   "padding by %" PRId64 " and %" PRId64 " does not fit dimension %d of sizes %s",
                   pad[2 * i], pad[2 * i + 1], d, ShapeText(self).text)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Tensor& constant_pad_nd_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> pad,
                            const Scalar& value, Tensor& out) {
  Paddings paddings;
  Shape shape;
  if (!expect_dtype(ctx, "out", out, self.scalar_type()) ||
      !read_paddings(ctx, self, pad, &paddings, &shape) || !resize(ctx, out, shape)) {
    return out;
  }
  Strided from(self), to(out);
  for (int d = 0; d < to.rank; ++d) {
    // What the input covers of this dimension; the rest of it is filled and left behind.
    const int64_t begin = std::clamp<int64_t>(paddings.before[d], 0, to.sizes[d]);
    const int64_t end =
        std::clamp(to.sizes[d] - std::max<int64_t>(paddings.after[d], 0), begin, to.sizes[d]);
    Strided low = to, high = to;
    low.narrow(d, 0, begin);
    high.narrow(d, end, to.sizes[d] - end);
    if (!fill(ctx, low, value) || !fill(ctx, high, value)) return out;
    to.narrow(d, begin, end - begin);
    from.narrow(d, std::max<int64_t>(-paddings.before[d], 0), end - begin);
  }
  copy(ctx, to, from);
  return out;
}

}  // namespace executorch::kernels::portable
