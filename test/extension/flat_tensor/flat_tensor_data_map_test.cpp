// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/test/oracle/tolerances.h>

#include "test_paths.h"

namespace {

using namespace executorch::extension;
using executorch::runtime::Error;

std::string data(const char* name) { return std::string(TEST_DATA_DIR) + "/peer/" + name; }

class FlatTensorDataMapTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(loader_.ok());
    ASSERT_TRUE(map_.ok());
  }

  executorch::runtime::Result<FileDataLoader> loader_ =
      FileDataLoader::from(data("external.ptd").c_str());
  executorch::runtime::Result<FlatTensorDataMap> map_ = FlatTensorDataMap::load(&*loader_);
};

TEST_F(FlatTensorDataMapTest, NeedsALoader) {
  EXPECT_EQ(FlatTensorDataMap::load(nullptr).error(), Error::InvalidArgument);
}

TEST_F(FlatTensorDataMapTest, NamesWhatTheFileHolds) {
  EXPECT_EQ(map_->get_num_keys().get(), 5);
  EXPECT_TRUE(map_->get_key(4).ok());
  EXPECT_EQ(map_->get_key(5).error(), Error::InvalidArgument);
  const auto layout = map_->get_tensor_layout("a.weight");
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->sizes()[0], 5);
  EXPECT_EQ(layout->sizes()[1], 3);
  EXPECT_EQ(layout->nbytes(), 60);
  EXPECT_EQ(map_->get_tensor_layout("c.weight").error(), Error::NotFound);
}

TEST_F(FlatTensorDataMapTest, LoadsTheSameBytesBothWays) {
  const auto lent = map_->get_data("b.bias");
  ASSERT_TRUE(lent.ok());
  ASSERT_EQ(lent->size(), 8);
  uint8_t copied[8] = {};
  EXPECT_EQ(map_->load_data_into("b.bias", copied, sizeof(copied)), Error::Ok);
  EXPECT_EQ(memcmp(copied, lent->data(), sizeof(copied)), 0);
  EXPECT_EQ(map_->load_data_into("b.bias", copied, 4), Error::InvalidArgument);
  EXPECT_EQ(map_->get_data("").error(), Error::NotFound);
}

TEST_F(FlatTensorDataMapTest, MapsThatShareANameDoNotMerge) {
  const executorch::runtime::NamedDataMap* one[] = {&*map_};
  EXPECT_EQ(MergedDataMap::load(one)->get_num_keys().get(), 5);
  const executorch::runtime::NamedDataMap* twice[] = {&*map_, &*map_};
  EXPECT_EQ(MergedDataMap::load(twice).error(), Error::InvalidArgument);
}

TEST_F(FlatTensorDataMapTest, ADataMapThatIsNullIsSkipped) {
  const executorch::runtime::NamedDataMap* one[] = {nullptr, &*map_, nullptr};
  EXPECT_EQ(MergedDataMap::load(one)->get_num_keys().get(), 5);
  const executorch::runtime::NamedDataMap* none[] = {nullptr, nullptr};
  EXPECT_EQ(MergedDataMap::load(none)->get_num_keys().get(), 0);
}

TEST(MappedDataFileTest, DoesNotSeeWhatIsWrittenToItsIndexLater) {
  const std::string path = testing::TempDir() + "rewritten.ptd";
  std::filesystem::copy_file(data("external.ptd"), path,
                             std::filesystem::copy_options::overwrite_existing);
  auto loader = MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock);
  ASSERT_TRUE(loader.ok());
  const auto map = FlatTensorDataMap::load(&*loader);
  ASSERT_TRUE(map.ok());
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file << std::string(*loader->size(), '\xff') << std::flush;
  const auto layout = map->get_tensor_layout("a.weight");
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->sizes()[0], 5);
  EXPECT_EQ(layout->sizes()[1], 3);
}

TEST(MappedDataFileTest, OfMoreBytesThanAFlatbufferHasTakesNoMemory) {
  const std::string path = testing::TempDir() + "sparse.ptd";
  std::filesystem::copy_file(data("external.ptd"), path,
                             std::filesystem::copy_options::overwrite_existing);
  constexpr uint64_t kHuge = uint64_t{1} << 40;
  std::filesystem::resize_file(path, kHuge);
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(24);  // the flatbuffer's size
    constexpr uint64_t kSize = kHuge - 4096;
    file.write(reinterpret_cast<const char*>(&kSize), sizeof(kSize));
  }
  auto loader = MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock);
  ASSERT_TRUE(loader.ok());
  EXPECT_EQ(FlatTensorDataMap::load(&*loader).error(), Error::InvalidExternalData);
  std::filesystem::remove(path);
}

TEST(ModuleWithDataFilesTest, FindsItsWeights) {
  Module module(data("external.pte"), data("external.ptd"));
  const auto result = module.forward(ones({1, 3}));
  ASSERT_TRUE(result.ok());
  EXPECT_NEAR(result->at(0).toTensor().const_data_ptr<float>()[1], 2.0788, tolerance::kFourDigits);
  Module without(data("external.pte"));
  EXPECT_EQ(without.forward(ones({1, 3})).error(), Error::NotFound);
  Module with_another(data("external.pte"), std::vector<std::string>{data("add.pte")});
  EXPECT_EQ(with_another.load(), Error::InvalidExternalData);
}

}  // namespace
