// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/threadpool/cores.h>

#include <math.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace executorch::extension::threadpool {
namespace {

/// A folder with files of a system.
class System {
 public:
  System() : root_(testing::TempDir() + "cores_test") { std::filesystem::remove_all(root_); }
  ~System() { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  void add_processor(int number, int core, int package = 0, int capacity = 0) const {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(number);
    write(folder + "/topology/core_id", std::to_string(core));
    write(folder + "/topology/physical_package_id", std::to_string(package));
    if (capacity != 0) {
      write(folder + "/cpu_capacity", std::to_string(capacity));
    }
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

TEST(Cores, ThreadsOfACoreCountOnce) {
  const System system;
  for (int i = 0; i < 8; ++i) {
    system.add_processor(i, i % 4);
  }
  EXPECT_EQ(count_cores(system.root(), {0, 1, 2, 3, 4, 5, 6, 7}), 4u);
  EXPECT_EQ(count_cores(system.root(), {0, 4}), 1u);
  EXPECT_EQ(count_cores(system.root(), {1, 6}), 2u);
}

TEST(Cores, CoresOfAnotherPackageAreOthers) {
  const System system;
  system.add_processor(0, 0, 0);
  system.add_processor(1, 0, 1);
  EXPECT_EQ(count_cores(system.root(), {0, 1}), 2u);
}

TEST(Cores, TheWeakestKindIsLeftOut) {
  const System system;
  for (int i = 0; i < 4; ++i) {
    system.add_processor(i, i, 0, 380);
  }
  system.add_processor(4, 4, 0, 870);
  system.add_processor(5, 5, 0, 1024);
  EXPECT_EQ(count_cores(system.root(), {0, 1, 2, 3, 4, 5}), 2u);
  EXPECT_EQ(count_cores(system.root(), {0, 1, 2, 3}), 4u);
}

TEST(Cores, ProcessorsWithoutADescriptionCountEach) {
  EXPECT_EQ(count_cores(System().root(), {0, 1, 2}), 3u);
}

TEST(Cores, AGroupAndItsAncestorsLimit) {
  const System system;
  system.write("/proc/self/cgroup", "0::/a/b");
  EXPECT_TRUE(isinf(granted_processors(system.root())));
  system.write("/sys/fs/cgroup/a/b/cpu.max", "max 100000");
  EXPECT_TRUE(isinf(granted_processors(system.root())));
  system.write("/sys/fs/cgroup/a/cpu.max", "250000 100000");
  EXPECT_EQ(granted_processors(system.root()), 2.5);
}

TEST(Cores, ControlGroupsOfVersionOneLimit) {
  const System system;
  system.write("/proc/self/cgroup", "3:cpuset:/x\n2:cpu,cpuacct:/job");
  system.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  system.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_TRUE(isinf(granted_processors(system.root())));
  system.write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "150000");
  system.write("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000");
  EXPECT_EQ(granted_processors(system.root()), 1.5);
}

TEST(Cores, AProcessMayUseAtLeastOne) { EXPECT_GE(usable_cores(), 1u); }

}  // namespace
}  // namespace executorch::extension::threadpool
