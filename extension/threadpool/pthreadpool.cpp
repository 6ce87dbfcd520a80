// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The functions of <pthreadpool.h>, through which XNNPACK's operators run on our threads.
#include <pthreadpool.h>
#include <unistd.h>

#include <array>
#include <tuple>
#include <type_traits>

#include <executorch/extension/threadpool/worker_pool.h>

namespace {

static_assert(pthreadpool::kDenormalsAreZero == PTHREADPOOL_FLAG_DISABLE_DENORMALS);
static_assert(pthreadpool::kWorkersSleep == PTHREADPOOL_FLAG_YIELD_WORKERS);

/// Index space of `Axes` ranges, the last `Tiled` of which are divided into tiles of a given
/// length.
template <size_t Axes, size_t Tiled>
struct Grid {
  std::array<size_t, Axes> range;
  std::array<size_t, Tiled> tile;

  /// Number of tiles along axis `axis`; of points if it is not tiled.
  size_t steps(size_t axis) const {
    return axis < Axes - Tiled ? range[axis] : (range[axis] + length(axis) - 1) / length(axis);
  }
  size_t length(size_t axis) const { return tile[axis - (Axes - Tiled)]; }

  size_t items() const {
    size_t count = 1;
    for (size_t axis = 0; axis < Axes; ++axis) {
      count *= steps(axis);
    }
    return count;
  }

  /// The arguments of a task: where tile `item` begins on each axis, then its length on the divided
  /// ones. Tiles at the end of a range may be shorter.
  std::array<size_t, Axes + Tiled> place(size_t item) const {
    std::array<size_t, Axes + Tiled> at{};
    for (size_t axis = Axes; axis-- > 0;) {
      const size_t count = steps(axis);
      at[axis] = item % count;
      item /= count;
      if (axis >= Axes - Tiled) {
        at[axis] *= length(axis);
        const size_t rest = range[axis] - at[axis];
        at[axis + Tiled] = rest < length(axis) ? rest : length(axis);
      }
    }
    return at;
  }
};

/// Calls task(thread, place...) for each tile of the grid.
template <size_t Axes, size_t Tiled, typename Task>
void run(pthreadpool_t pool, const Grid<Axes, Tiled>& grid, uint32_t flags, const Task& task) {
  const auto item = [&grid, &task](size_t thread, size_t index) {
    std::apply(task, std::tuple_cat(std::make_tuple(thread), grid.place(index)));
  };
  if (pool == nullptr) {
    pthreadpool::run_alone(item, grid.items(), flags);
  } else {
    pool->run(item, grid.items(), flags);
  }
}

}  // namespace

pthreadpool_t pthreadpool_create(size_t threads_count) {
  if (threads_count == 0) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    threads_count = processors > 0 ? static_cast<size_t>(processors) : 1;
  }
  return pthreadpool::start(threads_count).release();
}

void pthreadpool_destroy(pthreadpool_t pool) { delete pool; }

size_t pthreadpool_get_threads_count(pthreadpool_t pool) {
  return pool == nullptr ? 1 : pool->thread_count();
}

/// Processors are treated as equal: tasks get the microarchitecture that the caller names as
/// default.
void pthreadpool_parallelize_1d(pthreadpool_t pool, pthreadpool_task_1d_t task, void* context,
                                size_t i, uint32_t flags) {
  run(pool, Grid<1, 0>{{i}, {}}, flags, [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_1d_with_thread(pthreadpool_t pool,
                                            pthreadpool_task_1d_with_thread_t task, void* context,
                                            size_t i, uint32_t flags) {
  run(pool, Grid<1, 0>{{i}, {}}, flags,
      [=](size_t thread, auto... at) { task(context, thread, at...); });
}

void pthreadpool_parallelize_1d_with_uarch(pthreadpool_t pool, pthreadpool_task_1d_with_id_t task,
                                           void* context, uint32_t uarch, uint32_t, size_t i,
                                           uint32_t flags) {
  run(pool, Grid<1, 0>{{i}, {}}, flags, [=](size_t, auto... at) { task(context, uarch, at...); });
}

void pthreadpool_parallelize_1d_tile_1d(pthreadpool_t pool, pthreadpool_task_1d_tile_1d_t task,
                                        void* context, size_t i, size_t tile_i, uint32_t flags) {
  run(pool, Grid<1, 1>{{i}, {tile_i}}, flags, [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_2d(pthreadpool_t pool, pthreadpool_task_2d_t task, void* context,
                                size_t i, size_t j, uint32_t flags) {
  run(pool, Grid<2, 0>{{i, j}, {}}, flags, [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_2d_with_thread(pthreadpool_t pool,
                                            pthreadpool_task_2d_with_thread_t task, void* context,
                                            size_t i, size_t j, uint32_t flags) {
  run(pool, Grid<2, 0>{{i, j}, {}}, flags,
      [=](size_t thread, auto... at) { task(context, thread, at...); });
}

void pthreadpool_parallelize_2d_tile_1d(pthreadpool_t pool, pthreadpool_task_2d_tile_1d_t task,
                                        void* context, size_t i, size_t j, size_t tile_j,
                                        uint32_t flags) {
  run(pool, Grid<2, 1>{{i, j}, {tile_j}}, flags, [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_2d_tile_1d_with_uarch(pthreadpool_t pool,
                                                   pthreadpool_task_2d_tile_1d_with_id_t task,
                                                   void* context, uint32_t uarch, uint32_t,
                                                   size_t i, size_t j, size_t tile_j,
                                                   uint32_t flags) {
  run(pool, Grid<2, 1>{{i, j}, {tile_j}}, flags,
      [=](size_t, auto... at) { task(context, uarch, at...); });
}

void pthreadpool_parallelize_2d_tile_1d_with_uarch_with_thread(
    pthreadpool_t pool, pthreadpool_task_2d_tile_1d_with_id_with_thread_t task, void* context,
    uint32_t uarch, uint32_t, size_t i, size_t j, size_t tile_j, uint32_t flags) {
  run(pool, Grid<2, 1>{{i, j}, {tile_j}}, flags,
      [=](size_t thread, auto... at) { task(context, uarch, thread, at...); });
}

void pthreadpool_parallelize_2d_tile_2d(pthreadpool_t pool, pthreadpool_task_2d_tile_2d_t task,
                                        void* context, size_t i, size_t j, size_t tile_i,
                                        size_t tile_j, uint32_t flags) {
  run(pool, Grid<2, 2>{{i, j}, {tile_i, tile_j}}, flags,
      [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_2d_tile_2d_with_uarch(pthreadpool_t pool,
                                                   pthreadpool_task_2d_tile_2d_with_id_t task,
                                                   void* context, uint32_t uarch, uint32_t,
                                                   size_t i, size_t j, size_t tile_i, size_t tile_j,
                                                   uint32_t flags) {
  run(pool, Grid<2, 2>{{i, j}, {tile_i, tile_j}}, flags,
      [=](size_t, auto... at) { task(context, uarch, at...); });
}

void pthreadpool_parallelize_3d(pthreadpool_t pool, pthreadpool_task_3d_t task, void* context,
                                size_t i, size_t j, size_t k, uint32_t flags) {
  run(pool, Grid<3, 0>{{i, j, k}, {}}, flags, [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_3d_tile_1d(pthreadpool_t pool, pthreadpool_task_3d_tile_1d_t task,
                                        void* context, size_t i, size_t j, size_t k, size_t tile_k,
                                        uint32_t flags) {
  run(pool, Grid<3, 1>{{i, j, k}, {tile_k}}, flags,
      [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_3d_tile_1d_with_thread(pthreadpool_t pool,
                                                    pthreadpool_task_3d_tile_1d_with_thread_t task,
                                                    void* context, size_t i, size_t j, size_t k,
                                                    size_t tile_k, uint32_t flags) {
  run(pool, Grid<3, 1>{{i, j, k}, {tile_k}}, flags,
      [=](size_t thread, auto... at) { task(context, thread, at...); });
}

void pthreadpool_parallelize_3d_tile_1d_with_uarch(pthreadpool_t pool,
                                                   pthreadpool_task_3d_tile_1d_with_id_t task,
                                                   void* context, uint32_t uarch, uint32_t,
                                                   size_t i, size_t j, size_t k, size_t tile_k,
                                                   uint32_t flags) {
  run(pool, Grid<3, 1>{{i, j, k}, {tile_k}}, flags,
      [=](size_t, auto... at) { task(context, uarch, at...); });
}

void pthreadpool_parallelize_3d_tile_1d_with_uarch_with_thread(
    pthreadpool_t pool, pthreadpool_task_3d_tile_1d_with_id_with_thread_t task, void* context,
    uint32_t uarch, uint32_t, size_t i, size_t j, size_t k, size_t tile_k, uint32_t flags) {
  run(pool, Grid<3, 1>{{i, j, k}, {tile_k}}, flags,
      [=](size_t thread, auto... at) { task(context, uarch, thread, at...); });
}

void pthreadpool_parallelize_3d_tile_2d(pthreadpool_t pool, pthreadpool_task_3d_tile_2d_t task,
                                        void* context, size_t i, size_t j, size_t k, size_t tile_j,
                                        size_t tile_k, uint32_t flags) {
  run(pool, Grid<3, 2>{{i, j, k}, {tile_j, tile_k}}, flags,
      [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_3d_tile_2d_with_uarch(pthreadpool_t pool,
                                                   pthreadpool_task_3d_tile_2d_with_id_t task,
                                                   void* context, uint32_t uarch, uint32_t,
                                                   size_t i, size_t j, size_t k, size_t tile_j,
                                                   size_t tile_k, uint32_t flags) {
  run(pool, Grid<3, 2>{{i, j, k}, {tile_j, tile_k}}, flags,
      [=](size_t, auto... at) { task(context, uarch, at...); });
}

void pthreadpool_parallelize_4d(pthreadpool_t pool, pthreadpool_task_4d_t task, void* context,
                                size_t i, size_t j, size_t k, size_t l, uint32_t flags) {
  run(pool, Grid<4, 0>{{i, j, k, l}, {}}, flags, [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_4d_tile_1d(pthreadpool_t pool, pthreadpool_task_4d_tile_1d_t task,
                                        void* context, size_t i, size_t j, size_t k, size_t l,
                                        size_t tile_l, uint32_t flags) {
  run(pool, Grid<4, 1>{{i, j, k, l}, {tile_l}}, flags,
      [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_4d_tile_2d(pthreadpool_t pool, pthreadpool_task_4d_tile_2d_t task,
                                        void* context, size_t i, size_t j, size_t k, size_t l,
                                        size_t tile_k, size_t tile_l, uint32_t flags) {
  run(pool, Grid<4, 2>{{i, j, k, l}, {tile_k, tile_l}}, flags,
      [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_4d_tile_2d_with_uarch(pthreadpool_t pool,
                                                   pthreadpool_task_4d_tile_2d_with_id_t task,
                                                   void* context, uint32_t uarch, uint32_t,
                                                   size_t i, size_t j, size_t k, size_t l,
                                                   size_t tile_k, size_t tile_l, uint32_t flags) {
  run(pool, Grid<4, 2>{{i, j, k, l}, {tile_k, tile_l}}, flags,
      [=](size_t, auto... at) { task(context, uarch, at...); });
}

void pthreadpool_parallelize_5d(pthreadpool_t pool, pthreadpool_task_5d_t task, void* context,
                                size_t i, size_t j, size_t k, size_t l, size_t m, uint32_t flags) {
  run(pool, Grid<5, 0>{{i, j, k, l, m}, {}}, flags,
      [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_5d_tile_1d(pthreadpool_t pool, pthreadpool_task_5d_tile_1d_t task,
                                        void* context, size_t i, size_t j, size_t k, size_t l,
                                        size_t m, size_t tile_m, uint32_t flags) {
  run(pool, Grid<5, 1>{{i, j, k, l, m}, {tile_m}}, flags,
      [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_5d_tile_2d(pthreadpool_t pool, pthreadpool_task_5d_tile_2d_t task,
                                        void* context, size_t i, size_t j, size_t k, size_t l,
                                        size_t m, size_t tile_l, size_t tile_m, uint32_t flags) {
  run(pool, Grid<5, 2>{{i, j, k, l, m}, {tile_l, tile_m}}, flags,
      [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_6d(pthreadpool_t pool, pthreadpool_task_6d_t task, void* context,
                                size_t i, size_t j, size_t k, size_t l, size_t m, size_t n,
                                uint32_t flags) {
  run(pool, Grid<6, 0>{{i, j, k, l, m, n}, {}}, flags,
      [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_6d_tile_1d(pthreadpool_t pool, pthreadpool_task_6d_tile_1d_t task,
                                        void* context, size_t i, size_t j, size_t k, size_t l,
                                        size_t m, size_t n, size_t tile_n, uint32_t flags) {
  run(pool, Grid<6, 1>{{i, j, k, l, m, n}, {tile_n}}, flags,
      [=](size_t, auto... at) { task(context, at...); });
}

void pthreadpool_parallelize_6d_tile_2d(pthreadpool_t pool, pthreadpool_task_6d_tile_2d_t task,
                                        void* context, size_t i, size_t j, size_t k, size_t l,
                                        size_t m, size_t n, size_t tile_m, size_t tile_n,
                                        uint32_t flags) {
  run(pool, Grid<6, 2>{{i, j, k, l, m, n}, {tile_m, tile_n}}, flags,
      [=](size_t, auto... at) { task(context, at...); });
}
