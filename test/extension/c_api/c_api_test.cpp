// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/c_api/executorch.h>
#include <executorch/runtime/core/error.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "devtools/bundled_program/bundle_builder.h"
#include "run_add.h"
#include "runtime/log_capture.h"
#include "test_paths.h"

namespace {

using executorch::runtime::Error;

constexpr et_error kInvalidArgument = static_cast<et_error>(Error::InvalidArgument);

/// A program's bytes, aligned to 16.
class ProgramFile {
 public:
  explicit ProgramFile(const char* name) {
    std::ifstream file(std::string(TEST_DATA_DIR) + "/peer/" + name, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    size = bytes.size();
    data = std::aligned_alloc(16, (size + 15) / 16 * 16);
    std::memcpy(data, bytes.data(), size);
  }
  ProgramFile(const ProgramFile&) = delete;
  ~ProgramFile() { std::free(data); }

  void* data;
  size_t size;
};

class CApiTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { et_init(); }

  void SetUp() override {
    ASSERT_EQ(et_program_load(&program_, file_.data, file_.size), ET_OK);
    ASSERT_EQ(et_program_method_memory(&program_, "forward", &method_size_), ET_OK);
    method_memory_.resize(method_size_ / 8 + 1);
    planned_memory_.resize(1024);
    memory_ = {{method_memory_.data(), method_size_}, &planned_, 1, {nullptr, 0}};
    ASSERT_EQ(et_program_planned_size(&program_, "forward", 0, &planned_.size), ET_OK);
    planned_.data = planned_memory_.data();
  }
  void TearDown() override { et_program_unload(&program_); }

  ProgramFile file_{"add.pte"};
  et_program program_;
  et_method method_;
  size_t method_size_ = 0;
  std::vector<uint64_t> method_memory_;
  std::vector<std::max_align_t> planned_memory_;
  et_memory planned_ = {};
  et_method_memory memory_ = {};
};

TEST(CApi, RunsAProgramFromC) {
  const ProgramFile file("add.pte");
  const float input[6] = {1, 2, 3, 4, 5, 6};
  float output[6] = {};
  ASSERT_EQ(run_add(file.data, file.size, input, output), ET_OK);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(output[i], 2 * input[i]);
  }
}

TEST(CApi, DescribesEveryError) {
  for (et_error error = 0; error < 0x40; ++error) {
    const bool known = et_error_name(error) != std::string(et_error_name(0xFF));
    EXPECT_EQ(known, et_error_message(error) != std::string("unknown error")) << error;
  }
}

TEST(CApi, RefusesADamagedProgram) {
  const ProgramFile file("add.pte");
  et_program program;
  EXPECT_EQ(et_program_load(&program, file.data, file.size / 2),
            static_cast<et_error>(Error::InvalidProgram));
}

TEST_F(CApiTest, DescribesAProgram) {
  EXPECT_EQ(et_program_num_methods(&program_), 1u);
  EXPECT_STREQ(et_program_method_name(&program_, 0), "forward");
  EXPECT_EQ(et_program_method_name(&program_, 1), nullptr);
  et_tensor info;
  ASSERT_EQ(et_program_input(&program_, "forward", 0, &info), ET_OK);
  EXPECT_EQ(info.dtype, ET_FLOAT32);
  EXPECT_EQ(info.nbytes, 24u);
  EXPECT_EQ(et_program_input(&program_, "forward", 9, &info), kInvalidArgument);
  EXPECT_EQ(et_program_input(&program_, "backward", 0, &info), kInvalidArgument);
}

TEST_F(CApiTest, NamesTheErrorWhereMemoryIsAByteTooSmall) {
  const et_error too_small = static_cast<et_error>(Error::MemoryAllocationFailed);
  memory_.method.size -= 1;
  EXPECT_EQ(et_method_load(&method_, &program_, "forward", &memory_), too_small);
  memory_.method.size += 1;
  planned_.size -= 1;
  EXPECT_EQ(et_method_load(&method_, &program_, "forward", &memory_), too_small);
  planned_.size += 1;
  ASSERT_EQ(et_method_load(&method_, &program_, "forward", &memory_), ET_OK);
  et_method_unload(&method_);
}

TEST_F(CApiTest, RefusesWrongInputs) {
  ASSERT_EQ(et_method_load(&method_, &program_, "forward", &memory_), ET_OK);
  float data[6] = {};
  const int32_t sizes[2] = {2, 3};
  const int32_t negative[2] = {-2, -3};
  const uint8_t twice[2] = {0, 0};
  const uint8_t outside[2] = {0, 7};
  const et_tensor right = {data, 24, sizes, nullptr, 2, ET_FLOAT32};
  EXPECT_EQ(et_method_set_input(&method_, 0, &right), ET_OK);
  std::vector<et_tensor> wrong(8, right);
  wrong[0].nbytes = 20;
  wrong[1].sizes = negative;
  wrong[2].dim_order = twice;
  wrong[3].dim_order = outside;
  wrong[4].rank = 99;
  wrong[5].dtype = 1000;
  wrong[6].dtype = -1;
  wrong[7].data = nullptr;
  for (const et_tensor& tensor : wrong) {
    EXPECT_NE(et_method_set_input(&method_, 0, &tensor), ET_OK) << &tensor - wrong.data();
  }
  EXPECT_EQ(et_method_set_input(&method_, 9, &right), kInvalidArgument);
  et_value value;
  EXPECT_EQ(et_method_output(&method_, 9, &value), kInvalidArgument);
  et_method_unload(&method_);
}

TEST_F(CApiTest, RefusesADimOrderThatRepeats) {
  ASSERT_EQ(et_method_load(&method_, &program_, "forward", &memory_), ET_OK);
  float data[6] = {};
  const int32_t sizes[2] = {2, 3};
  const uint8_t twice[2] = {1, 1};
  // The stride of dimension 0 would be whatever the stack holds: it must not be read.
  const et_tensor tensor = {data, 24, sizes, twice, 2, ET_FLOAT32};
  const LogCapture log;
  EXPECT_EQ(et_method_set_input(&method_, 0, &tensor), kInvalidArgument);
  EXPECT_TRUE(log.contains("place 1 of the dim order repeats")) << log.text();
  et_method_unload(&method_);
}

TEST_F(CApiTest, RefusesEmptyInputsOfHugeSizes) {
  ASSERT_EQ(et_method_load(&method_, &program_, "forward", &memory_), ET_OK);
  const int32_t sizes[3] = {INT32_MAX, INT32_MAX, 0};
  const et_tensor tensor = {nullptr, 0, sizes, nullptr, 3, ET_FLOAT32};
  const LogCapture log;
  EXPECT_EQ(et_method_set_input(&method_, 0, &tensor), kInvalidArgument);
  EXPECT_TRUE(log.contains("too many to count")) << log.text();
  et_method_unload(&method_);
}

TEST_F(CApiTest, RefusesMemoryAtANullPointer) {
  const et_method_memory right = memory_;
  memory_.method.data = nullptr;
  EXPECT_EQ(et_method_load(&method_, &program_, "forward", &memory_), kInvalidArgument);
  memory_ = right;
  memory_.temp.size = 8;
  EXPECT_EQ(et_method_load(&method_, &program_, "forward", &memory_), kInvalidArgument);
  memory_ = right;
  memory_.planned = nullptr;
  EXPECT_EQ(et_method_load(&method_, &program_, "forward", &memory_), kInvalidArgument);
  memory_ = right;
  planned_.data = nullptr;
  EXPECT_EQ(et_method_load(&method_, &program_, "forward", &memory_), kInvalidArgument);
}

TEST_F(CApiTest, RefusesNullPointersInPlaceOfObjectsAndResults) {
  et_tensor tensor = {};
  et_value value;
  size_t bytes = 0;
  const et_embedded_program embedded = {file_.data, file_.size, nullptr};
  ASSERT_EQ(et_method_load(&method_, &program_, "forward", &memory_), ET_OK);
  et_program program;
  et_method method;
  for (const et_error error : {et_program_load(nullptr, file_.data, file_.size),
                               et_program_load(&program, nullptr, file_.size),
                               et_program_load_embedded(&program, nullptr),
                               et_program_load_embedded(&program, &embedded),
                               et_program_method_memory(nullptr, "forward", &bytes),
                               et_program_method_memory(&program_, "forward", nullptr),
                               et_program_num_planned(nullptr, "forward", &bytes),
                               et_program_num_planned(&program_, "forward", nullptr),
                               et_program_planned_size(nullptr, "forward", 0, &bytes),
                               et_program_planned_size(&program_, "forward", 0, nullptr),
                               et_program_input(nullptr, "forward", 0, &tensor),
                               et_program_input(&program_, "forward", 0, nullptr),
                               et_program_output(nullptr, "forward", 0, &tensor),
                               et_program_output(&program_, "forward", 0, nullptr),
                               et_method_load(nullptr, &program_, "forward", &memory_),
                               et_method_load(&method, nullptr, "forward", &memory_),
                               et_method_load(&method, &program_, nullptr, &memory_),
                               et_method_load(&method, &program_, "forward", nullptr),
                               et_method_set_input(nullptr, 0, &tensor),
                               et_method_set_input(&method_, 0, nullptr),
                               et_method_set_input_data(nullptr, 0, &bytes, 8),
                               et_method_set_output_data(nullptr, 0, &bytes, 8),
                               et_method_execute(nullptr),
                               et_method_output(nullptr, 0, &value),
                               et_method_output(&method_, 0, nullptr)}) {
    EXPECT_EQ(error, kInvalidArgument);
  }
  EXPECT_EQ(et_program_num_methods(nullptr), 0u);
  EXPECT_EQ(et_program_method_name(nullptr, 0), nullptr);
  EXPECT_EQ(et_method_num_inputs(nullptr), 0u);
  EXPECT_EQ(et_method_num_outputs(nullptr), 0u);
  et_method_unload(nullptr);
  et_program_unload(nullptr);
  et_method_unload(&method_);
}

TEST_F(CApiTest, RefusesObjectsThatAreNotLoaded) {
  const auto invalid_state = static_cast<et_error>(Error::InvalidState);
  et_program program;
  EXPECT_NE(et_program_load(&program, file_.data, 8), ET_OK);
  size_t bytes = 0;
  EXPECT_EQ(et_program_method_memory(&program, "forward", &bytes), invalid_state);
  EXPECT_EQ(et_program_num_methods(&program), 0u);
  et_method method;
  EXPECT_EQ(et_method_load(&method, &program, "forward", &memory_), invalid_state);
  EXPECT_EQ(et_method_execute(&method), invalid_state);
  et_method_unload(&method);
  et_program_unload(&program);

  memset(&program, 0xff, sizeof(program));
  EXPECT_NE(et_program_load_embedded(&program, nullptr), ET_OK);
  EXPECT_EQ(et_program_num_methods(&program), 0u);
  et_program_unload(&program);

  ASSERT_EQ(et_method_load(&method_, &program_, "forward", &memory_), ET_OK);
  for (int round = 0; round < 2; ++round) {
    et_method_unload(&method_);
    EXPECT_EQ(et_method_execute(&method_), invalid_state);
    EXPECT_EQ(et_method_num_inputs(&method_), 0u);
  }
}

TEST_F(CApiTest, RefusesMisalignedMemory) {
  planned_.data = reinterpret_cast<char*>(planned_memory_.data()) + 1;
  EXPECT_EQ(et_method_load(&method_, &program_, "forward", &memory_), kInvalidArgument);
  et_program program;
  EXPECT_NE(et_program_load(&program, static_cast<char*>(file_.data) + 1, file_.size - 1), ET_OK);
  EXPECT_NE(et_program_load(&program, nullptr, 0), ET_OK);
  EXPECT_NE(et_program_load(&program, file_.data, 0), ET_OK);
}

TEST_F(CApiTest, NamesTheErrorOfCallsInAnotherOrder) {
  const auto invalid_state = static_cast<et_error>(Error::InvalidState);
  ASSERT_EQ(et_method_load(&method_, &program_, "forward", &memory_), ET_OK);
  et_value value;
  EXPECT_EQ(et_method_execute(&method_), invalid_state);
  EXPECT_EQ(et_method_output(&method_, 0, &value), ET_OK);
  const float data[6] = {1, 2, 3, 4, 5, 6};
  // Each input twice: the last one counts.
  const float other[6] = {};
  for (const size_t index : {0, 1}) {
    EXPECT_EQ(et_method_set_input_data(&method_, index, other, 24), ET_OK);
    EXPECT_EQ(et_method_set_input_data(&method_, index, data, 24), ET_OK);
  }
  EXPECT_EQ(et_method_set_input_data(&method_, 2, data, 24), kInvalidArgument);
  EXPECT_EQ(et_method_set_input_data(&method_, 0, data, 23), kInvalidArgument);
  EXPECT_EQ(et_method_set_output_data(&method_, 0, nullptr, 0), invalid_state);
  EXPECT_EQ(et_method_set_output_data(&method_, 7, nullptr, 0), kInvalidArgument);
  ASSERT_EQ(et_method_execute(&method_), ET_OK);
  ASSERT_EQ(et_method_output(&method_, 0, &value), ET_OK);
  EXPECT_EQ(static_cast<const float*>(value.of.tensor.data)[5], 12);
  et_method_unload(&method_);
}

/// The method of a program without planned memory for its inputs and its output.
class UnplannedCApiTest : public CApiTest {
 protected:
  void SetUp() override {
    CApiTest::SetUp();
    ASSERT_EQ(et_program_load(&unplanned_, bytes_.data(), bytes_.size()), ET_OK);
    size_t size = 0;
    ASSERT_EQ(et_program_method_memory(&unplanned_, "forward", &size), ET_OK);
    method_memory_.resize(size / 8 + 1);
    planned_.size = planned_memory_.size() * sizeof(planned_memory_[0]);
    memory_.method = {method_memory_.data(), size};
    ASSERT_EQ(et_method_load(&method_, &unplanned_, "forward", &memory_), ET_OK);
  }
  void TearDown() override {
    et_method_unload(&method_);
    et_program_unload(&unplanned_);
    CApiTest::TearDown();
  }

  std::vector<uint8_t> bytes_ = executorch::testing::program_that_writes_to_its_input();
  et_program unplanned_;
};

TEST_F(UnplannedCApiTest, RefusesAnOutputWithoutMemory) {
  et_value value;
  EXPECT_EQ(et_method_output(&method_, 0, &value), static_cast<et_error>(Error::InvalidState));
  float data[6] = {};
  ASSERT_EQ(et_method_set_output_data(&method_, 0, data, sizeof(data)), ET_OK);
  ASSERT_EQ(et_method_output(&method_, 0, &value), ET_OK);
  EXPECT_EQ(value.of.tensor.data, data);
}

TEST_F(UnplannedCApiTest, DoesNotWriteToConstMemory) {
  const float data[6] = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(et_method_set_input_data(&method_, 0, data, sizeof(data)), ET_OK);
  EXPECT_EQ(et_method_set_input_data(&method_, 1, data, sizeof(data)),
            static_cast<et_error>(Error::NotSupported));
}

}  // namespace
