// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/threadpool/threadpool.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/threadpool/cpuinfo_utils.h>
#include <executorch/extension/threadpool/threadpool_guard.h>
#include <executorch/extension/threadpool/workers.h>

namespace executorch::extension::threadpool {
namespace {

TEST(ThreadPool, RunsEachTaskOnceAndReturnsAfterAll) {
  ThreadPool pool(3);
  std::vector<int> counts(1000, 0);
  for (int round = 0; round < 4; ++round) {
    pool.run([&counts](size_t i) { ++counts[i]; }, counts.size());
  }
  for (const int count : counts) {
    EXPECT_EQ(count, 4);
  }
}

// More threads than cores: most calls are over before all threads have begun.
TEST(ThreadPool, RunsEachTaskOnceEvenIfAThreadIsLate) {
  ThreadPool pool(7);
  std::vector<std::thread> users;
  for (int u = 0; u < 2; ++u) {
    users.emplace_back([&pool] {
      for (size_t round = 0; round < 3000; ++round) {
        std::vector<int> counts(2 + round % 50, 0);
        pool.run([&counts](size_t i) { ++counts[i]; }, counts.size());
        ASSERT_EQ(counts, std::vector<int>(counts.size(), 1));
        if (round % 1000 == 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));  // workers fall asleep
        }
      }
    });
  }
  for (std::thread& user : users) {
    user.join();
  }
}

TEST(ThreadPool, MoreThreadsThanPossibleAreRefused) {
  ThreadPool pool(1);
  EXPECT_FALSE(pool._unsafe_reset_threadpool(1u << 20));
  EXPECT_EQ(pool.get_thread_count(), 1u);
}

TEST(ThreadPool, RunsNoMoreThreadsThanItHasWhenSeveralUseIt) {
  ThreadPool pool(2);
  std::atomic<int> running{0};
  std::atomic<int> max_running{0};
  std::vector<std::thread> users;
  for (int u = 0; u < 4; ++u) {
    users.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        pool.run(
            [&](size_t) {
              const int now = ++running;
              int known = max_running.load();
              while (now > known && !max_running.compare_exchange_weak(known, now)) {
              }
              std::this_thread::yield();
              --running;
            },
            8);
      }
    });
  }
  for (std::thread& user : users) {
    user.join();
  }
  EXPECT_LE(max_running.load(), 2);
}

TEST(ThreadPool, ATaskThatRunsTasksRunsThemItself) {
  ThreadPool pool(2);
  std::vector<std::vector<int>> counts(4, std::vector<int>(4, 0));
  pool.run(
      [&](size_t i) { pool.run([&counts, i](size_t j) { ++counts[i][j]; }, counts[i].size()); },
      counts.size());
  EXPECT_EQ(counts, std::vector<std::vector<int>>(4, std::vector<int>(4, 1)));
}

TEST(ThreadPool, ByDefaultHasTheCoresThatTheProcessMayUse) {
  EXPECT_EQ(ThreadPool().get_thread_count(), cpuinfo::get_num_performant_cores());
  EXPECT_EQ(get_threadpool(), default_threadpool().get());
}

TEST(ThreadPool, CallersThatRequestOneSizeShareAPool) {
  const size_t count = default_threadpool()->get_thread_count() + 3;
  const std::shared_ptr<ThreadPool> one = ThreadPool::of_size(count);
  EXPECT_EQ(ThreadPool::of_size(count), one);
  EXPECT_EQ(one->get_thread_count(), count);
  EXPECT_NE(ThreadPool::of_size(1), ThreadPool::of_size(1));
  EXPECT_EQ(ThreadPool::of_size(0), default_threadpool());
}

TEST(ThreadPool, WorkersOutliveAResetWhileTheyAreHeld) {
  ThreadPool pool(2);
  const std::shared_ptr<pthreadpool> workers_of_pool = pool.workers();
  ASSERT_NE(workers_of_pool, nullptr);
  EXPECT_TRUE(pool._unsafe_reset_threadpool(3));
  EXPECT_EQ(pool.get_thread_count(), 3u);
  EXPECT_NE(pool.workers(), workers_of_pool);
  std::atomic<int> count{0};
  run_on_workers(workers_of_pool.get(), [&count](size_t) { ++count; }, 10);
  EXPECT_EQ(count.load(), 10);
  EXPECT_TRUE(pool._unsafe_reset_threadpool(1));
  EXPECT_EQ(pool.workers(), nullptr);
}

TEST(ThreadPool, ScopesChooseThePoolOfTheirThread) {
  ThreadPool outer(2);
  ThreadPool inner(2);
  {
    const ThreadPoolScope first(&outer);
    EXPECT_EQ(get_threadpool(), &outer);
    {
      const ThreadPoolScope second(&inner);
      EXPECT_EQ(get_threadpool(), &inner);
      const ThreadPoolScope none(nullptr);
      EXPECT_EQ(get_threadpool(), &inner);
    }
    EXPECT_EQ(get_threadpool(), &outer);
    std::thread([] { EXPECT_EQ(get_threadpool(), default_threadpool().get()); }).join();
  }
  EXPECT_EQ(get_threadpool(), default_threadpool().get());
}

// In the child the workers do not exist; a caller that waited for them, or joined them, would hang.
TEST(ThreadPool, ItsWorkersStartAgainInAForkedProcess) {
  ThreadPool pool(4);
  pool.run([](size_t) {}, 100);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    std::mutex mutex;
    std::set<std::thread::id> threads;
    while (threads.size() < 2) {
      pool.run(
          [&](size_t) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            const std::lock_guard<std::mutex> lock(mutex);
            threads.insert(std::this_thread::get_id());
          },
          100);
    }
    pool._unsafe_destroy_threadpool();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  pool.run([](size_t) {}, 100);
}

TEST(ThreadPool, AGuardKeepsEverythingOnTheCallingThread) {
  ThreadPool pool(3);
  const ThreadPoolScope scope(&pool);
  const NoThreadPoolGuard guard;
  EXPECT_EQ(get_pthreadpool(), nullptr);
  std::set<std::thread::id> threads;
  pool.run([&threads](size_t) { threads.insert(std::this_thread::get_id()); }, 100);
  EXPECT_EQ(threads, std::set<std::thread::id>{std::this_thread::get_id()});
}

}  // namespace
}  // namespace executorch::extension::threadpool
