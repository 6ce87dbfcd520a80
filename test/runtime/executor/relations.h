// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A program whose values meet in every way that docs/alias-model.md has a rule for, and the changes
// to it that tests of these rules make.
#pragma once

#include <stdint.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "program_builder.h"

namespace executorch::testing {

/// The values of related_program().
enum RelatedValue : int32_t {
  /// Float tensors of two elements in planned buffer 1, at bytes 0, 8, 16 and 64.
  kFirst,
  kSecond,
  kResult,
  kOther,
  kConstant,
  /// Without memory: the result of a view.
  kView,
  kSizes,
  kTwo,
  kFalse,
  /// At byte 32: the target of a MoveCall.
  kTarget,
  /// At bytes 40 and 48, of dynamic sizes.
  kDynamic,
  kMoreDynamic,
  /// Lists of the first two, of the next two, and of one and none.
  kOperands,
  kResults,
  kOptional,
  kText,
  /// At byte 56, with initial data.
  kState,
  /// Without memory, for the caller to give.
  kGiven,
  /// Values that a test adds.
  kAdded,
};

/// The operators of related_program(), with kernels of related_kernels.cpp; a view is a program's
/// own.
enum RelatedOperator : int32_t {
  /// (a, b, out): operands may be where the result is.
  kAdd,
  /// (a, b, out): none may be.
  kApart,
  /// (a, b, out): the first may be.
  kFirstInPlace,
  /// (a, out0, out1)
  kPair,
  /// (a, outs)
  kSplit,
  /// (tensors, out)
  kJoin,
  /// (optional tensors, out)
  kPick,
  /// (self, src): writes to self.
  kAssign,
  /// (a, out): does not declare what it writes to.
  kSilent,
  kMakeView,
};

/// The delegates: of a backend that reports one output, or two, and of one that reports nothing.
enum RelatedDelegate : int32_t { kOneOutput, kTwoOutputs, kUnknownOutputs };

/// kView shows kFirst; kApart writes kResult; that moves on to kTarget. Inputs are the first two,
/// the output is kOther.
TestProgram related_program();

/// A tensor without memory.
TestTensor without_memory(fb::ScalarType type, std::vector<int32_t> sizes,
                          std::vector<uint8_t> dim_order);
/// The instruction that makes `view` of `base`.
inline TestInstruction view_of(int32_t base, int32_t view) {
  return kernel(kMakeView, {base, kSizes, view});
}

/// A way to write to, or to read, a value.
struct Access {
  std::string name;
  /// Adds the instruction, which works on `value`.
  std::function<void(TestProgram&, int32_t value)> add;
};
/// All ways to write to a value while kFirst is read.
std::vector<Access> writers();
/// All ways to read a value that must not be where kResult is, which is written to.
std::vector<Access> readers();
/// All ways to read a value that may be exactly there.
std::vector<Access> readers_in_place();

/// One change to related_program(), and the expected message.
struct Mutation {
  std::string name;
  std::function<void(TestProgram&)> change;
  /// Parts of the message: what, where, expected and found.
  std::vector<std::string> message;
};
std::vector<Mutation> mutations();

/// For googletest, which prints an object's bytes otherwise.
inline void PrintTo(const Mutation& mutation, std::ostream* out) { *out << mutation.name; }

}  // namespace executorch::testing
