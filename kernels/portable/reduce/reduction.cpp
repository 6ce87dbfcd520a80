// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/loops/dtype/number.h>
#include <executorch/kernels/loops/memory/divide.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/portable/reduce/reduction.h>

#include <algorithm>
#include <cstdlib>

namespace executorch::kernels::portable {
namespace {

class Reducer {
 public:
  Reducer(const Accumulator& accumulator, const Parts& parts, int64_t count, double parameter)
      : a_(accumulator),
        count_(count),
        parameter_(parameter),
        reduced_(parts.reduced, parts.reduced),
        kept_(parts.out, parts.kept),
        base_(parts.reduced.data),
        load_(load(parts.kept.dtype, accumulator.input)),
        store_(store(accumulator.output, parts.out.dtype)),
        direct_(parts.kept.dtype == dtype_of(accumulator.input)),
        along_(kept_.row() == 1 || std::abs(reduced_.stride(1)) <= std::abs(kept_.stride(1))) {}

  bool valid() const { return load_ != nullptr && store_ != nullptr; }
  const LoopNest& results() const { return kept_; }
  /// How many results are computed side by side, one element of each after the other.
  int64_t block() const { return along_ ? 1 : a_.width; }

  /// Computes the results that the nest walks: all results or a part of them.
  void run(const LoopNest& nest) const {
    Memory memory;
    const int64_t lanes = std::clamp(count_, int64_t(1), a_.lanes);
    nest.for_each_row([&](char* const* at) {
      for (int64_t first = 0; first < nest.row(); first += a_.width) {
        const int64_t n = std::min(nest.row() - first, a_.width);
        const char* const from = at[1] + first * kept_.stride(1);
        a_.start(memory.totals, memory.lanes, n, along_ ? lanes : n);
        for (int64_t i = 0; along_ && i < n; ++i) {
          take_along(memory, from + i * kept_.stride(1), lanes, i);
        }
        if (!along_) take_across(memory, from, n);
        a_.finish(memory.totals, memory.results, n, count_, parameter_);
        store_(at[0] + first * kept_.stride(0), kept_.stride(0), memory.results, size_of(a_.output),
               n);
      }
    });
  }

 private:
  /// A thread's buffers.
  struct Memory {
    alignas(16) char totals[kTotalsBytes];
    alignas(16) char lanes[kTotalsBytes];
    alignas(16) char results[kBlock * 8];
    alignas(16) char block[kBlock * 16];
  };

  bool in_place(int64_t stride) const { return direct_ && stride == size_of(a_.input); }
  const char* read(Memory& memory, const char* from, int64_t stride, int64_t n) const {
    if (in_place(stride)) return from;
    load_(memory.block, size_of(a_.input), from, stride, n);
    return memory.block;
  }

  // All that is reduced into one total.
  void take_along(Memory& memory, const char* from, int64_t lanes, int64_t total) const {
    const int64_t shift = from - base_, stride = reduced_.stride(1);
    const int64_t limit = a_.lane_limit * a_.lanes;
    const int64_t capacity = int64_t(sizeof(memory.block)) / size_of(a_.input);
    const int64_t run = in_place(stride) ? limit : std::min(limit, capacity);
    int64_t taken = 0;
    reduced_.for_each_row([&](char* const* at) {
      for (int64_t i = 0; i < reduced_.row(); i += run) {
        const int64_t n = std::min(reduced_.row() - i, run);
        a_.take(memory.lanes, read(memory, at[1] + shift + i * stride, stride, n), n);
        taken += std::max(n, a_.lanes);  // shorter runs use the first lanes only
        if (taken >= limit) {
          a_.merge(memory.totals, memory.lanes, lanes, total);
          taken = 0;
        }
      }
    });
    a_.merge(memory.totals, memory.lanes, lanes, total);
  }

  // One element of each of n results after another; several where they need not be converted.
  void take_across(Memory& memory, const char* from, int64_t n) const {
    const int64_t shift = from - base_, step = reduced_.stride(1);
    const bool many = in_place(kept_.stride(1));
    int64_t taken = 0;
    reduced_.for_each_row([&](char* const* at) {
      for (int64_t i = 0, rows; i < reduced_.row(); i += rows) {
        rows = many ? std::min(reduced_.row() - i, a_.lane_limit - taken) : 1;
        const char* const x = read(memory, at[1] + shift + i * step, kept_.stride(1), n);
        a_.take_rows(memory.lanes, x, step, rows, n);
        taken += rows;
        if (taken == a_.lane_limit) {
          a_.merge(memory.totals, memory.lanes, n, -1);
          taken = 0;
        }
      }
    });
    a_.merge(memory.totals, memory.lanes, n, -1);
  }

  const Accumulator& a_;
  const int64_t count_;
  const double parameter_;
  const LoopNest reduced_, kept_;
  const char* const base_;
  const Convert load_, store_;
  const bool direct_;
  const bool along_;  ///< elements of a result are closer in memory than neighboring results
};

}  // namespace

void reduce(KernelRuntimeContext& ctx, const Accumulator* accumulator, const Tensor& self,
            uint32_t mask, bool keepdim, Tensor& out, double parameter) {
  if (!ET_EXPECT(ctx, accumulator != nullptr, "this build leaves out %s",
                 name_of(self.scalar_type())) ||
      !resize(ctx, out, reduced_shape(self, mask, keepdim))) {
    return;
  }
  const Reducer reducer(*accumulator, Parts(self, mask, keepdim, out), reduced_count(self, mask),
                        parameter);
  if (ET_EXPECT(ctx, reducer.valid(), "cannot reduce %s to %s", name_of(self.scalar_type()),
                name_of(out.scalar_type()))) {
    NestDivision(reducer.results(), reducer.block(), self.numel())
        .run([&](int64_t, const LoopNest& part) { reducer.run(part); });
  }
}

}  // namespace executorch::kernels::portable
