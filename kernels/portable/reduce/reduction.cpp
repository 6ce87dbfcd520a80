// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/reduce/reduction.h>

#include <executorch/kernels/portable/loops/loop_nest.h>

namespace executorch::kernels::portable {
namespace {

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

// self taken apart: the dimensions that stay and those that go, and out without the latter.
struct Parts {
  Strided kept, gone, out;

  Parts(const Tensor& self, uint32_t mask, bool keepdim, const Tensor& result)
      : kept(self), gone(self), out(result) {
    const Strided whole(self);
    const Strided target(result);
    kept.rank = gone.rank = out.rank = 0;
    int to = 0;
    for (int d = 0; d < whole.rank; ++d) {
      const bool reduced = (mask >> d & 1) != 0;
      (reduced ? gone : kept).append(whole.sizes[d], whole.strides[d]);
      if (!reduced) out.append(target.sizes[to], target.strides[to]);
      if (!reduced || keepdim) ++to;
    }
  }
};

class Reducer {
 public:
  Reducer(const Accumulator& accumulator, const Parts& parts, int64_t count, double parameter)
      : a_(accumulator),
        count_(count),
        parameter_(parameter),
        gone_(parts.gone, parts.gone),
        kept_(parts.out, parts.kept),
        base_(parts.gone.data),
        load_(load(parts.kept.dtype, accumulator.input)),
        store_(store(accumulator.output, parts.out.dtype)),
        direct_(parts.kept.dtype == dtype_of(accumulator.input)) {}

  bool valid() const { return load_ != nullptr && store_ != nullptr; }

  void run() {
    const bool along = kept_.row() == 1 || magnitude(gone_.stride(1)) <= magnitude(kept_.stride(1));
    const int64_t block = along ? 1 : kAccumulators;
    kept_.for_each_row([&](char* const* at) {
      for (int64_t first = 0; first < kept_.row(); first += block) {
        const int64_t n = kept_.row() - first < block ? kept_.row() - first : block;
        const char* const from = at[1] + first * kept_.stride(1);
        a_.start(accumulators_, n);
        along ? take_along(from) : take_across(from, n);
        a_.finish(accumulators_, results_, n, count_, parameter_);
        store_(at[0] + first * kept_.stride(0), kept_.stride(0), results_, size_of(a_.output), n);
      }
    });
  }

 private:
  const char* read(const char* from, int64_t stride, int64_t n) {
    if (direct_ && stride == size_of(a_.input)) return from;
    load_(block_, size_of(a_.input), from, stride, n);
    return block_;
  }

  // All that is reduced into one accumulator.
  void take_along(const char* from) {
    const int64_t shift = from - base_, stride = gone_.stride(1);
    gone_.for_each_row([&](char* const* at) {
      for (int64_t i = 0; i < gone_.row(); i += kBlock) {
        const int64_t n = gone_.row() - i < kBlock ? gone_.row() - i : kBlock;
        a_.take_run(accumulators_, read(at[1] + shift + i * stride, stride, n), n);
      }
    });
  }

  // One element of each of n results at a time.
  void take_across(const char* from, int64_t n) {
    const int64_t shift = from - base_;
    gone_.for_each_outer(gone_.rank(), [&](char* const* at) {
      a_.take_each(accumulators_, read(at[1] + shift, kept_.stride(1), n), n);
    });
  }

  const Accumulator& a_;
  const int64_t count_;
  const double parameter_;
  const LoopNest gone_, kept_;
  const char* const base_;
  const Convert load_, store_;
  const bool direct_;
  alignas(16) char accumulators_[kAccumulators * kAccumulatorBytes];
  alignas(16) char results_[kAccumulators * 8];
  alignas(16) char block_[kBlock * 8];
};

}  // namespace

bool reduced_dims(KernelRuntimeContext& ctx, const Tensor& self,
                  std::optional<ArrayRef<int64_t>> dims, uint32_t* mask) {
  *mask = ~uint32_t(0);
  if (!dims.has_value() || dims->size() == 0) return true;
  return expect_dims(ctx, *dims, static_cast<int>(self.dim()), mask);
}

Shape reduced_shape(const Tensor& self, uint32_t mask, bool keepdim) {
  const Shape from(self);
  Shape shape;
  for (int d = 0; d < from.rank; ++d) {
    const bool reduced = (mask >> d & 1) != 0;
    if (!reduced || keepdim) shape.append(reduced ? 1 : from.sizes[d]);
  }
  return shape;
}

int64_t reduced_count(const Tensor& self, uint32_t mask) {
  const Shape from(self);
  int64_t count = 1;
  for (int d = 0; d < from.rank; ++d) {
    if ((mask >> d & 1) != 0) count *= from.sizes[d];
  }
  return count;
}

void reduce(KernelRuntimeContext& ctx, const Accumulator& accumulator, const Tensor& self,
            uint32_t mask, bool keepdim, Tensor& out, double parameter) {
  if (!resize(ctx, out, reduced_shape(self, mask, keepdim))) return;
  Reducer reducer(accumulator, Parts(self, mask, keepdim, out), reduced_count(self, mask),
                  parameter);
  if (ET_EXPECT(ctx, reducer.valid(), "cannot reduce %s to %s", name_of(self.scalar_type()),
                name_of(out.scalar_type()))) {
    reducer.run();
  }
}

}  // namespace executorch::kernels::portable
