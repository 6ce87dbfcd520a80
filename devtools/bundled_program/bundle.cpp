// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/devtools/bundled_program/bundle.h>

#include <string.h>

#include <executorch/devtools/bundled_program/schema/bundled_program_schema_generated.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/verify/flatbuffer_structure.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::bundled_program {

namespace fb = bundled_program_flatbuffer;
using ET_RUNTIME_NAMESPACE::TensorLayout;
using runtime::Error;
using runtime::Result;
using runtime::Span;
using runtime::Tag;
using runtime::internal::count;
using runtime::internal::items;

namespace {

using K = runtime::internal::FieldKind;
using runtime::internal::Presence;

enum Table : uint8_t { kTensor, kInt, kBool, kDouble, kValue, kCase, kSuite, kBundle };
constexpr const char* kTableNames[] = {"Tensor",
                                       "Int",
                                       "Bool",
                                       "Double",
                                       "Value",
                                       "BundledMethodTestCase",
                                       "BundledMethodTestSuite",
                                       "BundledProgram"};

// bundled_program_schema.fbs as rows, in the order of the tables.
constexpr runtime::internal::FieldRule kFields[] = {
    {kTensor, fb::Tensor::VT_SCALAR_TYPE, K::Scalar1},
    {kTensor, fb::Tensor::VT_SIZES, K::Vector4},
    {kTensor, fb::Tensor::VT_DATA, K::Vector1},
    {kTensor, fb::Tensor::VT_DIM_ORDER, K::Vector1},
    {kInt, fb::Int::VT_INT_VAL, K::Scalar8},
    {kBool, fb::Bool::VT_BOOL_VAL, K::Scalar1},
    {kDouble, fb::Double::VT_DOUBLE_VAL, K::Scalar8},
    {kValue, fb::Value::VT_VAL, K::Union, Presence::Required, kTensor, 4},
    {kCase, fb::BundledMethodTestCase::VT_INPUTS, K::TableVector, Presence::Optional, kValue},
    {kCase, fb::BundledMethodTestCase::VT_EXPECTED_OUTPUTS, K::TableVector, Presence::Optional,
     kValue},
    {kSuite, fb::BundledMethodTestSuite::VT_METHOD_NAME, K::String, Presence::Required},
    {kSuite, fb::BundledMethodTestSuite::VT_TEST_CASES, K::TableVector, Presence::Optional, kCase},
    {kBundle, fb::BundledProgram::VT_VERSION, K::Scalar4},
    {kBundle, fb::BundledProgram::VT_METHOD_TEST_SUITES, K::TableVector, Presence::Optional,
     kSuite},
    {kBundle, fb::BundledProgram::VT_PROGRAM, K::Vector1, Presence::Required},
};
constexpr runtime::internal::TableRule kTables[] = {{0, 4}, {4, 1}, {5, 1},  {6, 1},
                                                    {7, 1}, {8, 2}, {10, 2}, {12, 3}};

// ExecuTorch 1.4 writes this version. Versions 0 and 1 have the same layout.
constexpr uint32_t kNewestVersion = 2;
constexpr size_t kFileAlignment = 16;

Result<const TensorLayout> layout_of(const fb::Tensor& tensor) {
  return TensorLayout::create(items(tensor.sizes()), items(tensor.dim_order()),
                              static_cast<executorch::aten::ScalarType>(tensor.scalar_type()));
}

using Values = flatbuffers::Vector<flatbuffers::Offset<fb::Value>>;

/// Finds the errors in test cases that a well-formed flatbuffer may still contain.
class CaseVerifier {
 public:
  explicit CaseVerifier(size_t file_nbytes) : tensor_bytes_left_(file_nbytes) {}

  Error verify(const fb::BundledMethodTestSuite& suite) {
    const char* method = suite.method_name()->c_str();
    for (uint32_t i = 0; i < count(suite.test_cases()); ++i) {
      const fb::BundledMethodTestCase& test_case = *suite.test_cases()->Get(i);
      ET_CHECK_OK_OR_RETURN_ERROR(verify(test_case.inputs(), "input", method, i));
      ET_CHECK_OK_OR_RETURN_ERROR(
          verify(test_case.expected_outputs(), "expected output", method, i));
    }
    return Error::Ok;
  }

 private:
  Error verify(const Values* values, const char* role, const char* method, uint32_t number) {
    for (uint32_t i = 0; i < count(values); ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(verify(*values->Get(i)),
                                  "bundled program: '%s', case %u, %s %u is damaged", method,
                                  number, role, i);
    }
    return Error::Ok;
  }

  Error verify(const fb::Value& value) {
    const fb::Tensor* tensor = value.val_as_Tensor();
    if (tensor == nullptr) {
      return Error::Ok;
    }
    const Result<const TensorLayout> layout = layout_of(*tensor);
    ET_CHECK_OR_RETURN_ERROR(layout.ok(), InvalidProgram,
                             "its dtype and sizes do not describe a tensor");
    ET_CHECK_OR_RETURN_ERROR(layout->nbytes() == count(tensor->data()), InvalidProgram,
                             "%zu bytes of data, expected %zu", count(tensor->data()),
                             layout->nbytes());
    const size_t element = runtime::elementSize(layout->scalar_type());
    ET_CHECK_OR_RETURN_ERROR(
        reinterpret_cast<uintptr_t>(items(tensor->data()).data()) % element == 0, InvalidProgram,
        "its data is not aligned to its elements of %zu bytes", element);
    ET_CHECK_OR_RETURN_ERROR(layout->nbytes() <= tensor_bytes_left_, InvalidProgram,
                             "with it, tensors have more bytes than the file");
    tensor_bytes_left_ -= layout->nbytes();
    return Error::Ok;
  }

  // A test case's inputs are copied: if tensors shared bytes, a small file would take all memory.
  size_t tensor_bytes_left_;
};

CaseValue value_of(const fb::Value& value) {
  if (const fb::Tensor* tensor = value.val_as_Tensor()) {
    CaseValue result{Tag::Tensor};
    result.layout.emplace(*layout_of(*tensor));
    result.data = items(tensor->data()).data();
    return result;
  }
  if (const fb::Int* integer = value.val_as_Int()) {
    return {Tag::Int, integer->int_val()};
  }
  if (const fb::Bool* boolean = value.val_as_Bool()) {
    return {Tag::Bool, 0, boolean->bool_val()};
  }
  return {Tag::Double, 0, false, value.val_as_Double()->double_val()};
}

}  // namespace

size_t TestCase::inputs_size() const { return count(table_->inputs()); }

size_t TestCase::expected_size() const { return count(table_->expected_outputs()); }

CaseValue TestCase::input(size_t index) const {
  return value_of(*table_->inputs()->Get(static_cast<uint32_t>(index)));
}

CaseValue TestCase::expected(size_t index) const {
  return value_of(*table_->expected_outputs()->Get(static_cast<uint32_t>(index)));
}

const char* TestSuite::method_name() const { return table_->method_name()->c_str(); }

size_t TestSuite::size() const { return count(table_->test_cases()); }

Result<TestCase> TestSuite::test_case(size_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < size(), InvalidArgument,
                           "bundled program: case %zu of '%s', which has %zu cases", index,
                           method_name(), size());
  return TestCase(table_->test_cases()->Get(static_cast<uint32_t>(index)));
}

bool Bundle::is_bundle(Span<const uint8_t> file) {
  constexpr size_t kIdentifierEnd = 8;
  return file.data() != nullptr && file.size() >= kIdentifierEnd &&
         memcmp(file.data() + sizeof(uint32_t), fb::BundledProgramIdentifier(), 4) == 0;
}

Result<Bundle> Bundle::open(Span<const uint8_t> file) {
  ET_CHECK_OR_RETURN_ERROR(is_bundle(file), NotSupported,
                           "bundled program: expected identifier %s, found another in %zu bytes",
                           fb::BundledProgramIdentifier(), file.size());
  ET_CHECK_OR_RETURN_ERROR(reinterpret_cast<uintptr_t>(file.data()) % kFileAlignment == 0,
                           InvalidArgument,
                           "bundled program: loaded at %p, expected a multiple of %zu",
                           static_cast<const void*>(file.data()), kFileAlignment);
  ET_CHECK_OK_OR_RETURN_ERROR(runtime::internal::verify_flatbuffer_structure(
                                  file, {kFields, kTables, kTableNames, kBundle}),
                              "bundled program: damaged");
  const Bundle bundle = of_accepted(file.data());
  ET_CHECK_OR_RETURN_ERROR(bundle.table_->version() <= kNewestVersion, NotSupported,
                           "bundled program: version %u, expected at most %u",
                           bundle.table_->version(), kNewestVersion);
  CaseVerifier verifier(file.size());
  for (uint32_t i = 0; i < bundle.suites_size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(verifier.verify(*bundle.table_->method_test_suites()->Get(i)));
  }
  return bundle;
}

Bundle Bundle::of_accepted(const void* file) { return Bundle(fb::GetBundledProgram(file)); }

Span<const uint8_t> Bundle::program() const { return items(table_->program()); }

size_t Bundle::suites_size() const { return count(table_->method_test_suites()); }

TestSuite Bundle::suite(size_t index) const {
  return TestSuite(table_->method_test_suites()->Get(static_cast<uint32_t>(index)));
}

Result<TestSuite> Bundle::suite_of(std::string_view method_name) const {
  for (size_t i = 0; i < suites_size(); ++i) {
    if (suite(i).method_name() == method_name) {
      return suite(i);
    }
  }
  ET_LOG(Error, "bundled program: method '%.*s' lacks test cases",
         static_cast<int>(method_name.size()), method_name.data());
  return Error::NotFound;
}

}  // namespace executorch::bundled_program
