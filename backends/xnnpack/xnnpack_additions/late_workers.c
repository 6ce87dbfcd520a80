// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Threads of pthreadpool for Linux, in the place of its pthreads.c. There every thread takes part
// in every call: where other processes use the cores too, the caller waits for threads that do not
// run, after it has long done all the work, and so for each operator of a model. Here a worker
// joins a call for as long as that is open. The caller closes it when no work is left, and waits
// for those only who have joined. And threads that cannot be started are an error, not a wait for
// ever.
#include <assert.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <pthreadpool.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threadpool-atomics.h"
#include "threadpool-common.h"
#include "threadpool-object.h"
#include "threadpool-utils.h"

// The pool's `command` is the number of the last call, times CALL, and these. `active_threads` is
// how many workers sleep until it changes; `has_active_threads`, whether the caller does until the
// last worker leaves.
#define JOINED UINT32_C(0x7ff)  // how many workers have joined, and not left
#define OPEN UINT32_C(0x800)
#define ENDED UINT32_C(0x1000)
#define CALL UINT32_C(0x2000)

// What a caller waits for is the end of a task. It sleeps soon: a worker may need its core.
#define CALLER_SPINS (PTHREADPOOL_SPIN_WAIT_ITERATIONS / 10)

static void sleep_while(pthreadpool_atomic_uint32_t* word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, NULL);
}

static void wake(pthreadpool_atomic_uint32_t* word) {
  syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX);
}

static uint32_t wait_for_call(struct pthreadpool* pool, uint32_t last, bool spins) {
  for (uint32_t left = spins ? PTHREADPOOL_SPIN_WAIT_ITERATIONS : 0;;) {
    uint32_t command = atomic_load_explicit(&pool->command, memory_order_acquire);
    if (command / CALL != last / CALL || (command & ENDED) != 0) return command;
    if (left != 0) {
      --left;
      pthreadpool_yield();
      continue;
    }
    // Either this is seen by who changes the command, or the change is seen here.
    atomic_fetch_add(&pool->active_threads, 1);
    command = atomic_load(&pool->command);
    if (command / CALL == last / CALL && (command & ENDED) == 0) {
      sleep_while(&pool->command, command);
    }
    atomic_fetch_sub(&pool->active_threads, 1);
  }
}

static void publish(struct pthreadpool* pool, uint32_t command) {
  atomic_store(&pool->command, command);
  if (atomic_load(&pool->active_threads) != 0) wake(&pool->command);
}

static void leave(struct pthreadpool* pool) {
  const uint32_t command = atomic_fetch_sub(&pool->command, 1) - 1;
  if ((command & (OPEN | JOINED)) == 0 && atomic_load(&pool->has_active_threads) != 0) {
    atomic_store(&pool->has_active_threads, 0);
    wake(&pool->has_active_threads);
  }
}

// Lets nobody join any more, and waits for who has.
static void close_call(struct pthreadpool* pool) {
  if ((atomic_fetch_and(&pool->command, ~OPEN) & JOINED) == 0) return;
  for (uint32_t left = CALLER_SPINS; left != 0; --left) {
    if ((atomic_load_explicit(&pool->command, memory_order_acquire) & JOINED) == 0) return;
    pthreadpool_yield();
  }
  for (;;) {
    atomic_store(&pool->has_active_threads, 1);
    if ((atomic_load(&pool->command) & JOINED) == 0) break;
    sleep_while(&pool->has_active_threads, 1);
  }
  atomic_store(&pool->has_active_threads, 0);
}

static void work(struct pthreadpool* pool, struct thread_info* thread, uint32_t flags) {
  const thread_function_t function =
      (thread_function_t)pthreadpool_load_relaxed_void_p(&pool->thread_function);
  if ((flags & PTHREADPOOL_FLAG_DISABLE_DENORMALS) == 0) {
    function(pool, thread);
    return;
  }
  const struct fpu_state before = get_fpu_state();
  disable_fpu_denormals();
  function(pool, thread);
  set_fpu_state(before);
}

static void* run_worker(void* argument) {
  struct thread_info* const thread = argument;
  struct pthreadpool* const pool = thread->threadpool;
  uint32_t last = 0;
  bool spins = true;
  for (;;) {
    uint32_t command = wait_for_call(pool, last, spins);
    if ((command & ENDED) != 0) return NULL;
    if ((command & OPEN) == 0) {  // too late
      last = command;
      continue;
    }
    if (!atomic_compare_exchange_weak(&pool->command, &command, command + 1)) continue;
    last = command;
    const uint32_t flags = pthreadpool_load_relaxed_uint32_t(&pool->flags);
    work(pool, thread, flags);
    spins = (flags & PTHREADPOOL_FLAG_YIELD_WORKERS) == 0;
    leave(pool);
  }
}

static void end_workers(struct pthreadpool* pool, size_t threads) {
  publish(pool, atomic_load(&pool->command) | ENDED);
  for (size_t i = 1; i < threads; ++i) pthread_join(pool->threads[i].thread_object, NULL);
  pthread_mutex_destroy(&pool->execution_mutex);
  pthreadpool_deallocate(pool);
}

/// NULL where there is no memory or not as many threads can be started; with 0, as many as there
/// are processors. The caller is the first of them.
struct pthreadpool* pthreadpool_create(size_t count) {
  if (count == 0) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    count = processors > 0 ? (size_t)processors : 1;
  }
  if (count > JOINED) return NULL;
  struct pthreadpool* const pool = pthreadpool_allocate(count);
  if (pool == NULL) return NULL;
  pool->threads_count = fxdiv_init_size_t(count);
  for (size_t i = 0; i < count; ++i) {
    pool->threads[i].thread_number = i;
    pool->threads[i].threadpool = pool;
  }
  pthread_mutex_init(&pool->execution_mutex, NULL);
  for (size_t i = 1; i < count; ++i) {
    struct thread_info* const thread = &pool->threads[i];
    if (pthread_create(&thread->thread_object, NULL, run_worker, thread) != 0) {
      end_workers(pool, i);
      return NULL;
    }
  }
  return pool;
}

void pthreadpool_destroy(struct pthreadpool* pool) {
  if (pool != NULL) end_workers(pool, pool->threads_count.value);
}

static void divide(struct pthreadpool* pool, size_t range) {
  const struct fxdiv_result_size_t parts = fxdiv_divide_size_t(range, pool->threads_count);
  for (size_t i = 0, start = 0; i < pool->threads_count.value; ++i) {
    struct thread_info* const thread = &pool->threads[i];
    const size_t length = parts.quotient + (i < parts.remainder ? 1 : 0);
    pthreadpool_store_relaxed_size_t(&thread->range_start, start);
    start += length;
    pthreadpool_store_relaxed_size_t(&thread->range_end, start);
    pthreadpool_store_relaxed_size_t(&thread->range_length, length);
  }
}

PTHREADPOOL_INTERNAL void pthreadpool_parallelize(struct pthreadpool* pool,
                                                  thread_function_t function, const void* params,
                                                  size_t params_size, void* task, void* context,
                                                  size_t linear_range, uint32_t flags) {
  assert(linear_range > 1);
  pthread_mutex_lock(&pool->execution_mutex);
  // Nobody has joined: nobody reads this.
  pthreadpool_store_relaxed_void_p(&pool->thread_function, (void*)function);
  pthreadpool_store_relaxed_void_p(&pool->task, task);
  pthreadpool_store_relaxed_void_p(&pool->argument, context);
  pthreadpool_store_relaxed_uint32_t(&pool->flags, flags);
  if (params_size != 0) memcpy(&pool->params, params, params_size);
  divide(pool, linear_range);
  const uint32_t last = atomic_load(&pool->command) / CALL;
  publish(pool, (last + 1) * CALL | OPEN);
  work(pool, &pool->threads[0], flags);
  close_call(pool);
  pthread_mutex_unlock(&pool->execution_mutex);
}
