// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The test cases of a bundled program, run on a loaded method: load_bundled_input(), execute(),
// verify_method_outputs().
//
// A .bpte file comes from anywhere: get_program_data() (or Bundle::open()) verifies all of it. The
// functions that take a pointer without a size rely on that, as nothing can be checked without.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <memory>
#include <vector>

#include <executorch/devtools/bundled_program/bundle.h>
#include <executorch/devtools/bundled_program/output_error.h>
#include <executorch/runtime/executor/method.h>

namespace executorch::bundled_program {

/// The bytes of a .bpte file that get_program_data() has accepted, and that have not changed since.
using SerializedBundledProgram = const void;

/// Returns whether the bytes claim to be a bundled program.
bool is_bundled_program(void* file_data, size_t file_data_len);

/// Verifies the file and finds the program in it, which is part of `file_data`.
/// @param file_data At an address that is a multiple of 16, for the program too.
/// @return The errors of Bundle::open(): NotSupported if it is no bundled program.
[[nodiscard]] runtime::Error get_program_data(void* file_data, size_t file_data_len,
                                              const void** out_program_data,
                                              size_t* out_program_data_len);

/// Sets the method's inputs to those of test case `testset_idx`. An input that the plan has no
/// memory for is the bundle's own, which must then outlive the execution; a method that writes to
/// its inputs changes it: use set_inputs() below for a program that is not trusted.
/// @retval Error::NotFound The method has no test cases.
/// @retval Error::InvalidArgument There is no such case, or its inputs are not the method's.
[[nodiscard]] runtime::Error load_bundled_input(runtime::Method& method,
                                                SerializedBundledProgram* bundled_program_ptr,
                                                size_t testset_idx);

/// Compares the method's outputs with those that test case `testset_idx` expects: Ok if every
/// number is within atol + rtol * |expected|.
/// @retval Error::NotFound The method has no test cases.
/// @retval Error::NotSupported The case expects nothing.
/// @retval Error::InvalidArgument A number is not; the log says how many, and how far. Or there is
///     no such case.
[[nodiscard]] runtime::Error verify_method_outputs(runtime::Method& method,
                                                   SerializedBundledProgram* bundled_program_ptr,
                                                   size_t testset_idx, double rtol = 1e-5,
                                                   double atol = 1e-8);

/// How far the outputs are from those expected, all numbers of all outputs together.
struct ErrorStats {
  /// Unless it is Ok, the other fields say nothing.
  runtime::Error status;
  double mean_abs_error;
  double max_abs_error;
  /// Of the numbers that are not expected to be 0.
  double mean_relative_error;
  double max_relative_error;
};

/// `status` is an error as those of verify_method_outputs(), but for tolerances.
ErrorStats compute_method_output_error_stats(runtime::Method& method,
                                             SerializedBundledProgram* bundled_program_ptr,
                                             size_t testset_idx);

/// Memory of inputs; must outlive the executions that use them.
using InputMemory = std::vector<std::unique_ptr<void, void (*)(void*)>>;

/// Sets the method's inputs to copies of the case's.
/// @retval Error::InvalidArgument They are not the method's.
/// @retval Error::MemoryAllocationFailed There is no memory for a copy.
runtime::Result<InputMemory> set_inputs(runtime::Method& method, const TestCase& test_case);

/// What verify_method_outputs() judges by.
/// @retval Error::NotSupported The case expects nothing. Others as compare_output().
runtime::Result<OutputError> output_error(const runtime::Method& method, const TestCase& test_case,
                                          const Tolerances& tolerances);

}  // namespace executorch::bundled_program

// Documented names of the same things.
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
