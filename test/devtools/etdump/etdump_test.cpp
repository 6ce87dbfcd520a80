// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/devtools/etdump/data_sinks/buffer_data_sink.h>
#include <executorch/devtools/etdump/data_sinks/file_data_sink.h>
#include <executorch/devtools/etdump/etdump_filter.h>
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>

namespace executorch::etdump {
namespace {

using ET_RUNTIME_NAMESPACE::EValue;
using ET_RUNTIME_NAMESPACE::LoggedEValueType;
using runtime::Error;
using runtime::Span;

constexpr auto kOutput = LoggedEValueType::kProgramOutput;

class ETDumpTest : public ::testing::Test {
 protected:
  void SetUp() override { runtime::runtime_init(); }

  static void add_event(ETDumpGen& tracer, const char* name) {
    tracer.end_profiling(tracer.start_profiling(name, 0, 1));
  }
  static bool contains(const ETDumpResult& record, const std::string& text) {
    const std::string bytes(static_cast<const char*>(record.buf), record.size);
    return bytes.find(text) != std::string::npos;
  }
};

TEST_F(ETDumpTest, ARecordBeginsWithItsSizeAndIdentifier) {
  ETDumpGen tracer;
  EXPECT_FALSE(tracer.is_static_etdump());
  tracer.create_event_block("block");
  add_event(tracer, "native_call_add.out");
  const ETDumpResult record = tracer.get_etdump_data();
  ASSERT_NE(record.buf, nullptr);
  uint32_t size = 0;
  memcpy(&size, record.buf, sizeof(size));
  EXPECT_EQ(size + sizeof(size), record.size);
  EXPECT_EQ(memcmp(static_cast<char*>(record.buf) + 8, "ED00", 4), 0);
  EXPECT_TRUE(contains(record, "native_call_add.out"));
  EXPECT_EQ(tracer.get_num_blocks(), 1u);
  free(record.buf);
}

TEST_F(ETDumpTest, AListOfMoreTensorsThanARecordCanHoldIsNotRecorded) {
  runtime::testing::TensorFactory<executorch::aten::ScalarType::Float> tf;
  // A tensor needs 380 bytes: these need 2^32 + 184, which is 184 on a machine of 32 bits.
  const std::vector<executorch::aten::Tensor> tensors(11'302'546, tf.ones({1}));
  std::vector<uint8_t> memory(4096), values(4096);
  ETDumpGen tracer({memory.data(), memory.size()});
  ASSERT_TRUE(tracer.set_debug_buffer({values.data(), values.size()}).ok());
  tracer.create_event_block("block");
  EXPECT_FALSE(*tracer.log_intermediate_output_delegate(
      "list", -1,
      executorch::aten::ArrayRef<executorch::aten::Tensor>(tensors.data(), tensors.size())));
}

TEST_F(ETDumpTest, NothingRecordedIsNoRecord) {
  ETDumpGen tracer;
  EXPECT_EQ(tracer.get_etdump_data().buf, nullptr);
}

TEST_F(ETDumpTest, ARecordLiesInTheMemoryGivenAndTakingItChangesNothing) {
  std::vector<uint8_t> memory(4096);
  ETDumpGen tracer({memory.data(), memory.size()});
  EXPECT_TRUE(tracer.is_static_etdump());
  tracer.create_event_block("one");
  add_event(tracer, "a");
  tracer.create_event_block("two");
  const ETDumpResult first = tracer.get_etdump_data();
  const std::string bytes(static_cast<char*>(first.buf), first.size);
  const ETDumpResult again = tracer.get_etdump_data();
  EXPECT_EQ(bytes, std::string(static_cast<char*>(again.buf), again.size));
  EXPECT_GE(again.buf, memory.data());
  EXPECT_LE(static_cast<uint8_t*>(again.buf) + again.size, memory.data() + memory.size());
  add_event(tracer, "b");
  EXPECT_GT(tracer.get_etdump_data().size, again.size);
}

TEST_F(ETDumpTest, EventsWithoutRoomAreDroppedAndCounted) {
  for (size_t size : {0, 8, 100, 700, 1000, 1001, 1337, 2048, 5000}) {
    std::vector<uint8_t> memory(size + 1, 0xAB);
    ETDumpGen tracer({memory.data() + 1, size});
    for (int block = 0; block < 3; ++block) {
      tracer.create_event_block("block");
      for (int i = 0; i < 50; ++i) {
        add_event(tracer, ("event " + std::to_string(i)).c_str());
        tracer.log_profiling_delegate("op", -1, 1, 2, "meta", 4);
        const EValue value(int64_t{3});
        EXPECT_TRUE(tracer.log_evalue(value, kOutput).ok());
      }
    }
    EXPECT_GT(tracer.dropped_events(), 0u);
    const ETDumpResult record = tracer.get_etdump_data();
    EXPECT_LE(record.size, size);
    EXPECT_EQ(memory[0], 0xAB);
    tracer.clear_builder();
    EXPECT_EQ(tracer.get_etdump_data().buf, nullptr);
    EXPECT_EQ(tracer.dropped_events(), 0u);
  }
}

TEST_F(ETDumpTest, TensorsNeedABufferOrASink) {
  runtime::testing::TensorFactory<executorch::aten::ScalarType::Float> tf;
  ETDumpGen tracer;
  tracer.create_event_block("block");
  const EValue tensor(tf.make({2}, {1, 2}));
  EXPECT_EQ(tracer.log_evalue(tensor, kOutput).error(), Error::InvalidState);
  std::vector<uint8_t> memory(100);
  ASSERT_TRUE(tracer.set_debug_buffer({memory.data(), memory.size()}).ok());
  EXPECT_TRUE(*tracer.log_evalue(tensor, kOutput));
  EXPECT_TRUE(*tracer.log_evalue(tensor, kOutput));
  EXPECT_EQ(memcmp(memory.data() + 64, tensor.toTensor().const_data_ptr(), 8), 0);
  EXPECT_FALSE(*tracer.log_evalue(tensor, kOutput));
  EXPECT_EQ(tracer.dropped_events(), 1u);
  EXPECT_FALSE(*tracer.log_evalue(EValue(), kOutput));
}

TEST_F(ETDumpTest, ABufferOfTensorsKnowsItsSize) {
  std::vector<uint8_t> memory(100);
  auto sink = executorch::etdump::BufferDataSink::create(memory.data(), memory.size());
  ASSERT_TRUE(sink.ok());
  EXPECT_EQ(*sink->get_storage_size(), 100u);
  EXPECT_EQ(sink->get_used_bytes(), 0u);
}

TEST_F(ETDumpTest, TensorsMayGoToAFile) {
  runtime::testing::TensorFactory<executorch::aten::ScalarType::Int> tf;
  const std::string path = ::testing::TempDir() + "etdump_test.bin";
  EXPECT_EQ(FileDataSink::create("/nowhere/file").error(), Error::AccessFailed);
  auto sink = FileDataSink::create(path.c_str());
  ASSERT_TRUE(sink.ok());
  ETDumpGen tracer;
  tracer.set_data_sink(&*sink);
  tracer.create_event_block("block");
  EXPECT_TRUE(*tracer.log_intermediate_output_delegate("op", -1, tf.make({3}, {1, 2, 3})));
  EXPECT_EQ(sink->get_used_bytes(), 12u);
  sink->close();
  EXPECT_EQ(tracer.log_intermediate_output_delegate(nullptr, 4, tf.ones({1})).error(),
            Error::AccessFailed);
}

class OnlyFive final : public ET_RUNTIME_NAMESPACE::EventTracerFilterBase {
 public:
  runtime::Result<bool> filter(const char*, int32_t number) override { return number == 5; }
};

TEST_F(ETDumpTest, AFilterSaysWhichOutputsOfADelegateAreRecorded) {
  ETDumpGen tracer;
  OnlyFive filter;
  tracer.set_delegation_intermediate_output_filter(&filter);
  tracer.create_event_block("block");
  EXPECT_TRUE(*tracer.log_intermediate_output_delegate(nullptr, 5, 1.5));
  EXPECT_FALSE(*tracer.log_intermediate_output_delegate(nullptr, 6, true));
  EXPECT_EQ(tracer.log_intermediate_output_delegate("name", 5, 1).error(), Error::InvalidArgument);
  EXPECT_EQ(tracer.log_intermediate_output_delegate(nullptr, -1, 1).error(),
            Error::InvalidArgument);
}

TEST_F(ETDumpTest, NamesAreMatchedUpToALimitedLength) {
  ETDumpFilter filter;
  const std::string allowed(1024, 'a'), longer(1025, 'a'), long_enough_to_crash(1'000'000, 'a');
  EXPECT_TRUE(*filter.filter(long_enough_to_crash.c_str(), -1));
  ASSERT_TRUE(filter.add_regex(".*a").ok());
  EXPECT_TRUE(*filter.filter(allowed.c_str(), -1));
  EXPECT_EQ(filter.filter(longer.c_str(), -1).error(), Error::NotSupported);
  EXPECT_EQ(filter.filter(long_enough_to_crash.c_str(), -1).error(), Error::NotSupported);
}

}  // namespace
}  // namespace executorch::etdump
