// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Multiply-add instructions alone: operands in registers, and as many independent sums as hide the
// latency. Their time bounds that of products on this processor from below.
// multiply_adds.py compiles this file and calls it.
#include <executorch/kernels/engine/instruction_set.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using executorch::kernels::engine::has_instruction_set;
using executorch::kernels::engine::instruction_set;
using executorch::kernels::engine::InstructionSet;

/// operations: of a round; a multiply-add is two.
struct Instruction {
  const char* precision;
  const char* name;
  InstructionSet set;
  size_t operations;
  void (*run)(size_t rounds);
};

#if defined(__x86_64__)
constexpr size_t kSums = 12, kTiles = 6;
/// The bits of 1 in float32, of 1 and 0 in bfloat16. Sums of such products stay normal numbers.
constexpr uint32_t kFactors = 0x3f800000;

// Assembly, because a compiler may change the order of intrinsics, spill sums, or fold the loop.
// clang-format off
#define FOR_SUMS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define FOR_TILES(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define ZERO_SUM(i) "vpxor %%xmm" #i ", %%xmm" #i ", %%xmm" #i "\n"
#define ZERO_TILE(i) "tilezero %%tmm" #i "\n"
#define ROUNDS(text) "1:\n" text "dec %[n]\n" "jnz 1b\n"
// Registers 14 and 15 hold the factors, 13 a product before it is added.
#define RUN_SUMS(width, MULTIPLY_ADD)                                                 \
  __asm__ volatile(FOR_SUMS(ZERO_SUM)                                                 \
                   "vpbroadcastd %[factors], %%" #width "14\n"                        \
                   "vpbroadcastd %[factors], %%" #width "15\n"                        \
                   ROUNDS(FOR_SUMS(MULTIPLY_ADD)) "vzeroupper\n"                      \
                   : [n] "+r"(rounds) : [factors] "m"(kFactors)                       \
                   : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",    \
                     "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",      \
                     "xmm14", "xmm15")
#define RUN_TILES(MULTIPLY_ADD)                                                       \
  __asm__ volatile("ldtilecfg %[config]\n" FOR_TILES(ZERO_TILE)                       \
                   ZERO_TILE(6) ZERO_TILE(7)                                          \
                   ROUNDS(FOR_TILES(MULTIPLY_ADD)) "tilerelease\n"                    \
                   : [n] "+r"(rounds) : [config] "m"(kWholeTiles) : "cc")
#define FMA_256(i) "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #i "\n"
#define FMA_512(i) "vfmadd231ps %%zmm14, %%zmm15, %%zmm" #i "\n"
#define BF16_512(i) "vdpbf16ps %%zmm14, %%zmm15, %%zmm" #i "\n"
#define BF16_TILE(i) "tdpbf16ps %%tmm7, %%tmm6, %%tmm" #i "\n"
#define WORDS_256(i) "vpmaddwd %%ymm14, %%ymm15, %%ymm13\n vpaddd %%ymm13, %%ymm" #i ", %%ymm" #i "\n"
#define BYTES_256(i) "%{vex%} vpdpbusd %%ymm14, %%ymm15, %%ymm" #i "\n"
#define BYTES_512(i) "vpdpbusd %%zmm14, %%zmm15, %%zmm" #i "\n"
#define BYTES_TILE(i) "tdpbssd %%tmm7, %%tmm6, %%tmm" #i "\n"
// clang-format on

/// The operand of ldtilecfg: eight tiles of 16 rows of 64 bytes.
struct TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);
constexpr TileConfig kWholeTiles;

constexpr size_t of_sums(size_t factors) { return 2 * factors * kSums; }
constexpr size_t of_tiles(size_t depth) { return 2 * 16 * 16 * depth * kTiles; }

/// For each precision, from the lowest set to the highest. AVX2 multiplies int8 as the engine does:
/// extended to 16 bits.
constexpr Instruction kInstructions[] = {
    {"fp32", "vfmadd231ps, 256 bits", InstructionSet::Avx2, of_sums(8),
     [](size_t rounds) { RUN_SUMS(ymm, FMA_256); }},
    {"fp32", "vfmadd231ps, 512 bits", InstructionSet::Avx512, of_sums(16),
     [](size_t rounds) { RUN_SUMS(zmm, FMA_512); }},
    {"bf16", "vfmadd231ps, 256 bits", InstructionSet::Avx2, of_sums(8),
     [](size_t rounds) { RUN_SUMS(ymm, FMA_256); }},
    {"bf16", "vfmadd231ps, 512 bits", InstructionSet::Avx512, of_sums(16),
     [](size_t rounds) { RUN_SUMS(zmm, FMA_512); }},
    {"bf16", "vdpbf16ps, 512 bits", InstructionSet::Avx512Bf16, of_sums(32),
     [](size_t rounds) { RUN_SUMS(zmm, BF16_512); }},
    {"bf16", "tdpbf16ps", InstructionSet::Amx, of_tiles(32),
     [](size_t rounds) { RUN_TILES(BF16_TILE); }},
    {"int8", "vpmaddwd and vpaddd, 256 bits", InstructionSet::Avx2, of_sums(16),
     [](size_t rounds) { RUN_SUMS(ymm, WORDS_256); }},
    {"int8", "vpdpbusd, 256 bits", InstructionSet::AvxVnni, of_sums(32),
     [](size_t rounds) { RUN_SUMS(ymm, BYTES_256); }},
    {"int8", "vpdpbusd, 512 bits", InstructionSet::Avx512Vnni, of_sums(64),
     [](size_t rounds) { RUN_SUMS(zmm, BYTES_512); }},
    {"int8", "tdpbssd", InstructionSet::Amx, of_tiles(64),
     [](size_t rounds) { RUN_TILES(BYTES_TILE); }},
};
#else
constexpr Instruction kInstructions[] = {
    {"", "", InstructionSet::Scalar, 0, [](size_t) {}},
};
#endif

}  // namespace

extern "C" {

/// The instruction of the highest set in effect; null for a precision without one.
const void* peak_instruction(const char* precision) {
  const Instruction* best = nullptr;
  for (const Instruction& row : kInstructions) {
    const bool is_usable = row.set <= instruction_set() && has_instruction_set(row.set);
    if (is_usable && std::string_view(row.precision) == precision) best = &row;
  }
  return best;
}

const char* peak_name(const void* instruction) {
  return static_cast<const Instruction*>(instruction)->name;
}

/// Executes at least this number of operations, divided among the threads.
void peak_run(const void* instruction, double operations, int threads) {
  const Instruction& row = *static_cast<const Instruction*>(instruction);
  const auto rounds = size_t(operations / double(threads) / double(row.operations)) + 1;
#pragma omp parallel num_threads(threads)
  row.run(rounds);
}
}
