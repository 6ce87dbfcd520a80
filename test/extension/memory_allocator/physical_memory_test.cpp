// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Limits of control groups, in a folder of files that stands for the folder `/`.
#include <executorch/extension/memory_allocator/physical_memory.h>
#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/log_capture.h"
#include "utils/no_descriptors.h"

namespace executorch::extension {
namespace {

class ControlGroups : public ::testing::Test {
 protected:
  ControlGroups() {
    char name[] = "/tmp/control_groups_XXXXXX";
    EXPECT_NE(mkdtemp(name), nullptr);
    root_ = name;
  }
  ~ControlGroups() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void write_groups(const std::string& lines) const { write("/proc/self/cgroup", lines); }
  uint64_t limit() const { return internal::control_group_limit(root_.c_str()); }

 private:
  std::string root_;
};

TEST_F(ControlGroups, WithoutFilesHaveNoLimit) {
  EXPECT_EQ(limit(), UINT64_MAX);
  write_groups("0::/a/b\n4:memory:/a/b\n");
  EXPECT_EQ(limit(), UINT64_MAX);
}

TEST_F(ControlGroups, OfVersion2HaveTheSmallestLimitOfAllParents) {
  write_groups("0::/a/b/c\n");
  write("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
  EXPECT_EQ(limit(), UINT64_MAX);
  write("/sys/fs/cgroup/a/b/memory.max", "3000\n");
  EXPECT_EQ(limit(), 3000u);
  write("/sys/fs/cgroup/a/memory.max", "2000\n");
  EXPECT_EQ(limit(), 2000u);
  write("/sys/fs/cgroup/a/b/c/memory.max", "1000\n");
  EXPECT_EQ(limit(), 1000u);
  // Not a parent.
  write("/sys/fs/cgroup/a/b/c/d/memory.max", "10\n");
  write("/sys/fs/cgroup/a/b/cc/memory.max", "10\n");
  EXPECT_EQ(limit(), 1000u);
}

TEST_F(ControlGroups, OfAContainerAreThoseOfTheMount) {
  write("/sys/fs/cgroup/memory.max", "5000\n");
  for (const char* const group : {"0::/\n", "0::/\n1:name=systemd:/\n", "0::/docker/1234\n"}) {
    write_groups(group);
    EXPECT_EQ(limit(), 5000u) << group;
  }
}

TEST_F(ControlGroups, OfVersion1AreThoseOfTheControllerOfMemory) {
  write_groups(
      "5:cpu,cpuacct:/small\n4:cpu,memory,pids:/docker/1234\n3:memory_other:/small\n0::/\n");
  write("/sys/fs/cgroup/memory/small/memory.limit_in_bytes", "1\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limit(), 9223372036854771712u);
  write("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "7000\n");
  EXPECT_EQ(limit(), 7000u);
}

TEST_F(ControlGroups, IgnoreOtherContents) {
  write("/sys/fs/cgroup/memory.max", "");
  for (const std::string& lines :
       {std::string(), std::string("0\n"), std::string("0:\n\n:::\n"), std::string("memory"),
        "0::/" + std::string(10'000, 'x') + "\n", std::string("0::../..\n")}) {
    write_groups(lines);
    EXPECT_EQ(limit(), UINT64_MAX) << lines;
  }
  write_groups("0::/\n");
  for (const char* const text :
       {"", "max", "\n", "bytes", "18446744073709551615", "99999999999999999999999999"}) {
    write("/sys/fs/cgroup/memory.max", text);
    EXPECT_EQ(limit(), UINT64_MAX) << text;
  }
}

TEST_F(ControlGroups, AreZeroWithoutADescriptorToReadThem) {
  write_groups("0::/\n");
  write("/sys/fs/cgroup/memory.max", "5000\n");
  {
    const executorch::testing::NoDescriptors none;
    EXPECT_EQ(limit(), 0u);
  }
  EXPECT_EQ(limit(), 5000u);
  write("/sys/fs/cgroup/memory.max", "0\n");
  EXPECT_EQ(limit(), 1u);
}

/// Exits with 0 if the limits are read until that succeeds, and each failure is logged.
[[noreturn]] void read_limits_without_and_with_descriptors() {
  runtime::runtime_init();
  const LogCapture log;
  bool is_right = true;
  for (const size_t failures : {1u, 2u}) {
    const executorch::testing::NoDescriptors none;
    is_right = is_right && three_quarters_of_memory() > 0 && log.messages().size() == failures;
  }
  is_right = is_right && three_quarters_of_memory() > 0;
  {
    const executorch::testing::NoDescriptors none;
    is_right = is_right && three_quarters_of_memory() > 0;
  }
  is_right = is_right && log.messages().size() == 2 &&
             log.contains("no file descriptor or memory to read the memory limits");
  exit(is_right ? 0 : 1);
}

TEST(PhysicalMemoryDeathTest, IsReadAgainAfterThereWasNoDescriptor) {
  // The child process starts anew, so it reads the limits itself.
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(read_limits_without_and_with_descriptors(), ::testing::ExitedWithCode(0), "");
}

TEST(PhysicalMemory, IsAtMostTheMachines) {
  const auto machine =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_GT(three_quarters_of_memory(), 0u);
  EXPECT_LE(three_quarters_of_memory(), machine / 4 * 3);
  EXPECT_EQ(memory_limit(), three_quarters_of_memory());
}

}  // namespace
}  // namespace executorch::extension
