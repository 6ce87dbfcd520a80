// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Bundle: a .bpte file in memory, with a program and test cases of its methods.
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

/// An input or expected output in the bundle's memory.
struct CaseValue {
  /// Tensor, Int, Bool or Double: the active member below.
  runtime::Tag tag;
  int64_t integer = 0;
  bool boolean = false;
  double number = 0;
  /// The tensor's elements are dense in the layout's dim order; `data` is aligned to them.
  std::optional<const ET_RUNTIME_NAMESPACE::TensorLayout> layout = std::nullopt;
  const uint8_t* data = nullptr;
};

/// One call of a method. The bundle's bytes must outlive it.
class TestCase final {
 public:
  size_t inputs_size() const;
  size_t expected_size() const;
  /// Input `index`, which must exist.
  CaseValue input(size_t index) const;
  /// Expected output `index`, which must exist. Outputs of a case without any are not checked.
  CaseValue expected(size_t index) const;

 private:
  friend class TestSuite;
  explicit TestCase(const bundled_program_flatbuffer::BundledMethodTestCase* table)
      : table_(table) {}

  const bundled_program_flatbuffer::BundledMethodTestCase* table_;
};

/// The test cases of one method. The bundle's bytes must outlive it.
class TestSuite final {
 public:
  const char* method_name() const;
  size_t size() const;
  /// @retval Error::InvalidArgument The case does not exist.
  runtime::Result<TestCase> test_case(size_t index) const;

 private:
  friend class Bundle;
  explicit TestSuite(const bundled_program_flatbuffer::BundledMethodTestSuite* table)
      : table_(table) {}

  const bundled_program_flatbuffer::BundledMethodTestSuite* table_;
};

/// View of a .bpte file in memory, which must outlive it. Nothing is copied.
class Bundle final {
 public:
  /// Returns whether the bytes have the identifier of a bundle.
  static bool is_bundle(runtime::Span<const uint8_t> file);

  /// Verifies the file except the program, which Program::load() verifies.
  /// @param file Its address must be a multiple of 16.
  /// @retval Error::InvalidArgument The address is not a multiple of 16.
  /// @retval Error::NotSupported The bytes are not a bundle, or have a newer version.
  /// @retval Error::InvalidProgram The bundle is damaged. The log names the place.
  static runtime::Result<Bundle> open(runtime::Span<const uint8_t> file);

  /// Views bytes that open() accepted and that did not change since.
  static Bundle of_accepted(const void* file);

  /// The bundled .pte file.
  runtime::Span<const uint8_t> program() const;
  size_t suites_size() const;
  /// Suite `index`, which must exist.
  TestSuite suite(size_t index) const;
  /// @retval Error::NotFound The method lacks test cases.
  runtime::Result<TestSuite> suite_of(std::string_view method_name) const;

 private:
  explicit Bundle(const bundled_program_flatbuffer::BundledProgram* table) : table_(table) {}

  const bundled_program_flatbuffer::BundledProgram* table_;
};

}  // namespace executorch::bundled_program
