// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Threads, files, trees, the version, and matchers.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/parallel/thread_parallel.h>
#include <executorch/extension/pytree/function_ref.h>
#include <executorch/extension/testing_util/temp_file.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/portable_type/bfloat16_math.h>
#include <executorch/runtime/core/testing_util/error_matchers.h>
#include <executorch/runtime/core/version.h>
#include <executorch/runtime/platform/compat_unistd.h>
#include <executorch/test/utils/alignment.h>
#include <executorch/version.h>

namespace {

using executorch::extension::get_thread_num;
using executorch::extension::parallel_for;
using executorch::runtime::Error;

TEST(ParallelForTest, EveryNumberIsVisitedOnce) {
  for (const int64_t grain : {1, 3, 1000}) {
    std::vector<std::atomic<int>> visits(101);
    ASSERT_TRUE(parallel_for(1, 101, grain, [&](int64_t begin, int64_t end) {
      EXPECT_GE(get_thread_num(), 0);
      for (int64_t i = begin; i < end; ++i) {
        ++visits[static_cast<size_t>(i)];
      }
    }));
    EXPECT_EQ(visits[0], 0);
    for (size_t i = 1; i < visits.size(); ++i) {
      EXPECT_EQ(visits[i], 1);
    }
    EXPECT_EQ(get_thread_num(), 0);
  }
}

TEST(ParallelForTest, WithoutAThreadPoolTheCallingThreadVisitsAll) {
  std::vector<std::pair<int64_t, int64_t>> calls;
  const auto record = [&](int64_t begin, int64_t end) { calls.emplace_back(begin, end); };
  EXPECT_TRUE(executorch::extension::internal::parallel_for_no_threadpool(3, 8, 2, record));
  EXPECT_TRUE(executorch::extension::internal::parallel_for_no_threadpool(3, 3, 2, record));
  EXPECT_FALSE(executorch::extension::internal::parallel_for_no_threadpool(6, 5, 1, record));
  EXPECT_EQ(calls, (std::vector<std::pair<int64_t, int64_t>>{{3, 8}}));
}

TEST(ParallelForTest, WrongRangesAreRefused) {
  const auto nothing = [](int64_t, int64_t) { FAIL(); };
  EXPECT_TRUE(torch::executor::parallel_for(2, 2, 1, nothing));
  EXPECT_FALSE(torch::executor::parallel_for(2, 1, 1, nothing));
  EXPECT_FALSE(torch::executor::parallel_for(-1, 1, 1, nothing));
  EXPECT_FALSE(torch::executor::parallel_for(0, 1, 0, nothing));
}

TEST(TempFileTest, AFileLivesAsLongAsItsObject) {
  std::string path;
  {
    const torch::executor::testing::TempFile file("contents");
    path = file.path();
    std::ifstream stream(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "contents");
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(TempFileTest, ASparseFileHasItsContentsBehindAHole) {
  const executorch::extension::testing::TempFile file(size_t{1} << 20, "end",
                                                      (size_t{1} << 20) + 3);
  std::ifstream stream(file.path(), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  ASSERT_EQ(bytes.size(), (size_t{1} << 20) + 3);
  EXPECT_EQ(bytes[0], 0);
  EXPECT_EQ(bytes.substr(size_t{1} << 20), "end");
}

TEST(LoaderTest, TheDeprecatedNameOpensAFileToo) {
  const executorch::extension::testing::TempFile file("contents");
  EXPECT_EQ(*executorch::extension::FileDataLoader::From(file.path().c_str())->size(), 8u);
  EXPECT_EQ(*executorch::extension::MmapDataLoader::From(file.path().c_str())->size(), 8u);
  EXPECT_EQ(*executorch::extension::MmapDataLoader::From(file.path().c_str(), false)->size(), 8u);
}

TEST(FunctionRefTest, ALambdaIsCalledThroughItsDocumentedName) {
  int value = 0;
  const auto set = [&](int number) { value = number; };
  executorch::extension::pytree::FunctionRef<void(int)> ref(set);
  ref(7);
  EXPECT_EQ(value, 7);
}

TEST(SmallFloatTest, MathematicsOfHalvesIsThatOfFloat) {
  EXPECT_EQ(std::exp(executorch::aten::Half(1.0f)), std::exp(1.0f));
  EXPECT_EQ(std::sqrt(executorch::aten::BFloat16(4.0f)), 2.0f);
}

TEST(HierarchicalAllocatorTest, BuffersMayBeGivenAsAllocators) {
  uint8_t first[4];
  uint8_t second[8];
  torch::executor::MemoryAllocator allocators[] = {{sizeof first, first}, {sizeof second, second}};
  torch::executor::HierarchicalAllocator planned(2, allocators);
  EXPECT_EQ(planned.num_buffers(), 2u);
  EXPECT_EQ(*planned.get_offset_address(1, 4, 4), second + 4);
  EXPECT_EQ(planned.get_offset_address(0, 4, 1).error(), Error::MemoryAllocationFailed);
  EXPECT_EQ(planned.get_offset_address(2, 0, 1).error(), Error::InvalidArgument);
  const torch::executor::HierarchicalAllocator copy = planned;
  EXPECT_EQ(copy.num_buffers(), 2u);
  EXPECT_ALIGNED(first, 1);
}

TEST(VersionTest, TheNumbersAreThoseOfTheText) {
  EXPECT_EQ(EXECUTORCH_VERSION, std::to_string(EXECUTORCH_VERSION_MAJOR) + "." +
                                    std::to_string(EXECUTORCH_VERSION_MINOR) + "." +
                                    std::to_string(EXECUTORCH_VERSION_PATCH));
  EXPECT_STREQ(ET_VERSION, EXECUTORCH_VERSION);
  EXPECT_EQ(ET_VERSION_CODE, (ET_VERSION_MAJOR << 16) | (ET_VERSION_MINOR << 8) | ET_VERSION_PATCH);
  EXPECT_GT(ET_VERSION_CHECK(1, 0, 0), ET_VERSION_CHECK(0, 255, 255));
}

#if ET_INTERNAL_HAS_GMOCK

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::Result;
using executorch::runtime::testing::ErrorIs;
using executorch::runtime::testing::IsOk;
using executorch::runtime::testing::IsOkAndHolds;
using torch::executor::testing::IsCloseTo;
using torch::executor::testing::IsCloseToWithTol;
using torch::executor::testing::IsDataEqualTo;
using torch::executor::testing::IsEqualTo;
using torch::executor::testing::IsListCloseTo;
using torch::executor::testing::IsListEqualTo;
using torch::executor::testing::TensorFactory;

TEST(MatchersTest, ErrorsMatch) {
  EXPECT_THAT(Error::Ok, IsOk());
  EXPECT_THAT(Error::NotFound, ErrorIs(Error::NotFound));
  EXPECT_THAT(Result<int>(Error::NotFound),
              ErrorIs(::testing::AnyOf(Error::NotFound, Error::Internal)));
  EXPECT_THAT(Result<int>(3), IsOkAndHolds(::testing::Gt(2)));
  EXPECT_THAT(Error::Ok, ::testing::Not(ErrorIs(Error::NotFound)));
}

TEST(MatchersTest, TensorsAndListsMatch) {
  TensorFactory<ScalarType::Float> tf;
  const Tensor a = tf.make({2}, {1, 2});
  const Tensor b = tf.make({2}, {1, 2.000001f});
  EXPECT_THAT(a, IsEqualTo(tf.make({2}, {1, 2})));
  EXPECT_THAT(a, ::testing::Not(IsEqualTo(b)));
  EXPECT_THAT(a, IsCloseTo(b));
  EXPECT_THAT(a, IsCloseToWithTol(tf.make({2}, {1.5f, 2}), 0.0, 0.5));
  EXPECT_THAT(a, IsDataEqualTo(tf.make({1, 2}, {1, 2})));
  const std::vector<Tensor> as = {a, a};
  const std::vector<Tensor> bs = {a, b};
  EXPECT_THAT(as, IsListEqualTo(as));
  EXPECT_THAT(as, IsListCloseTo(executorch::aten::ArrayRef<Tensor>(bs.data(), bs.size())));
}
#endif

TEST(TensorMacrosTest, VectorsAndReferencesOfTensorsAreCompared) {
  executorch::runtime::testing::TensorFactory<executorch::aten::ScalarType::Float> tf;
  const std::vector<executorch::aten::Tensor> as = {tf.ones({2}), tf.zeros({2})};
  const std::vector<executorch::aten::Tensor> bs = {tf.ones({2}), tf.ones({2})};
  const executorch::aten::ArrayRef<executorch::aten::Tensor> ref(as.data(), as.size());
  EXPECT_TENSOR_LISTS_EQ(as, as);
  EXPECT_TENSOR_LISTS_EQ(ref, as);
  EXPECT_TENSOR_LISTS_NE(as, bs);
  ASSERT_TENSOR_LISTS_NOT_CLOSE(as, bs);
  EXPECT_TENSOR_DATA_NOT_CLOSE_WITH_TOL(as[0], as[1], 0, 0.5);
  ASSERT_TENSOR_DATA_NE(as[0], as[1]);
}

}  // namespace
