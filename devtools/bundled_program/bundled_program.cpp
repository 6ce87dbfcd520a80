// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/devtools/bundled_program/bundled_program.h>

#include <string.h>

#include <new>

#include <executorch/runtime/core/exec_aten/util/borrowed_tensor.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::bundled_program {

using runtime::Error;
using runtime::EValue;
using runtime::Method;
using runtime::Result;
using runtime::Tag;

namespace {

Error check_input_count(const Method& method, const TestCase& test_case) {
  ET_CHECK_OR_RETURN_ERROR(test_case.inputs_size() == method.inputs_size(), InvalidArgument,
                           "method '%s': the test case has %zu inputs, expected %zu",
                           method.method_meta().name(), test_case.inputs_size(),
                           method.inputs_size());
  return Error::Ok;
}

Error set_input(Method& method, const CaseValue& value, size_t index, void* data) {
  switch (value.tag) {
    case Tag::Tensor: {
      ET_RUNTIME_NAMESPACE::BorrowedTensor tensor;
      ET_CHECK_OK_OR_RETURN_ERROR(tensor.describe(*value.layout, data));
      return method.set_input(EValue(tensor.tensor()), index);
    }
    case Tag::Int:
      return method.set_input(EValue(value.integer), index);
    case Tag::Bool:
      return method.set_input(EValue(value.boolean), index);
    default:
      return method.set_input(EValue(value.number), index);
  }
}

Result<TestCase> case_of(const Method& method, const void* bundle, size_t index) {
  ET_CHECK_OR_RETURN_ERROR(bundle != nullptr, InvalidArgument, "no bundled program");
  const TestSuite suite =
      ET_UNWRAP(Bundle::of_accepted(bundle).suite_of(method.method_meta().name()));
  return suite.test_case(index);
}

}  // namespace

namespace {

/// Empty for a null pointer of any length: a nonempty span of null is a programming error.
runtime::Span<const uint8_t> bytes_of(const void* data, size_t size) {
  return {static_cast<const uint8_t*>(data), data == nullptr ? 0 : size};
}

}  // namespace

bool is_bundled_program(void* file_data, size_t file_data_len) {
  return Bundle::is_bundle(bytes_of(file_data, file_data_len));
}

Error get_program_data(void* file_data, size_t file_data_len, const void** out_program_data,
                       size_t* out_program_data_len) {
  ET_CHECK_OR_RETURN_ERROR(out_program_data != nullptr && out_program_data_len != nullptr,
                           InvalidArgument,
                           "expected a place for the bundled program's result, found null");
  const Bundle bundle = ET_UNWRAP(Bundle::open(bytes_of(file_data, file_data_len)));
  *out_program_data = bundle.program().data();
  *out_program_data_len = bundle.program().size();
  return Error::Ok;
}

Error load_bundled_input(Method& method, SerializedBundledProgram* bundled_program_ptr,
                         size_t testset_idx) {
  const TestCase test_case = ET_UNWRAP(case_of(method, bundled_program_ptr, testset_idx));
  ET_CHECK_OK_OR_RETURN_ERROR(check_input_count(method, test_case));
  for (size_t i = 0; i < test_case.inputs_size(); ++i) {
    const CaseValue value = test_case.input(i);
    // Verified tables of the bundle may share bytes with the input.
    ET_CHECK_OR_RETURN_ERROR(!method.writes_to_given_input(i), NotSupported,
                             "method '%s' writes to input %zu without planned memory: "
                             "set_inputs() and BundledModule copy a test case's inputs",
                             method.method_meta().name(), i);
    ET_CHECK_OK_OR_RETURN_ERROR(set_input(method, value, i, const_cast<uint8_t*>(value.data)));
  }
  return Error::Ok;
}

Error verify_method_outputs(Method& method, SerializedBundledProgram* bundled_program_ptr,
                            size_t testset_idx, double rtol, double atol) {
  const TestCase test_case = ET_UNWRAP(case_of(method, bundled_program_ptr, testset_idx));
  const OutputError error = ET_UNWRAP(output_error(method, test_case, {rtol, atol}));
  ET_CHECK_OR_RETURN_ERROR(
      error.beyond == 0, InvalidArgument,
      "method '%s', test case %zu: %zu of %zu numbers differ from the expected ones by more than "
      "%g + %g * |expected|; the largest absolute error is %g",
      method.method_meta().name(), testset_idx, error.beyond, error.count, atol, rtol,
      error.max_absolute);
  return Error::Ok;
}

ErrorStats compute_method_output_error_stats(Method& method,
                                             SerializedBundledProgram* bundled_program_ptr,
                                             size_t testset_idx) {
  const Result<TestCase> test_case = case_of(method, bundled_program_ptr, testset_idx);
  if (!test_case.ok()) {
    return {test_case.error(), 0, 0, 0, 0};
  }
  const Result<OutputError> error = output_error(method, *test_case, {});
  if (!error.ok()) {
    return {error.error(), 0, 0, 0, 0};
  }
  const auto mean = [](double sum, size_t count) {
    return count == 0 ? 0 : sum / static_cast<double>(count);
  };
  return {Error::Ok, mean(error->sum_absolute, error->count), error->max_absolute,
          mean(error->sum_relative, error->relative_count), error->max_relative};
}

namespace {

Error set_copies(Method& method, const TestCase& test_case, InputMemory& memory) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_input_count(method, test_case));
  const size_t count = test_case.inputs_size();
  memory.reset(new (std::nothrow) InputMemory::element_type[count]);
  ET_CHECK_OR_RETURN_ERROR(memory != nullptr, MemoryAllocationFailed,
                           "cannot allocate a list of %zu inputs", count);
  for (size_t i = 0; i < count; ++i) {
    const CaseValue value = test_case.input(i);
    void* data = nullptr;
    if (value.tag == Tag::Tensor) {
      const size_t size = value.layout->nbytes();
      memory[i].reset(malloc(size == 0 ? 1 : size));
      data = memory[i].get();
      ET_CHECK_OR_RETURN_ERROR(data != nullptr, MemoryAllocationFailed,
                               "cannot allocate %zu bytes for input %zu", size, i);
      if (size != 0) {
        memcpy(data, value.data, size);
      }
    }
    ET_CHECK_OK_OR_RETURN_ERROR(set_input(method, value, i, data));
  }
  return Error::Ok;
}

}  // namespace

Result<InputMemory> set_inputs(Method& method, const TestCase& test_case) {
  InputMemory memory;
  const Error error = set_copies(method, test_case, memory);
  if (error != Error::Ok) {
    // Inputs that are set use memory that is freed now.
    ET_CHECK_OK_OR_RETURN_ERROR(method.release_inputs());
    return error;
  }
  return memory;
}

Result<OutputError> output_error(const Method& method, const TestCase& test_case,
                                 const Tolerances& tolerances) {
  const char* name = method.method_meta().name();
  const size_t expected = test_case.expected_size();
  ET_CHECK_OR_RETURN_ERROR(expected != 0, NotSupported,
                           "method '%s': the test case lacks expected outputs", name);
  ET_CHECK_OR_RETURN_ERROR(expected == method.outputs_size(), InvalidArgument,
                           "method '%s': the test case has %zu expected outputs, the method %zu",
                           name, expected, method.outputs_size());
  OutputError error;
  for (size_t i = 0; i < expected; ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(
        compare_output(method.get_output(i), test_case.expected(i), tolerances, &error),
        "method '%s', output %zu: cannot be compared with the expected output", name, i);
  }
  return error;
}

}  // namespace executorch::bundled_program
