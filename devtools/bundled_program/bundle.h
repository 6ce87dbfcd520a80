// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// What a .bpte file holds: a program, and test cases of its methods.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string_view>

#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/core/tag.h>
#include <executorch/runtime/core/tensor_layout.h>

namespace bundled_program_flatbuffer {
struct BundledMethodTestCase;
struct BundledMethodTestSuite;
struct BundledProgram;
struct Value;
}  // namespace bundled_program_flatbuffer

namespace executorch::bundled_program {

/// An input or an expected output, in the bundle's memory.
struct CaseValue {
  /// Tensor, Int, Bool or Double: which of the following it is.
  runtime::Tag tag;
  int64_t integer = 0;
  bool boolean = false;
  double number = 0;
  /// The tensor's elements lie densely in the layout's dim order, `data` aligned to them.
  std::optional<const ET_RUNTIME_NAMESPACE::TensorLayout> layout = std::nullopt;
  const uint8_t* data = nullptr;
};

/// One call of a method. Valid as long as the bundle's bytes.
class TestCase final {
 public:
  size_t inputs_size() const;
  size_t expected_size() const;
  /// Input `index`, which must exist.
  CaseValue input(size_t index) const;
  /// Expected output `index`, which must exist. A case without any only serves to run.
  CaseValue expected(size_t index) const;

 private:
  friend class TestSuite;
  explicit TestCase(const bundled_program_flatbuffer::BundledMethodTestCase* table)
      : table_(table) {}

  const bundled_program_flatbuffer::BundledMethodTestCase* table_;
};

/// The cases of one method. Valid as long as the bundle's bytes.
class TestSuite final {
 public:
  const char* method_name() const;
  size_t size() const;
  /// @retval Error::InvalidArgument There is no case of that number.
  runtime::Result<TestCase> test_case(size_t index) const;

 private:
  friend class Bundle;
  explicit TestSuite(const bundled_program_flatbuffer::BundledMethodTestSuite* table)
      : table_(table) {}

  const bundled_program_flatbuffer::BundledMethodTestSuite* table_;
};

/// A .bpte file in memory that outlives it. Nothing is copied.
class Bundle final {
 public:
  /// Returns whether the bytes claim to be one.
  static bool is_bundle(runtime::Span<const uint8_t> file);

  /// Verifies all of it but the program, which Program::load() verifies.
  /// @param file At an address that is a multiple of 16.
  /// @retval Error::InvalidArgument The address is not.
  /// @retval Error::NotSupported These bytes are no bundle, or one of another version.
  /// @retval Error::InvalidProgram The bundle is damaged. The log says where.
  static runtime::Result<Bundle> open(runtime::Span<const uint8_t> file);

  /// Of bytes that open() has accepted, and that have not changed since.
  static Bundle of_accepted(const void* file);

  /// The .pte file in it.
  runtime::Span<const uint8_t> program() const;
  size_t suites_size() const;
  /// Suite `index`, which must exist.
  TestSuite suite(size_t index) const;
  /// @retval Error::NotFound The method has no test cases.
  runtime::Result<TestSuite> suite_of(std::string_view method_name) const;

 private:
  explicit Bundle(const bundled_program_flatbuffer::BundledProgram* table) : table_(table) {}

  const bundled_program_flatbuffer::BundledProgram* table_;
};

}  // namespace executorch::bundled_program
