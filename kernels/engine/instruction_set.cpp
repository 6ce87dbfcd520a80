// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/runtime/platform/log.h>

#include <atomic>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace executorch::kernels::engine {
namespace {

struct Name {
  InstructionSet set;
  const char* name;
};
constexpr Name kNames[] = {
    {InstructionSet::Scalar, "scalar"},
    {InstructionSet::Sse2, "sse2"},
    {InstructionSet::Neon, "neon"},
    {InstructionSet::Avx2, "avx2"},
    {InstructionSet::AvxVnni, "avxvnni"},
    {InstructionSet::Avx512, "avx512"},
    {InstructionSet::Avx512Vnni, "avx512vnni"},
    {InstructionSet::Avx512Bf16, "avx512bf16"},
    {InstructionSet::Avx512Fp16, "avx512fp16"},
    {InstructionSet::Amx, "amx"},
};
constexpr InstructionSet kHighest = InstructionSet::Amx;

constexpr uint32_t bit_of(InstructionSet set) { return uint32_t{1} << uint32_t(set); }

#if defined(__x86_64__)
/// The bits of leaf 7 that compilers do not all have names for.
struct Leaf7 {
  bool avx_vnni = false, avx512_bf16 = false, avx512_fp16 = false, amx = false;
};

Leaf7 read_leaf7() {
  constexpr uint32_t kAvxVnni = 1u << 4, kAvx512Bf16 = 1u << 5;                      // 7.1, eax
  constexpr uint32_t kAvx512Fp16 = 1u << 23;                                         // 7.0, edx
  constexpr uint32_t kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kAmxInt8 = 1u << 25;  // 7.0, edx
  constexpr uint32_t kAmx = kAmxBf16 | kAmxTile | kAmxInt8;
  Leaf7 leaf;
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return leaf;
  leaf.avx512_fp16 = (edx & kAvx512Fp16) != 0;
  leaf.amx = (edx & kAmx) == kAmx;
  const uint32_t last_subleaf = eax;
  if (last_subleaf < 1 || __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) == 0) return leaf;
  leaf.avx_vnni = (eax & kAvxVnni) != 0;
  leaf.avx512_bf16 = (eax & kAvx512Bf16) != 0;
  return leaf;
}

/// Linux saves tile state only for processes that requested it. On other systems there are no
/// tiles.
bool grants_tiles() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}
#endif

/// The sets that this processor has, as bits.
uint32_t detect() {
  uint32_t sets = bit_of(InstructionSet::Scalar);
#if defined(__x86_64__)
  sets |= bit_of(InstructionSet::Sse2);
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("f16c");
  if (!has_avx2) return sets;
  sets |= bit_of(InstructionSet::Avx2);
  const Leaf7 leaf = read_leaf7();
  if (leaf.avx_vnni) sets |= bit_of(InstructionSet::AvxVnni);
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!has_avx512) return sets;
  sets |= bit_of(InstructionSet::Avx512);
  if (!__builtin_cpu_supports("avx512vnni")) return sets;
  sets |= bit_of(InstructionSet::Avx512Vnni);
  if (!leaf.avx512_bf16) return sets;
  sets |= bit_of(InstructionSet::Avx512Bf16);
  if (!leaf.avx512_fp16) return sets;
  sets |= bit_of(InstructionSet::Avx512Fp16);
  if (leaf.amx && grants_tiles()) sets |= bit_of(InstructionSet::Amx);
#elif defined(__ARM_NEON)
  sets |= bit_of(InstructionSet::Neon);
#endif
  return sets;
}

uint32_t detected_sets() {
  static const uint32_t detected = detect();
  return detected;
}

InstructionSet cap_of_environment() {
  const char* const given = std::getenv("EXECUTORCH_MAX_ISA");
  if (given == nullptr || *given == '\0') return kHighest;
  InstructionSet cap = kHighest;
  if (!instruction_set_named(given, cap)) {
    ET_LOG(Error,
           "EXECUTORCH_MAX_ISA: expected scalar, sse2, neon, avx2, avxvnni, avx512, avx512vnni, "
           "avx512bf16, avx512fp16 or amx, found '%s'; not capped",
           given);
  }
  return cap;
}

/// The highest set of this processor that is no higher than `cap`.
InstructionSet capped(InstructionSet cap) {
  InstructionSet highest = InstructionSet::Scalar;
  for (const Name& row : kNames) {
    if (row.set <= cap && has_instruction_set(row.set)) highest = row.set;
  }
  return highest;
}

std::atomic<InstructionSet>& in_effect() {
  static std::atomic<InstructionSet> set{capped(cap_of_environment())};
  return set;
}

}  // namespace

const char* name_of(InstructionSet set) {
  for (const Name& row : kNames) {
    if (row.set == set) return row.name;
  }
  return "unknown";
}

bool instruction_set_named(std::string_view name, InstructionSet& set) {
  for (const Name& row : kNames) {
    if (name != row.name) continue;
    set = row.set;
    return true;
  }
  return false;
}

bool has_instruction_set(InstructionSet set) { return (detected_sets() & bit_of(set)) != 0; }

InstructionSet detected_instruction_set() { return capped(kHighest); }

InstructionSet instruction_set() { return in_effect().load(std::memory_order_relaxed); }

void set_max_instruction_set(InstructionSet cap) {
  in_effect().store(capped(cap), std::memory_order_relaxed);
}

}  // namespace executorch::kernels::engine
