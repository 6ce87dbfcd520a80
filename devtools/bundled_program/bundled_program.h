// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The test cases of a bundled program, run on a loaded method: load_bundled_input(), execute(),
// verify_method_outputs().
//
// A .bpte file is untrusted: get_program_data() (or Bundle::open()) verifies all of it. Functions
// that take a pointer without a size cannot check it and rely on that verification.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <memory>

#include <executorch/devtools/bundled_program/bundle.h>
#include <executorch/devtools/bundled_program/output_error.h>
#include <executorch/runtime/executor/method.h>

namespace executorch::bundled_program {

/// Bytes of a .bpte file that get_program_data() accepted and that did not change since.
using SerializedBundledProgram = const void;

/// Returns whether the bytes have the identifier of a bundled program.
bool is_bundled_program(void* file_data, size_t file_data_len);

/// Verifies the file and returns the program in it, a part of `file_data`.
/// @param file_data Its address must be a multiple of 16, which also aligns the program.
/// @return The errors of Bundle::open(), e.g. NotSupported for other bytes.
[[nodiscard]] runtime::Error get_program_data(void* file_data, size_t file_data_len,
                                              const void** out_program_data,
                                              size_t* out_program_data_len);

/// Sets the method's inputs to those of test case `testset_idx`. An input without planned memory
/// refers to the bundle, which must then outlive the execution.
/// @retval Error::NotSupported The method writes to such an input, and so would change the bundle:
///     set_inputs() below copies.
/// @retval Error::NotFound The method lacks test cases.
/// @retval Error::InvalidArgument The case does not exist, or its inputs do not match the method's.
[[nodiscard]] runtime::Error load_bundled_input(runtime::Method& method,
                                                SerializedBundledProgram* bundled_program_ptr,
                                                size_t testset_idx);

/// Compares the method's outputs with the expected outputs of test case `testset_idx`. Returns Ok
/// if every element is within atol + rtol * |expected|.
/// @retval Error::NotFound The method lacks test cases.
/// @retval Error::NotSupported The case lacks expected outputs.
/// @retval Error::InvalidArgument An element is beyond the tolerance (the log says how many, and
///     the largest error), or the case does not exist.
[[nodiscard]] runtime::Error verify_method_outputs(runtime::Method& method,
                                                   SerializedBundledProgram* bundled_program_ptr,
                                                   size_t testset_idx, double rtol = 1e-5,
                                                   double atol = 1e-8);

/// Error of all outputs together, over all their elements.
struct ErrorStats {
  /// The other fields are valid only if this is Ok.
  runtime::Error status;
  double mean_abs_error;
  double max_abs_error;
  /// Over the elements whose expected value is not 0.
  double mean_relative_error;
  double max_relative_error;
};

/// `status` has the errors of verify_method_outputs(), except for tolerances.
ErrorStats compute_method_output_error_stats(runtime::Method& method,
                                             SerializedBundledProgram* bundled_program_ptr,
                                             size_t testset_idx);

struct FreeInput {
  void operator()(void* memory) const { free(memory); }
};
/// Memory of inputs, a block for each tensor. Must outlive the executions that use them.
using InputMemory = std::unique_ptr<std::unique_ptr<void, FreeInput>[]>;

/// Sets the method's inputs to copies of the case's. After an error, inputs without planned memory
/// are unset.
/// @retval Error::InvalidArgument The inputs do not match the method's.
/// @retval Error::MemoryAllocationFailed A copy cannot be allocated.
runtime::Result<InputMemory> set_inputs(runtime::Method& method, const TestCase& test_case);

/// Computes the error that verify_method_outputs() checks.
/// @retval Error::NotSupported The case lacks expected outputs. Other errors as compare_output().
runtime::Result<OutputError> output_error(const runtime::Method& method, const TestCase& test_case,
                                          const Tolerances& tolerances);

}  // namespace executorch::bundled_program

// Documented ExecuTorch names.
namespace torch::executor::bundled_program {
using serialized_bundled_program = ::executorch::bundled_program::SerializedBundledProgram;

[[nodiscard]] inline ::executorch::runtime::Error LoadBundledInput(
    ::executorch::runtime::Method& method, serialized_bundled_program* bundled_program_ptr,
    size_t testset_idx) {
  return ::executorch::bundled_program::load_bundled_input(method, bundled_program_ptr,
                                                           testset_idx);
}
[[nodiscard]] inline ::executorch::runtime::Error VerifyResultWithBundledExpectedOutput(
    ::executorch::runtime::Method& method, serialized_bundled_program* bundled_program_ptr,
    size_t testset_idx, double rtol = 1e-5, double atol = 1e-8) {
  return ::executorch::bundled_program::verify_method_outputs(method, bundled_program_ptr,
                                                              testset_idx, rtol, atol);
}
[[nodiscard]] inline ::executorch::runtime::Error GetProgramData(void* file_data,
                                                                 size_t file_data_len,
                                                                 const void** out_program_data,
                                                                 size_t* out_program_data_len) {
  return ::executorch::bundled_program::get_program_data(file_data, file_data_len, out_program_data,
                                                         out_program_data_len);
}
}  // namespace torch::executor::bundled_program
