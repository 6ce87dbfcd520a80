// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Checks the meaning of a program before any use. program_structure.h has checked the bytes; this
// checks indices, enum values, types of values, sizes, memory ranges, segments and jump targets.
// After both have passed, neither loading nor execution can reach outside the file's bytes and the
// memory that the caller provides. (A kernel checks its own arguments: their types when a method
// is loaded, the rest when it runs.)
//
// One walk, linear in the size of the flatbuffer. Each fault is logged with its place, what was
// expected and found.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/executor/plan/plain_tensor.h>
#include <executorch/runtime/executor/verify/program_header.h>
#include <executorch/schema/program_generated.h>

namespace executorch::runtime::internal {

/// The only value of Program.version.
constexpr uint32_t kProgramVersion = 0;

/// @param program Has passed verify_program_structure().
/// @retval Error::InvalidProgram After a log message.
/// @retval Error::NotSupported After a log message: legal, but this runtime does not support it.
Error verify_program(const executorch_flatbuffer::Program& program, const ProgramHeader& header);

/// Limit of list items that all methods together may visit. Lists that thousands of tables share
/// cannot make a small file slow to check or large to load. Unshared lists never reach the limit,
/// the flatbuffer's number of bytes.
struct WorkBudget {
  size_t left;
  [[nodiscard]] bool spend(size_t items) {
    const bool enough = items <= left;
    left -= enough ? items : left;
    return enough;
  }
};

/// The budget of a program, and another one of the same size for calls whose arguments are charged
/// as if each were the method's longest list, which costs less than reading their lengths. When it
/// is spent, each argument is charged for its own length.
struct ProgramBudget : WorkBudget {
  explicit ProgramBudget(size_t size) : WorkBudget{size}, estimated{size} {}
  WorkBudget estimated;
};

/// One method.
Error verify_plan(const executorch_flatbuffer::Program& program,
                  const executorch_flatbuffer::ExecutionPlan& plan, ProgramBudget* budget);

/// The last tensor's sizes, dim order and scalar type, which have been verified: the next one often
/// has the same.
struct VerifiedShape {
  PlainTensorReader plain;
  Span<const int32_t> sizes;
  Span<const uint8_t> order;
  executorch_flatbuffer::ScalarType type{};
  /// 0: there is none yet.
  size_t element_size = 0;
  size_t nbytes = 0;
};

/// Value `index` of a method, a tensor: its shape, and where its data comes from.
Error verify_tensor(const executorch_flatbuffer::Program& program,
                    const executorch_flatbuffer::ExecutionPlan& plan,
                    const executorch_flatbuffer::Tensor& tensor, size_t index,
                    VerifiedShape* shape);

/// The instructions of a method whose values have been verified. `longest_list` is the number of
/// items of its longest list.
Error verify_instructions(const executorch_flatbuffer::ExecutionPlan& plan, size_t longest_list,
                          ProgramBudget* budget);

}  // namespace executorch::runtime::internal
