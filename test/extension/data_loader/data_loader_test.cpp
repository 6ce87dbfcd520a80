// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// One contract for all data loaders, then what is special to each.
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/file_descriptor_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/data_loader/shared_ptr_data_loader.h>
#include <executorch/extension/memory_allocator/physical_memory.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/log_capture.h"
#include "utils/name_of_row.h"

using namespace executorch::extension;
using namespace executorch::runtime;
namespace copies = executorch::extension::internal;
using Mlock = MmapDataLoader::MlockConfig;

namespace {

const DataLoader::SegmentInfo kInfo(DataLoader::SegmentInfo::Type::Constant);
const DataLoader::SegmentInfo kProgram(DataLoader::SegmentInfo::Type::Program);

/// A file of the given content, removed at the end.
class TemporaryFile final {
 public:
  explicit TemporaryFile(const std::string& content) {
    char name[] = "/tmp/data_loader_test_XXXXXX";
    const int fd = mkstemp(name);
    EXPECT_EQ(write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
    close(fd);
    path_ = name;
  }
  ~TemporaryFile() { unlink(path_.c_str()); }

  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

/// 10000 bytes: more than two pages.
std::string content() {
  std::string bytes;
  for (int i = 0; i < 10000; ++i) {
    bytes.push_back(static_cast<char>(i * 7 % 251));
  }
  return bytes;
}

std::string text_of(const FreeableBuffer& buffer) {
  return std::string(static_cast<const char*>(buffer.data()), buffer.size());
}

struct Case {
  const char* name;
  std::function<std::unique_ptr<DataLoader>(const TemporaryFile&, const std::string&)> make;
};

template <typename Loader>
std::unique_ptr<DataLoader> owned(Result<Loader> loader) {
  EXPECT_TRUE(loader.ok());
  return std::make_unique<Loader>(std::move(*loader));
}

const Case kCases[] = {
    {"Buffer",
     [](const TemporaryFile&, const std::string& bytes) {
       return std::make_unique<BufferDataLoader>(bytes.data(), bytes.size());
     }},
    {"SharedPtr",
     [](const TemporaryFile&, const std::string& bytes) {
       std::shared_ptr<void> data(malloc(bytes.size()), free);
       memcpy(data.get(), bytes.data(), bytes.size());
       return std::make_unique<SharedPtrDataLoader>(data, bytes.size());
     }},
    {"File", [](const TemporaryFile& file,
                const std::string&) { return owned(FileDataLoader::from(file.path())); }},
    {"FileDescriptor",
     [](const TemporaryFile& file, const std::string&) {
       const std::string uri = "fd:///" + std::to_string(open(file.path(), O_RDONLY));
       return owned(FileDescriptorDataLoader::fromFileDescriptorUri(uri.c_str()));
     }},
    {"Mmap",
     [](const TemporaryFile& file, const std::string&) {
       return owned(MmapDataLoader::from(file.path(), Mlock::NoMlock));
     }},
    {"MmapLocked",
     [](const TemporaryFile& file, const std::string&) {
       return owned(MmapDataLoader::from(file.path(), Mlock::UseMlockIgnoreErrors));
     }},
};

class EveryDataLoaderTest : public ::testing::TestWithParam<Case> {
 protected:
  std::string bytes_ = content();
  TemporaryFile file_{bytes_};
  std::unique_ptr<DataLoader> loader_ = GetParam().make(file_, bytes_);
  LogCapture log_;
};

TEST_P(EveryDataLoaderTest, LoadsAnyRange) {
  EXPECT_EQ(*loader_->size(), bytes_.size());
  const std::pair<size_t, size_t> ranges[] = {{0, 10000}, {1, 1},    {4095, 2},
                                              {4096, 10}, {9999, 1}, {5000, 5000}};
  for (const auto& [offset, size] : ranges) {
    const Result<FreeableBuffer> buffer = loader_->load(offset, size, kInfo);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(text_of(*buffer), bytes_.substr(offset, size));
    std::string into(size, '\0');
    EXPECT_EQ(loader_->load_into(offset, size, kInfo, into.data()), Error::Ok);
    EXPECT_EQ(into, bytes_.substr(offset, size));
  }
}

TEST_P(EveryDataLoaderTest, LoadsNothingAnywhereWithinTheData) {
  EXPECT_EQ(loader_->load(0, 0, kInfo)->size(), 0u);
  EXPECT_EQ(loader_->load(10000, 0, kInfo)->size(), 0u);
  EXPECT_EQ(loader_->load_into(10000, 0, kInfo, nullptr), Error::Ok);
}

TEST_P(EveryDataLoaderTest, RefusesRangesOutsideOfTheData) {
  const std::pair<size_t, size_t> ranges[] = {{0, 10001},    {10000, 1},       {10001, 0},
                                              {SIZE_MAX, 1}, {1, SIZE_MAX},    {SIZE_MAX, SIZE_MAX},
                                              {9999, 2},     {0, SIZE_MAX / 2}};
  char byte = 0;
  for (const auto& [offset, size] : ranges) {
    EXPECT_EQ(loader_->load(offset, size, kInfo).error(), Error::InvalidArgument);
    EXPECT_EQ(loader_->load_into(offset, size, kInfo, &byte), Error::InvalidArgument);
  }
  EXPECT_TRUE(log_.contains("10001 bytes at offset 0 requested, there are 10000"));
}

TEST_P(EveryDataLoaderTest, RefusesToCopyToANullPointer) {
  EXPECT_EQ(loader_->load_into(0, 1, kInfo, nullptr), Error::InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Loaders, EveryDataLoaderTest, ::testing::ValuesIn(kCases),
                         executorch::testing::NameOfRow());

TEST(DataLoaderLifetimeTest, PiecesOfFilesOutliveTheirLoader) {
  const std::string bytes = content();
  TemporaryFile file(bytes);
  for (const Case& one : {kCases[2], kCases[3], kCases[4]}) {
    std::unique_ptr<DataLoader> loader = one.make(file, bytes);
    const Result<FreeableBuffer> buffer = loader->load(5000, 100, kInfo);
    loader.reset();
    EXPECT_EQ(text_of(*buffer), bytes.substr(5000, 100)) << one.name;
  }
}

TEST(DataLoaderLifetimeTest, ASharedPtrKeepsItsMemory) {
  auto data = std::make_shared<std::string>("hello");
  std::weak_ptr<std::string> watch = data;
  auto loader = std::make_unique<SharedPtrDataLoader>(std::shared_ptr<void>(data, data->data()),
                                                      data->size());
  data.reset();
  EXPECT_EQ(text_of(*loader->load(1, 3, kInfo)), "ell");
  loader.reset();
  EXPECT_TRUE(watch.expired());
}

void expect_invalid_state(const DataLoader& loader) {
  char byte = 0;
  EXPECT_EQ(loader.load(0, 1, kInfo).error(), Error::InvalidState);
  EXPECT_EQ(loader.load_into(0, 1, kInfo, &byte), Error::InvalidState);
}

TEST(DataLoaderLifetimeTest, UsingALoaderThatWasMovedFromIsAnError) {
  LogCapture log;
  TemporaryFile file(content());
  auto read = FileDataLoader::from(file.path());
  auto mapped = MmapDataLoader::from(file.path(), Mlock::NoMlock);
  const std::string uri = "fd:///" + std::to_string(open(file.path(), O_RDONLY));
  auto adopted = FileDescriptorDataLoader::fromFileDescriptorUri(uri.c_str());
  SharedPtrDataLoader shared(std::make_shared<int>(1), sizeof(int));
  const FileDataLoader other_read(std::move(*read));
  const MmapDataLoader other_mapped(std::move(*mapped));
  const FileDescriptorDataLoader other_adopted(std::move(*adopted));
  const SharedPtrDataLoader other_shared(std::move(shared));
  for (const DataLoader* loader :
       std::initializer_list<const DataLoader*>{&*read, &*mapped, &*adopted, &shared}) {
    expect_invalid_state(*loader);
    EXPECT_EQ(loader->size().error(), Error::InvalidState);
  }
  for (const DataLoader* loader : std::initializer_list<const DataLoader*>{
           &other_read, &other_mapped, &other_adopted, &other_shared}) {
    EXPECT_TRUE(loader->load(0, 1, kInfo).ok());
  }
  expect_invalid_state(BufferDataLoader(nullptr, 1));
}

TEST(FileDataLoaderTest, PiecesAreAligned) {
  TemporaryFile file(content());
  for (const size_t alignment : {size_t{1}, size_t{16}, size_t{64}, size_t{4096}}) {
    const Result<FileDataLoader> loader = FileDataLoader::from(file.path(), alignment);
    const Result<FreeableBuffer> buffer = loader->load(3, 5, kInfo);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % alignment, 0u);
  }
}

TEST(FileDataLoaderTest, CopiesOfFilesHaveALimitTogether) {
  const size_t memory = three_quarters_of_memory();
  ASSERT_GT(memory, 0u);
  const TemporaryFile file(content());
  auto loader = FileDataLoader::from(file.path());
  {
    const auto piece = loader->load(0, 100, kInfo);
    ASSERT_TRUE(piece.ok());
    const LogCapture log;
    EXPECT_EQ(copies::take_copy("large", memory, memory / 5).error(),
              Error::MemoryAllocationFailed);
    EXPECT_TRUE(log.contains("large: copies of files have"));
    EXPECT_TRUE(loader->load(0, 100, kInfo).ok());
    // A file may be larger than the limit.
    const auto large = copies::take_copy("large", memory, memory / 2);
    ASSERT_TRUE(large.ok());
    EXPECT_EQ(loader->load(0, 100, kInfo).error(), Error::MemoryAllocationFailed);
  }
  EXPECT_TRUE(copies::take_copy("large", memory, memory / 5).ok());
}

TEST(FileDataLoaderTest, ReportsWhyAFileCannotBeLoaded) {
  LogCapture log;
  EXPECT_EQ(FileDataLoader::from("/no/such/file").error(), Error::NotFound);
  EXPECT_TRUE(log.contains("/no/such/file: cannot be opened: No such file or directory"));
  EXPECT_EQ(MmapDataLoader::from("/no/such/file").error(), Error::NotFound);
  EXPECT_EQ(FileDataLoader::from("/tmp").error(), Error::AccessFailed);
  EXPECT_EQ(FileDataLoader::from(nullptr).error(), Error::InvalidArgument);
  EXPECT_EQ(MmapDataLoader::from(nullptr).error(), Error::InvalidArgument);
  TemporaryFile file("x");
  EXPECT_EQ(FileDataLoader::from((std::string(file.path()) + "/x").c_str()).error(),
            Error::NotFound);
  EXPECT_EQ(FileDataLoader::from(file.path(), 3).error(), Error::InvalidArgument);
  EXPECT_EQ(FileDataLoader::from(file.path(), 0).error(), Error::InvalidArgument);
}

TEST(FileDataLoaderTest, AFileThatShrinksIsAnError) {
  LogCapture log;
  TemporaryFile file(content());
  const Result<FileDataLoader> loader = FileDataLoader::from(file.path());
  ASSERT_EQ(truncate(file.path(), 100), 0);
  EXPECT_EQ(loader->load(0, 1000, kInfo).error(), Error::AccessFailed);
  EXPECT_TRUE(log.contains("has become shorter"));
}

TEST(FileDataLoaderTest, AnEmptyFileIsEmpty) {
  TemporaryFile file("");
  const Result<FileDataLoader> loader = FileDataLoader::from(file.path());
  EXPECT_EQ(*loader->size(), 0u);
  EXPECT_EQ(loader->load(0, 0, kInfo)->size(), 0u);
  EXPECT_EQ(*MmapDataLoader::from(file.path())->size(), 0u);
}

TEST(FileDescriptorDataLoaderTest, RefusesInvalidUris) {
  LogCapture log;
  for (const char* uri : {"", "3", "fd://3", "fd:///", "fd:///x", "fd:///3x", "fd:///-1",
                          "fd:///2147483648", "fd:///99999999999999999999", "fd:/"}) {
    EXPECT_EQ(FileDescriptorDataLoader::fromFileDescriptorUri(uri).error(), Error::InvalidArgument)
        << uri;
  }
  EXPECT_EQ(FileDescriptorDataLoader::fromFileDescriptorUri(nullptr).error(),
            Error::InvalidArgument);
  EXPECT_EQ(FileDescriptorDataLoader::fromFileDescriptorUri("fd:///2000000").error(),
            Error::AccessFailed);
  EXPECT_EQ(FileDescriptorDataLoader::fromFileDescriptorUri("fd:///0", 3).error(),
            Error::InvalidArgument);
}

TEST(MmapDataLoaderTest, BytesThatAreVerifiedDoNotFollowTheFile) {
  const TemporaryFile file(content());
  const Result<MmapDataLoader> loader = MmapDataLoader::from(file.path(), Mlock::NoMlock);
  ASSERT_TRUE(loader.ok());
  const Result<FreeableBuffer> program = loader->load(0, 10000, kProgram);
  ASSERT_TRUE(program.ok());
  // An unread page of a mapping would end the process.
  ASSERT_EQ(truncate(file.path(), 0), 0);
  EXPECT_EQ(text_of(*program), content());
  EXPECT_EQ(loader->load(0, 10000, kProgram).error(), Error::AccessFailed);
}

TEST(DataLoaderTest, AFifoIsRefusedInsteadOfWaitedFor) {
  const TemporaryFile file("");
  const std::string fifo = std::string(file.path()) + ".fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(FileDataLoader::from(fifo.c_str()).error(), Error::AccessFailed);
  EXPECT_EQ(MmapDataLoader::from(fifo.c_str(), Mlock::NoMlock).error(), Error::AccessFailed);
  unlink(fifo.c_str());
  EXPECT_EQ(FileDataLoader::from("/dev/zero").error(), Error::AccessFailed);
}

}  // namespace
