// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Linear layers with weights of float32, bfloat16 and float16 that multiply float32, in turns:
// processor time of one thread, in microseconds, the minimum of many calls.
//
//   cmake --build BUILD --target engine_weights
//   BUILD/test/engine_weights [columns] [depth] [rounds]
#include <executorch/kernels/engine/gemm/narrow_weights.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "bench.h"

namespace {

using namespace executorch::kernels::engine;  // NOLINT: the subject
using namespace engine_bench;                 // NOLINT: shared by these programs

using Memory = std::unique_ptr<void, Free>;

size_t argument(int argc, char** argv, int index, size_t otherwise) {
  return argc > index ? std::strtoul(argv[index], nullptr, 10) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t columns = argument(argc, argv, 1, 2048), depth = argument(argc, argv, 2, 2048);
  const size_t rounds = argument(argc, argv, 3, 20);
  constexpr size_t kRows[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 128};
  constexpr size_t kMaxRows = 128;
  if (!NarrowWeightGemm::is_available()) {
    std::printf("needs AVX2, found %s\n", name_of(instruction_set()));
    return 1;
  }
  CallingThread alone;
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<float> left(kMaxRows * depth), right(columns * depth), out(kMaxRows * columns);
  for (float& value : left) value = number(engine);
  for (float& value : right) value = number(engine);
  const std::vector<uint16_t> halves(columns * depth, 0x3C01);

  const Gemm wide = Gemm::plan(columns, depth);
  const NarrowWeightGemm narrow[] = {NarrowWeightGemm::plan(columns, depth, NarrowType::BFloat16),
                                     NarrowWeightGemm::plan(columns, depth, NarrowType::Float16)};
  Memory packed[3] = {aligned(wide.packed_bytes()), aligned(narrow[0].packed_bytes()),
                      aligned(narrow[1].packed_bytes())};
  wide.pack({right.data(), 1, depth}, nullptr, static_cast<float*>(packed[0].get()), alone);
  for (size_t i = 0; i < 2; ++i) {
    narrow[i].pack({halves.data(), 1, depth}, nullptr, static_cast<float*>(packed[1 + i].get()),
                   alone);
  }
  const Memory scratch = aligned(narrow[0].scratch_bytes(kMaxRows, 1));

  std::printf("%zu columns of %zu elements, %s, microseconds\n", columns, depth,
              name_of(instruction_set()));
  std::printf("%6s%12s%12s%12s\n", "rows", "float32", "bfloat16", "float16");
  for (size_t rows : kRows) {
    double fastest[3] = {1, 1, 1};
    for (size_t round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < 3; ++i) {
        GemmCall call;
        call.rows = rows;
        call.left = left.data();
        call.left_stride = depth;
        call.packed = static_cast<const float*>(packed[i].get());
        call.out = out.data();
        call.out_stride = columns;
        call.scratch = scratch.get();
        const double begin = now();
        i == 0 ? wide.run(call, alone) : narrow[i - 1].run(call, alone);
        fastest[i] = std::min(fastest[i], now() - begin);
      }
    }
    std::printf("%6zu%12.1f%12.1f%12.1f\n", rows, 1e6 * fastest[0], 1e6 * fastest[1],
                1e6 * fastest[2]);
    std::fflush(stdout);
  }
  return 0;
}
