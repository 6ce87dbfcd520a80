// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/runtime/platform/log.h>

#include <atomic>
#include <cstdlib>

namespace executorch::kernels::engine {
namespace {

struct Name {
  InstructionSet set;
  const char* name;
};
constexpr Name kNames[] = {
    {InstructionSet::Scalar, "scalar"}, {InstructionSet::Sse2, "sse2"},
    {InstructionSet::Neon, "neon"},     {InstructionSet::Avx2, "avx2"},
    {InstructionSet::Avx512, "avx512"}, {InstructionSet::Avx512Vnni, "avx512vnni"},
};
constexpr InstructionSet kHighest = InstructionSet::Avx512Vnni;

InstructionSet detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("f16c");
  if (!has_avx2) return InstructionSet::Sse2;
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!has_avx512) return InstructionSet::Avx2;
  return __builtin_cpu_supports("avx512vnni") ? InstructionSet::Avx512Vnni : InstructionSet::Avx512;
#elif defined(__ARM_NEON)
  return InstructionSet::Neon;
#else
  return InstructionSet::Scalar;
#endif
}

InstructionSet cap_of_environment() {
  const char* const given = std::getenv("EXECUTORCH_MAX_ISA");
  if (given == nullptr || *given == '\0') return kHighest;
  InstructionSet cap = kHighest;
  if (!instruction_set_named(given, cap)) {
    ET_LOG(Error,
           "EXECUTORCH_MAX_ISA: expected scalar, sse2, neon, avx2, avx512 or avx512vnni, found "
           "'%s'; not capped",
           given);
  }
  return cap;
}

/// Of this architecture, the highest set that is no higher than both.
InstructionSet capped(InstructionSet detected, InstructionSet cap) {
  if (cap >= detected) return detected;
  const bool is_foreign =
      detected == InstructionSet::Neon ? cap == InstructionSet::Sse2 : cap == InstructionSet::Neon;
  if (!is_foreign) return cap;
  return detected == InstructionSet::Neon ? InstructionSet::Scalar : InstructionSet::Sse2;
}

std::atomic<InstructionSet>& in_effect() {
  static std::atomic<InstructionSet> set{capped(detected_instruction_set(), cap_of_environment())};
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

InstructionSet detected_instruction_set() {
  static const InstructionSet detected = detect();
  return detected;
}

InstructionSet instruction_set() { return in_effect().load(std::memory_order_relaxed); }

void set_max_instruction_set(InstructionSet cap) {
  in_effect().store(capped(detected_instruction_set(), cap), std::memory_order_relaxed);
}

}  // namespace executorch::kernels::engine
