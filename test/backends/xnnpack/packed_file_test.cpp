// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Packed weights in a file: the next start uses them, and no invalid file does harm.
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <backends/xnnpack/two_sizes.h>
#include <executorch/backends/xnnpack/runtime/XNNPACKBackend.h>
#include <executorch/backends/xnnpack/runtime/weights/packed_weights.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch::backends::xnnpack {
namespace {

constexpr size_t kHeader = 72;

/// A file's bytes with the digest of its header and tables by `key`.
std::string signed_by(const DigestKey& key, std::string file) {
  uint32_t entries = 0;
  uint64_t contents = 0;
  memcpy(&entries, file.data() + 12, sizeof(entries));
  memcpy(&contents, file.data() + 64, sizeof(contents));
  memset(file.data() + 48, 0, sizeof(Digest));
  Digester digester(key);
  digester.add(file.data(), kHeader);
  digester.add(file.data() + kHeader, entries * size_t{48} + contents * 32);
  const Digest digest = digester.finish();
  memcpy(file.data() + 48, &digest, sizeof(digest));
  return file;
}

class PackedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime::runtime_init();
    folder_ = ::testing::TempDir() + "packed_file_test";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = folder_ + "/weights";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// One start: loads with the file, runs, ends.
  void start(const std::string& method = "small") const {
    LoadOptions<1> with;
    ASSERT_EQ(with.options.set_option(packed_cache_path_option_key, path_.c_str()),
              runtime::Error::Ok);
    const std::unique_ptr<extension::Module> module = two_sizes();
    ASSERT_EQ(module->load_method(method, nullptr, nullptr, with.map()), runtime::Error::Ok);
    EXPECT_TRUE(matches_eager(*module, method));
    EXPECT_TRUE(matches_eager(*module, method));
  }

  std::string read() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& bytes) const {
    std::filesystem::remove(path_);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  /// Distinguishes files that replace each other.
  ino_t inode() const {
    struct stat info = {};
    return stat(path_.c_str(), &info) == 0 ? info.st_ino : 0;
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::string folder_;
  std::string path_;
};

TEST_F(PackedFileTest, ASecondStartTakesTheFileAsItIs) {
  start();
  const std::string first = read();
  EXPECT_EQ(first.substr(0, 8), "ETPACKED");
  EXPECT_EQ(files(), 1u);
  const ino_t written = inode();
  start();
  EXPECT_EQ(inode(), written);
  // The other method has the same weights.
  start("large");
  EXPECT_EQ(inode(), written);
  EXPECT_EQ(read(), first);
}

TEST_F(PackedFileTest, ADamagedOrForeignFileIsReplaced) {
  start();
  const std::string good = read();
  const auto with = [&good](size_t at, char byte) {
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ byte);
    return changed;
  };
  const std::string damaged[] = {
      "",
      "something else",
      std::string(4096, '\0'),
      good.substr(0, 63),
      good.substr(0, 100),
      good.substr(0, good.size() - 1),
      good + "more",
      with(0, 1),                       // the magic
      with(8, 1),                       // the version
      with(12, 127),                    // how many
      with(16, 1),                      // the library
      with(33, 1),                      // the size
      with(50, 1),                      // the table's digest
      with(64, 1),                      // how many contents
      with(70, 1),                      // and far too many
      with(kHeader + 17, 1),            // an offset
      with(kHeader + 30, 64),           // a size
      with(good.size() - 128 - 64, 1),  // the last block's data
  };
  for (const std::string& bytes : damaged) {
    write(bytes);
    start();
    // All but the time when it was made and the digest, which covers the time.
    std::string rewritten = read();
    ASSERT_EQ(rewritten.size(), good.size());
    rewritten.replace(40, 24, good, 40, 24);
    EXPECT_TRUE(rewritten == good) << "a file of " << bytes.size() << " bytes";
  }
}

TEST_F(PackedFileTest, ATableThatIsWrongUnderARightDigestIsNotFollowed) {
  start();
  const std::string good = read();
  for (const uint64_t offset : {uint64_t{0}, uint64_t{1} << 40, UINT64_MAX - 63, uint64_t{65}}) {
    for (const uint64_t size : {uint64_t{0}, uint64_t{1} << 40, UINT64_MAX}) {
      std::string wrong = good;
      memcpy(&wrong[kHeader + 16], &offset, sizeof(offset));
      memcpy(&wrong[kHeader + 24], &size, sizeof(size));
      write(signed_by(key_of_user(), wrong));
      start();
    }
  }
}

TEST_F(PackedFileTest, RandomChangesCauseNoErrors) {
  start();
  const std::string good = read();
  std::mt19937 draw(7);
  for (int i = 0; i < 20; ++i) {
    std::string changed = good;
    for (int j = 0; j < 3; ++j) {
      changed[draw() % changed.size()] = static_cast<char>(draw());
    }
    write(changed);
    start();
  }
}

TEST_F(PackedFileTest, AFileThatCannotBeReadOrWrittenIsNotUsed) {
  path_ = folder_ + "/no such folder/weights";
  start();
  path_ = folder_;  // A folder is not a file.
  start();
  EXPECT_EQ(files(), 0u);
}

TEST_F(PackedFileTest, AFileThatOthersMayWriteToIsReplaced) {
  start();
  const ino_t written = inode();
  ASSERT_EQ(chmod(path_.c_str(), 0664), 0);
  start();
  EXPECT_NE(inode(), written);
  struct stat info = {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & (S_IWGRP | S_IWOTH), 0u);
}

TEST_F(PackedFileTest, AFileWhoseEntriesWereForgedWithoutTheKeyIsReplaced) {
  start();
  std::string bytes = read();
  const ino_t written = inode();
  // The first entry's size becomes 0, and the table's digest what anybody can compute.
  memset(bytes.data() + kHeader + 24, 0, 8);
  bytes = signed_by({}, bytes);
  write(bytes);
  start();
  EXPECT_NE(inode(), written);
  EXPECT_NE(read(), bytes);
}

TEST_F(PackedFileTest, AFifoIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  start();
  struct stat info = {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_TRUE(S_ISREG(info.st_mode));
}

}  // namespace
}  // namespace executorch::backends::xnnpack
