// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/async/task_threads.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
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

TEST(TaskThreadsTest, WhatIsPostedRunsBeforeTheThreadsEnd) {
  Count tasks[100];
  {
    auto threads = TaskThreads::start(3);
    ASSERT_TRUE(threads.ok());
    EXPECT_EQ((*threads)->count(), 3);
    for (Count& task : tasks) (*threads)->post(task);
  }
  for (const Count& task : tasks) EXPECT_EQ(task.runs, 1);
  EXPECT_EQ(TaskThreads::start(0).error(), Error::InvalidArgument);
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

#ifndef __SANITIZE_THREAD__
TEST(TaskThreadsTest, AProcessThatForkMakesDropsThemAndStartsItsOwn) {
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
