// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Detection of memory that maps a file, and the conditions under which it is not trusted.
#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <executorch/backends/xnnpack/runtime/weights/file/file_time.h>
#include <executorch/backends/xnnpack/runtime/weights/file/mapped_file.h>

namespace executorch::backends::xnnpack {
namespace {

constexpr size_t kPage = 4096;

/// A file of three pages, with the second and third mapped. Parameter: whether to query the system
/// for single addresses.
class MappedFilesTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "mapped file, with spaces";
    std::ofstream(path_, std::ios::binary) << std::string(3 * kPage, 'x');
    settle();
    mapped_ = map(PROT_READ, MAP_PRIVATE);
  }
  void TearDown() override {
    munmap(mapped_, 2 * kPage);
    std::filesystem::remove(path_);
  }

  /// Waits until the file's last change is old enough to trust it.
  static void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

  char* map(int access, int kind) const {
    const int file = open(path_.c_str(), O_RDWR);
    void* const pages = mmap(nullptr, 2 * kPage, access, kind, file, kPage);
    close(file);
    EXPECT_NE(pages, MAP_FAILED);
    return static_cast<char*>(pages);
  }

  static std::optional<Digest> place(const void* data, size_t size) {
    return MappedFiles(GetParam()).place_of(data, size);
  }

  std::string path_;
  char* mapped_ = nullptr;
};

TEST_P(MappedFilesTest, PlacesAreByFileOffsetAndSize) {
  const std::optional<Digest> whole = place(mapped_, 2 * kPage);
  ASSERT_TRUE(whole);
  EXPECT_EQ(place(mapped_, 2 * kPage), whole);
  EXPECT_NE(place(mapped_, kPage), whole);
  EXPECT_NE(place(mapped_ + 64, kPage), place(mapped_, kPage));
  char* const again = map(PROT_READ, MAP_PRIVATE);
  EXPECT_EQ(place(again + 64, kPage), place(mapped_ + 64, kPage));
  munmap(again, 2 * kPage);
}

TEST_P(MappedFilesTest, OneObjectAnswersForManyPlaces) {
  MappedFiles files(GetParam());
  for (size_t i = 0; i < kPage; i += 64) {
    EXPECT_EQ(files.place_of(mapped_ + i, 64), place(mapped_ + i, 64)) << i;
  }
}

TEST_P(MappedFilesTest, OtherMemoryHasNoPlace) {
  const std::string heap(kPage, 'x');
  EXPECT_FALSE(place(heap.data(), heap.size()));
  EXPECT_FALSE(place(nullptr, 1));
  EXPECT_FALSE(place(mapped_ + 1, 2 * kPage));
  // Memory of these kinds may differ from the file, or change with it.
  for (const auto& [access, kind] :
       {std::pair(PROT_READ | PROT_WRITE, MAP_PRIVATE), std::pair(PROT_READ, MAP_SHARED),
        std::pair(PROT_READ | PROT_EXEC, MAP_PRIVATE)}) {
    char* const other = map(access, kind);
    EXPECT_FALSE(place(other, kPage)) << access << " " << kind;
    munmap(other, 2 * kPage);
  }
}

TEST_P(MappedFilesTest, AFileThatChangesHasOtherPlaces) {
  const std::optional<Digest> before = place(mapped_, kPage);
  std::fstream(path_, std::ios::binary | std::ios::in | std::ios::out) << 'y';
  EXPECT_FALSE(place(mapped_, kPage));
  settle();
  const std::optional<Digest> after = place(mapped_, kPage);
  EXPECT_TRUE(after);
  EXPECT_NE(after, before);
}

TEST_P(MappedFilesTest, AFileThatIsReplacedOrDeletedHasNone) {
  std::filesystem::rename(path_, path_ + ".old");
  std::ofstream(path_, std::ios::binary) << std::string(3 * kPage, 'x');
  std::filesystem::remove(path_ + ".old");
  settle();
  EXPECT_FALSE(place(mapped_, kPage));
  std::filesystem::remove(path_);
  EXPECT_FALSE(place(mapped_, kPage));
}

TEST(FileTime, OfWholeSecondsIsTrustedLater) {
  constexpr long kMillisecond = 1'000'000;
  EXPECT_FALSE(is_settled({10, 5 * kMillisecond}, {10, 24 * kMillisecond}));
  EXPECT_TRUE(is_settled({10, 5 * kMillisecond}, {10, 25 * kMillisecond}));
  // A file that changes at 10.1 and at 11.9 seconds may have the time 10 after both.
  EXPECT_FALSE(is_settled({10, 0}, {11, 950 * kMillisecond}));
  EXPECT_TRUE(is_settled({10, 0}, {12, 0}));
  // A time in the future: another clock.
  EXPECT_FALSE(is_settled({100, 1}, {10, 0}));
}

TEST(FileTime, ThatNanosecondsDoNotHoldIsTheNearest) {
  constexpr time_t kYear = 31'556'952;
  EXPECT_EQ(nanoseconds({1, 2}), 1'000'000'002);
  EXPECT_EQ(nanoseconds({400 * kYear, 0}), INT64_MAX);
  EXPECT_EQ(nanoseconds({-400 * kYear, 0}), INT64_MIN);
  EXPECT_FALSE(is_settled({400 * kYear, 0}, {10, 0}));
}

INSTANTIATE_TEST_SUITE_P(Ways, MappedFilesTest, testing::Bool());

}  // namespace
}  // namespace executorch::backends::xnnpack
#endif
