// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/async/task_threads.h>

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

namespace {

using executorch::extension::TaskThreads;
using executorch::runtime::Error;
using executorch::runtime::Task;
using executorch::runtime::TaskScope;

struct Count final : Task {
  void run() override { ++runs; }
  std::atomic<int> runs{0};
};

TEST(TaskThreadsTest, PostedTasksRunBeforeTheThreadsEnd) {
  Count tasks[100];
  {
    auto threads = TaskThreads::start(3);
    ASSERT_TRUE(threads.ok());
    EXPECT_EQ((*threads)->count(), 3);
    for (Count& task : tasks) (*threads)->post(task);
  }
  for (const Count& task : tasks) EXPECT_EQ(task.runs, 1);
  EXPECT_EQ(TaskThreads::start(0).error(), Error::InvalidArgument);
  EXPECT_EQ(TaskThreads::start(SIZE_MAX).error(), Error::MemoryAllocationFailed);
}

TEST(TaskThreadsTest, AScopeRunsTheTasksThatArePostedWithItAndNoOthers) {
  struct Around final : TaskScope {
    void run(Task& task) override {
      ++runs;
      task.run();
    }
    std::atomic<int> runs{0};
  } scope;
  Count within, alone;
  {
    auto threads = TaskThreads::start(1);
    (*threads)->post(within, scope);
    (*threads)->post(alone);
  }
  EXPECT_EQ(scope.runs, 1);
  EXPECT_EQ(within.runs, 1);
  EXPECT_EQ(alone.runs, 1);
}

#ifdef __linux__
/// Waits until all have begun, so that each is on a thread of its own.
struct SeesProcessors final : Task {
  explicit SeesProcessors(std::atomic<int>& still) : to_begin(still) {}
  void run() override {
    --to_begin;
    while (to_begin > 0) std::this_thread::yield();
    sched_getaffinity(0, sizeof(processors), &processors);
  }
  std::atomic<int>& to_begin;
  cpu_set_t processors;
};

TEST(TaskThreadsTest, EachThreadHasAShareOfTheProcessors) {
  cpu_set_t usable, both, all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(usable), &usable), 0);
  if (CPU_COUNT(&usable) < 2) GTEST_SKIP() << "the process has one processor";
  std::atomic<int> to_begin{2};
  SeesProcessors first(to_begin), second(to_begin);
  {
    auto threads = TaskThreads::start(2);
    (*threads)->post(first);
    (*threads)->post(second);
  }
  CPU_AND(&both, &first.processors, &second.processors);
  CPU_OR(&all, &first.processors, &second.processors);
  EXPECT_EQ(CPU_COUNT(&both), 0);
  EXPECT_TRUE(CPU_EQUAL(&all, &usable));
}
#endif

#ifndef __SANITIZE_THREAD__
TEST(TaskThreadsTest, AProcessThatForkMakesDropsThemAndStartsItsOwn) {
  if (getenv("EXECUTORCH_EMULATED") != nullptr) {
    GTEST_SKIP() << "QEMU 7.2 ends a child that starts threads, if its parent had some";
  }
  auto threads = TaskThreads::start(2);
  ASSERT_TRUE(threads.ok());
  Count before;
  (*threads)->post(before);
  while (before.runs == 0) {
  }
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // instead of waiting for ever
    const bool were_here = (*threads)->are_here();
    (*threads).reset();
    Count after;
    {
      (*TaskThreads::start(2))->post(after);
    }
    _exit(were_here || after.runs != 1 ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE((*threads)->are_here());
}
#endif

}  // namespace
