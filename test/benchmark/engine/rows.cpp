// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Functions of the engine whose time is proportional to their numbers, on every instruction set of
// this processor: processor time of one thread, in microseconds, the minimum of many calls.
//
//   cmake --build BUILD --target engine_rows
//   BUILD/test/engine_rows [part of a name]
#include <executorch/kernels/engine/conv/conv.h>
#include <executorch/kernels/engine/eltwise/eltwise.h>
#include <executorch/kernels/engine/norm/norm.h>
#include <executorch/kernels/engine/pool/pool.h>
#include <executorch/kernels/engine/qgemm/qconv.h>
#include <executorch/kernels/engine/softmax/softmax.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench.h"

namespace {

using namespace executorch::kernels::engine;  // NOLINT: the subject
using namespace engine_bench;                 // NOLINT: shared by these programs

class Bench {
 public:
  explicit Bench(const char* part) : part_(part), in(size_t{1} << 20), out(in.size()) {
    std::mt19937 engine(1);
    std::uniform_real_distribution<float> of(0.1f, 1);
    for (float& value : in) value = of(engine);
#if defined(__x86_64__)
    // Those with VNNI differ from the ones before in int8 alone.
    const InstructionSet all[] = {InstructionSet::Scalar, InstructionSet::Sse2,
                                  InstructionSet::Avx2,   InstructionSet::AvxVnni,
                                  InstructionSet::Avx512, InstructionSet::Avx512Vnni};
#else
    const InstructionSet all[] = {InstructionSet::Scalar, InstructionSet::Neon};
#endif
    for (InstructionSet set : all) {
      if (has_instruction_set(set)) sets_.push_back(set);
    }
    std::printf("%-28s", "microseconds");
    for (InstructionSet set : sets_) std::printf("%12s", name_of(set));
    std::printf("\n");
  }

  /// Times run(set) on each set.
  template <class F>
  void time(const std::string& name, F&& run) const {
    if (name.find(part_) == std::string::npos) return;
    std::printf("%-28s", name.c_str());
    for (InstructionSet set : sets_) {
      double fastest = 1;
      for (int round = 0; round < 40; ++round) {
        const double begin = now();
        run(set);
        fastest = std::min(fastest, now() - begin);
      }
      std::printf("%12.2f", 1e6 * fastest);
    }
    std::printf("\n");
    std::fflush(stdout);
  }

 private:
  const char* part_;
  std::vector<InstructionSet> sets_;

 public:
  std::vector<float> in, out;
  mutable CallingThread alone;
};

constexpr size_t kNumbers = size_t{1} << 16;

void time_functions(Bench& bench) {
  const auto time_unary = [&](const char* name, Unary function) {
    const UnaryCall call = {function, 0, 1, bench.in.data(), bench.out.data(), kNumbers};
    bench.time(name, [&](InstructionSet set) { unary(call, bench.alone, set); });
  };
#define ET_UNARY(name) time_unary(#name, Unary::name);
#include <executorch/kernels/engine/eltwise/functions.inc>
#undef ET_UNARY
  const size_t sizes[] = {kNumbers}, strides[] = {1};
  const auto time_binary = [&](const char* name, Binary function) {
    const BinaryCall call = {
        function,        1, sizes, strides, strides, bench.in.data(), bench.in.data() + kNumbers,
        bench.out.data()};
    bench.time(name, [&](InstructionSet set) { binary(call, bench.alone, set); });
  };
#define ET_BINARY(name) time_binary(#name, Binary::name);
#include <executorch/kernels/engine/eltwise/functions.inc>
#undef ET_BINARY
}

void time_rows(Bench& bench) {
  for (size_t length : {64, 197, 512}) {
    SoftmaxCall call = {};
    call.rows = 384;
    call.length = call.in_stride = call.out_stride = length;
    call.in = bench.in.data();
    call.out = bench.out.data();
    bench.time("softmax 384 x " + std::to_string(length),
               [&](InstructionSet set) { softmax(call, bench.alone, set); });
  }
  for (size_t length : {100, 192, 768}) {
    NormCall call = {};
    call.rows = 197;
    call.length = length;
    call.in = call.weight = call.bias = bench.in.data();
    call.out = bench.out.data();
    call.epsilon = 1e-5f;
    bench.time("layer norm 197 x " + std::to_string(length),
               [&](InstructionSet set) { layer_norm(call, bench.alone, set); });
  }
}

void time_windows(Bench& bench) {
  for (size_t size : {56, 112}) {
    AveragePoolCall call = {};
    PoolCall& p = call.pool;
    p.kernel_height = p.kernel_width = 3;
    p.stride_height = p.stride_width = 2;
    p.pad_top = p.pad_left = call.pad_bottom = call.pad_right = 1;
    p.batch = 1;
    p.channels = p.input_pixel_stride = p.output_pixel_stride = 64;
    p.input_size = {size, size};
    p.output_size = {size / 2, size / 2};
    p.input = bench.in.data();
    p.output = bench.out.data();
    bench.time("max pool 3x3/2 64 @" + std::to_string(size),
               [&](InstructionSet set) { max_pool2d(p, bench.alone, set); });
    bench.time("average pool 3x3/2 64 @" + std::to_string(size),
               [&](InstructionSet set) { average_pool2d(call, bench.alone, set); });
  }
  const ImageSize size = {56, 56};
  for (size_t kernel : {3, 5, 7}) {
    for (size_t stride : {1, 2}) {
      Conv2dParams p;
      p.groups = 96;
      p.kernel_height = p.kernel_width = kernel;
      p.stride_height = p.stride_width = stride;
      p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = kernel / 2;
      bench.time("depthwise " + std::to_string(kernel) + "/" + std::to_string(stride) + " 96 @56",
                 [&](InstructionSet set) {
                   static std::unique_ptr<void, Free> packed, scratch;
                   const Conv2d conv = Conv2d::plan(p, 1, size, set);
                   packed = aligned(conv.packed_bytes());
                   scratch = aligned(conv.scratch_bytes(1, size, 1));
                   auto* const to = static_cast<float*>(packed.get());
                   conv.pack(ConvWeights::ohwi(p, bench.in.data(), nullptr), to, bench.alone);
                   Conv2dCall call = {};
                   call.batch = 1;
                   call.input_size = size;
                   call.input = bench.in.data();
                   call.packed = to;
                   call.output = bench.out.data();
                   call.input_pixel_stride = call.output_pixel_stride = p.groups;
                   call.scratch = scratch.get();
                   conv.run(call, bench.alone);
                 });
    }
  }
}

void time_int8_depthwise(Bench& bench) {
  const ImageSize size = {28, 28};
  const auto* const bytes = reinterpret_cast<const int8_t*>(bench.in.data());
  for (size_t kernel : {3, 5}) {
    for (size_t stride : {1, 2}) {
      Conv2dParams p;
      p.groups = 192;
      p.kernel_height = p.kernel_width = kernel;
      p.stride_height = p.stride_width = stride;
      p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = kernel / 2;
      const QConvWeights weights = {bytes, kernel * kernel, kernel, 1, 1};
      bench.time(
          "int8 depthwise " + std::to_string(kernel) + "/" + std::to_string(stride) + " 192 @28",
          [&](InstructionSet set) {
            static std::unique_ptr<void, Free> packed, scratch;
            const QConv2d conv = QConv2d::plan(p, set);
            packed = aligned(conv.packed_bytes());
            scratch = aligned(conv.scratch_bytes(1, size, 1));
            conv.pack(weights, {bench.in.data(), 3}, packed.get());
            QConv2dCall call;
            call.batch = 1;
            call.input_size = size;
            call.input = bytes;
            call.packed = packed.get();
            call.output = reinterpret_cast<int8_t*>(bench.out.data());
            call.input_pixel_stride = call.output_pixel_stride = p.groups;
            call.scratch = scratch.get();
            conv.run(call, bench.alone);
          });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Bench bench(argc > 1 ? argv[1] : "");
  time_functions(bench);
  time_rows(bench);
  time_windows(bench);
  time_int8_depthwise(bench);
  return 0;
}
