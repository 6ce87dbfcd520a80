// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/threadpool/cores.h>

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <limits>
#include <map>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace executorch::extension::threadpool {
namespace {

/// All lines of a file; none if it cannot be read.
std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  FILE* file = fopen(path.c_str(), "r");
  if (file == nullptr) {
    return lines;
  }
  char text[512];
  while (fgets(text, sizeof(text), file) != nullptr) {
    lines.emplace_back(text);
    while (!lines.back().empty() && lines.back().back() == '\n') {
      lines.back().pop_back();
    }
  }
  fclose(file);
  return lines;
}

/// The first line; empty if there is none.
std::string line_of(const std::string& path) {
  const std::vector<std::string> lines = lines_of(path);
  return lines.empty() ? std::string() : lines.front();
}

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// The limit of one control group (version 2), in processors. The file has "quota period", or "max
/// period".
double granted_by(const std::string& folder) {
  const std::string text = line_of(folder + "/cpu.max");
  long long quota = 0;
  long long period = 0;
  const bool is_limited = sscanf(text.c_str(), "%lld %lld", &quota, &period) == 2 && period > 0;
  return is_limited ? static_cast<double>(quota) / static_cast<double>(period) : kUnlimited;
}

/// The same for version 1, where a quota below 0 means no limit.
double granted_by_old(const std::string& folder) {
  const double quota = atof(line_of(folder + "/cpu.cfs_quota_us").c_str());
  const double period = atof(line_of(folder + "/cpu.cfs_period_us").c_str());
  return quota > 0 && period > 0 ? quota / period : kUnlimited;
}

/// Minimum over a group and its ancestors.
double granted_along(double (*granted)(const std::string&), const std::string& mount,
                     std::string group) {
  double lowest = granted(mount);
  while (group.size() > 1) {
    lowest = std::min(lowest, granted(mount + group));
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  return lowest;
}

std::vector<int> own_processors() {
  std::vector<int> processors;
#if defined(__linux__)
  // 8192 processors, more than a kernel is built for.
  cpu_set_t sets[8192 / CPU_SETSIZE];
  if (sched_getaffinity(0, sizeof(sets), sets) == 0) {
    for (int i = 0; i < 8192; ++i) {
      if (CPU_ISSET_S(static_cast<size_t>(i), sizeof(sets), sets)) {
        processors.push_back(i);
      }
    }
  }
#endif
  for (unsigned i = 0; processors.empty() && i < std::thread::hardware_concurrency(); ++i) {
    processors.push_back(static_cast<int>(i));
  }
  return processors;
}

}  // namespace

size_t count_cores(const std::string& root, const std::vector<int>& processors) {
  // A core's name → its capacity, of 1024.
  std::map<std::string, long> capacities;
  for (const int processor : processors) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(processor);
    const std::string core = line_of(folder + "/topology/core_id");
    const std::string package = line_of(folder + "/topology/physical_package_id");
    const std::string capacity = line_of(folder + "/cpu_capacity");
    // Processors without a description are cores of their own.
    const std::string name =
        core.empty() ? "processor " + std::to_string(processor) : package + ":" + core;
    capacities[name] = capacity.empty() ? 1024 : atol(capacity.c_str());
  }
  long weakest = std::numeric_limits<long>::max();
  long strongest = 0;
  for (const auto& core : capacities) {
    weakest = std::min(weakest, core.second);
    strongest = std::max(strongest, core.second);
  }
  size_t count = 0;
  for (const auto& core : capacities) {
    count += strongest == weakest || core.second > weakest ? 1 : 0;
  }
  return count;
}

double granted_processors(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  double lowest = kUnlimited;
  for (const std::string& line : lines_of(root + "/proc/self/cgroup")) {
    // number:controllers:/group
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      lowest = std::min(lowest, granted_along(granted_by, mount, group));
      lowest = std::min(lowest, granted_along(granted_by, mount + "/unified", group));
    } else if (controllers.find(",cpu,") != std::string::npos) {
      lowest = std::min(lowest, granted_along(granted_by_old, mount + "/cpu", group));
    }
  }
  return lowest;
}

size_t usable_cores() {
  static const size_t cores = [] {
#if defined(EXECUTORCH_USE_ALL_LOGICAL_CORES)
    const size_t available = own_processors().size();
#else
    const size_t available = count_cores("", own_processors());
#endif
    const double granted = granted_processors("");
    const size_t paid =
        granted < static_cast<double>(available) ? static_cast<size_t>(granted) : available;
    return std::max<size_t>(paid, 1);
  }();
  return cores;
}

}  // namespace executorch::extension::threadpool
