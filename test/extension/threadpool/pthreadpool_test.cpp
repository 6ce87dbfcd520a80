// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Compares each function of our pthreadpool with the nested loops that <pthreadpool.h> states for
// it.
#if __has_include(<pthreadpool.h>)
#include <pthreadpool.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace {

// The arguments of one call, except the context.
using Place = std::vector<size_t>;

/// Arguments that a task receives before its place.
enum Leading { kNothing, kThread, kProcessor, kProcessorAndThread };

/// The arguments that the tasks of one call received.
struct Calls {
  std::mutex mutex;
  std::vector<Place> places;
};

template <typename... Args>
void record(void* context, Args... args) {
  Calls* calls = static_cast<Calls*>(context);
  const std::lock_guard<std::mutex> lock(calls->mutex);
  calls->places.push_back({static_cast<size_t>(args)...});
}

/// Nested loops over `range`. The last tile.size() axes advance by tiles.
std::vector<Place> nested_loops(const Place& range, const Place& tile) {
  std::vector<Place> places{{}};
  std::vector<Place> lengths{{}};
  for (size_t axis = 0; axis < range.size(); ++axis) {
    const bool tiled = axis + tile.size() >= range.size();
    const size_t step = tiled ? tile[axis + tile.size() - range.size()] : 1;
    std::vector<Place> next;
    std::vector<Place> next_lengths;
    for (size_t p = 0; p < places.size(); ++p) {
      for (size_t at = 0; at < range[axis]; at += step) {
        next.push_back(places[p]);
        next.back().push_back(at);
        next_lengths.push_back(lengths[p]);
        if (tiled) {
          next_lengths.back().push_back(std::min(step, range[axis] - at));
        }
      }
    }
    places = next;
    lengths = next_lengths;
  }
  for (size_t p = 0; p < places.size(); ++p) {
    places[p].insert(places[p].end(), lengths[p].begin(), lengths[p].end());
  }
  return places;
}

class Pthreadpool : public testing::TestWithParam<size_t> {
 protected:
  Pthreadpool() : pool_(GetParam() == 0 ? nullptr : pthreadpool_create(GetParam())) {}
  ~Pthreadpool() override {
    if (pool_ != nullptr) {
      pthreadpool_destroy(pool_);
    }
  }

  /// Runs `call(pool, context)` and expects each place of the loops once. A thread number is below
  /// the count of threads; the kind of an unknown processor is the default that the calls give, 3.
  template <typename Call>
  void expect(const Place& range, const Place& tile, Leading leading, const Call& call) {
    Calls calls;
    call(pool_, &calls);
    for (Place& place : calls.places) {
      if (leading == kProcessor || leading == kProcessorAndThread) {
        EXPECT_EQ(place.front(), 3u);
        place.erase(place.begin());
      }
      if (leading == kThread || leading == kProcessorAndThread) {
        EXPECT_LT(place.front(), pthreadpool_get_threads_count(pool_));
        place.erase(place.begin());
      }
    }
    std::sort(calls.places.begin(), calls.places.end());
    EXPECT_EQ(calls.places, nested_loops(range, tile));
  }

  pthreadpool_t pool_;
};

INSTANTIATE_TEST_SUITE_P(Threads, Pthreadpool, testing::Values(0, 1, 2, 5));

TEST_P(Pthreadpool, CoversEachPointOfAGridOnce) {
  expect({7}, {}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_1d(pool, record<size_t>, calls, 7, 0);
  });
  expect({3, 5}, {}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_2d(pool, record<size_t, size_t>, calls, 3, 5, 0);
  });
  expect({3, 2, 4}, {}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_3d(pool, record<size_t, size_t, size_t>, calls, 3, 2, 4, 0);
  });
  expect({3, 2, 1, 4}, {}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_4d(pool, record<size_t, size_t, size_t, size_t>, calls, 3, 2, 1, 4, 0);
  });
  expect({2, 3, 2, 1, 4}, {}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_5d(pool, record<size_t, size_t, size_t, size_t, size_t>, calls, 2, 3, 2,
                               1, 4, 0);
  });
  expect({2, 3, 2, 1, 2, 3}, {}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_6d(pool, record<size_t, size_t, size_t, size_t, size_t, size_t>, calls,
                               2, 3, 2, 1, 2, 3, 0);
  });
}

TEST_P(Pthreadpool, CutsTheLastAxesIntoTilesThatMayEndEarly) {
  expect({7}, {3}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_1d_tile_1d(pool, record<size_t, size_t>, calls, 7, 3, 0);
  });
  expect({3, 5}, {2}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_2d_tile_1d(pool, record<size_t, size_t, size_t>, calls, 3, 5, 2, 0);
  });
  expect({3, 5}, {2, 9}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_2d_tile_2d(pool, record<size_t, size_t, size_t, size_t>, calls, 3, 5, 2,
                                       9, 0);
  });
  expect({3, 2, 5}, {2}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_3d_tile_1d(pool, record<size_t, size_t, size_t, size_t>, calls, 3, 2, 5,
                                       2, 0);
  });
  expect({3, 4, 5}, {3, 2}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_3d_tile_2d(pool, record<size_t, size_t, size_t, size_t, size_t>, calls,
                                       3, 4, 5, 3, 2, 0);
  });
  expect({2, 3, 4, 5}, {3}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_4d_tile_1d(pool, record<size_t, size_t, size_t, size_t, size_t>, calls,
                                       2, 3, 4, 5, 3, 0);
  });
  expect({2, 3, 4, 5}, {3, 2}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_4d_tile_2d(pool, record<size_t, size_t, size_t, size_t, size_t, size_t>,
                                       calls, 2, 3, 4, 5, 3, 2, 0);
  });
  expect({2, 1, 2, 3, 5}, {3}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_5d_tile_1d(pool, record<size_t, size_t, size_t, size_t, size_t, size_t>,
                                       calls, 2, 1, 2, 3, 5, 3, 0);
  });
  expect({2, 1, 2, 3, 5}, {2, 3}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_5d_tile_2d(
        pool, record<size_t, size_t, size_t, size_t, size_t, size_t, size_t>, calls, 2, 1, 2, 3, 5,
        2, 3, 0);
  });
  expect({2, 1, 2, 2, 3, 5}, {3}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_6d_tile_1d(
        pool, record<size_t, size_t, size_t, size_t, size_t, size_t, size_t>, calls, 2, 1, 2, 2, 3,
        5, 3, 0);
  });
  expect({2, 1, 2, 2, 3, 5}, {2, 3}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_6d_tile_2d(
        pool, record<size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t>, calls, 2, 1,
        2, 2, 3, 5, 2, 3, 0);
  });
}

TEST_P(Pthreadpool, ReportsTheThreadAndProcessorOfATask) {
  expect({9}, {}, kThread, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_1d_with_thread(pool, record<size_t, size_t>, calls, 9, 0);
  });
  expect({9}, {}, kProcessor, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_1d_with_uarch(pool, record<uint32_t, size_t>, calls, 3, 7, 9, 0);
  });
  expect({2, 5}, {}, kThread, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_2d_with_thread(pool, record<size_t, size_t, size_t>, calls, 2, 5, 0);
  });
  expect({2, 5}, {2}, kProcessor, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_2d_tile_1d_with_uarch(pool, record<uint32_t, size_t, size_t, size_t>,
                                                  calls, 3, 7, 2, 5, 2, 0);
  });
  expect({2, 5}, {2}, kProcessorAndThread, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_2d_tile_1d_with_uarch_with_thread(
        pool, record<uint32_t, size_t, size_t, size_t, size_t>, calls, 3, 7, 2, 5, 2, 0);
  });
  expect({4, 5}, {3, 2}, kProcessor, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_2d_tile_2d_with_uarch(
        pool, record<uint32_t, size_t, size_t, size_t, size_t>, calls, 3, 7, 4, 5, 3, 2, 0);
  });
  expect({2, 3, 5}, {2}, kThread, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_3d_tile_1d_with_thread(
        pool, record<size_t, size_t, size_t, size_t, size_t>, calls, 2, 3, 5, 2, 0);
  });
  expect({2, 3, 5}, {2}, kProcessor, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_3d_tile_1d_with_uarch(
        pool, record<uint32_t, size_t, size_t, size_t, size_t>, calls, 3, 7, 2, 3, 5, 2, 0);
  });
  expect({2, 3, 5}, {2}, kProcessorAndThread, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_3d_tile_1d_with_uarch_with_thread(
        pool, record<uint32_t, size_t, size_t, size_t, size_t, size_t>, calls, 3, 7, 2, 3, 5, 2, 0);
  });
  expect({2, 3, 5}, {2, 2}, kProcessor, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_3d_tile_2d_with_uarch(
        pool, record<uint32_t, size_t, size_t, size_t, size_t, size_t>, calls, 3, 7, 2, 3, 5, 2, 2,
        0);
  });
  expect({2, 2, 3, 5}, {2, 2}, kProcessor, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_4d_tile_2d_with_uarch(
        pool, record<uint32_t, size_t, size_t, size_t, size_t, size_t, size_t>, calls, 3, 7, 2, 2,
        3, 5, 2, 2, 0);
  });
}

TEST_P(Pthreadpool, AnEmptyAxisHasNoTasks) {
  expect({4, 0}, {3, 2}, kNothing, [](pthreadpool_t pool, void* calls) {
    pthreadpool_parallelize_2d_tile_2d(pool, record<size_t, size_t, size_t, size_t>, calls, 4, 0, 3,
                                       2, 0);
  });
}

#if defined(__SSE__)
TEST_P(Pthreadpool, DenormalsAreZeroOnlyWhereTheCallerWantsIt) {
  const unsigned before = _mm_getcsr();
  const auto count_flushing = [](void* context, size_t) {
    if ((_mm_getcsr() & 0x8040) == 0x8040) {
      ++*static_cast<std::atomic<size_t>*>(context);
    }
  };
  std::atomic<size_t> flushing{0};
  pthreadpool_parallelize_1d(pool_, count_flushing, &flushing, 64,
                             PTHREADPOOL_FLAG_DISABLE_DENORMALS);
  EXPECT_EQ(flushing.load(), 64u);
  pthreadpool_parallelize_1d(pool_, count_flushing, &flushing, 64, PTHREADPOOL_FLAG_YIELD_WORKERS);
  EXPECT_EQ(flushing.load(), 64u);
  EXPECT_EQ(_mm_getcsr(), before);
}
#endif

}  // namespace
#endif
