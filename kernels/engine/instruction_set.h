// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The instruction sets that the engine has kernels for, and the one in effect. Plans (Gemm, Conv2d,
// …) record the set that they were made for, because their packed weights depend on it; other
// functions read the set in effect at every call.
#pragma once

#include <cstdint>
#include <string_view>

namespace executorch::kernels::engine {

/// In ascending order. A processor that has one has the lower ones of its architecture, except that
/// many processors with AVX-512 lack AVX-VNNI: kernels for AVX-512 use nothing of it.
enum class InstructionSet : uint8_t {
  Scalar,      ///< plain C++
  Sse2,        ///< vectors of 16 bytes on x86-64
  Neon,        ///< vectors of 16 bytes on Arm, chosen by the compiler's target
  Avx2,        ///< AVX2, FMA and F16C
  AvxVnni,     ///< AVX2 and AVX-VNNI, for int8
  Avx512,      ///< AVX-512 F, BW, DQ and VL
  Avx512Vnni,  ///< the above and VNNI, for int8
  Avx512Bf16,  ///< the above and BF16
  Avx512Fp16,  ///< the above and FP16
  Amx,         ///< the above, AMX-BF16 and AMX-INT8, where the system grants the tiles' state
};

/// "scalar", "sse2", "neon", "avx2", "avxvnni", "avx512", "avx512vnni", "avx512bf16", "avx512fp16",
/// "amx".
const char* name_of(InstructionSet set);
/// The set with this name; false for an unknown name.
bool instruction_set_named(std::string_view name, InstructionSet& set);

/// True if both this processor and the build have a set. On a processor with AMX, the first call
/// requests the tile state from the operating system for the whole process.
bool has_instruction_set(InstructionSet set);

/// The highest set that both this processor and the build have.
InstructionSet detected_instruction_set();

/// The set in effect: the highest one that this processor has, capped by EXECUTORCH_MAX_ISA (one of
/// the names above, read once, at the process's first query) and by set_max_instruction_set(). Safe
/// on any thread.
InstructionSet instruction_set();

/// Caps the set in effect from now on, in place of the environment's cap; for tests and support.
/// Plans made before keep their set. A cap above the detected set has no effect.
void set_max_instruction_set(InstructionSet cap);

}  // namespace executorch::kernels::engine
