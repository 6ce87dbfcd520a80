// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/platform/abort.h>
#include <executorch/runtime/platform/assert.h>
#include <executorch/runtime/platform/clock.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>
#include <executorch/runtime/platform/system.h>
#include <gtest/gtest.h>
#include <stdlib.h>

using namespace executorch::runtime;

namespace {

TEST(PlatformTest, TheDefaultClockNeverRunsBackwards) {
  runtime_init();
  const et_timestamp_t first = pal_current_ticks();
  EXPECT_GT(first, 0u);
  EXPECT_GE(pal_current_ticks(), first);
  EXPECT_EQ(ticks_to_ns(5), 5u);
}

et_timestamp_t seven() { return 7; }
et_tick_ratio_t three_halves() { return {3, 2}; }

TEST(PlatformTest, RegisteredFunctionsReplaceTheDefaultsAndOthersStay) {
  const PalImpl before = *get_pal_impl();
  EXPECT_TRUE(register_pal(PalImpl::create(nullptr, nullptr, seven, three_halves, nullptr, nullptr,
                                           nullptr, "platform_test")));
  EXPECT_EQ(pal_current_ticks(), 7u);
  EXPECT_EQ(ticks_to_ns(pal_current_ticks()), 10u);
  EXPECT_EQ(get_pal_impl()->emit_log_message, before.emit_log_message);
  EXPECT_STREQ(get_pal_impl()->source_filename, "platform_test");
  register_pal(before);
  EXPECT_NE(pal_current_ticks(), 7u);
}

struct Calls {
  int init, allocate, free, log;
} g_calls;

TEST(PlatformTest, EachFunctionCanBeReplacedAtRunTime) {
  const PalImpl before = *get_pal_impl();
  g_calls = {};
  PalImpl impl;
  impl.init = [] { ++g_calls.init; };
  impl.current_ticks = seven;
  impl.ticks_to_ns_multiplier = three_halves;
  impl.emit_log_message = [](et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                             const char*, size_t) { ++g_calls.log; };
  impl.allocate = [](size_t) -> void* {
    ++g_calls.allocate;
    return nullptr;
  };
  impl.free = [](void*) { ++g_calls.free; };
  impl.abort = [] { _Exit(7); };
  register_pal(impl);
  EXPECT_EQ(g_calls.init, 1) << "registering initializes";
  runtime_init();
  EXPECT_EQ(ticks_to_ns(pal_current_ticks()), 10u);
  ET_LOG(Error, "x");
  EXPECT_EQ(pal_allocate(1), nullptr);
  pal_free(nullptr);
  EXPECT_EXIT(runtime_abort(), ::testing::ExitedWithCode(7), "");
  register_pal(before);
  EXPECT_TRUE(g_calls.init == 2 && g_calls.log == 1 && g_calls.allocate == 1 && g_calls.free == 1);
}

TEST(PlatformTest, TicksBecomeNanosecondsWithoutOverflowOnTheWay) {
  const PalImpl before = *get_pal_impl();
  PalImpl impl;
  impl.ticks_to_ns_multiplier = three_halves;
  register_pal(impl);
  EXPECT_EQ(ticks_to_ns(uint64_t{1} << 63), (uint64_t{1} << 62) * 3);
  register_pal(before);
}

TEST(PlatformTest, DefaultMemoryCanBeAllocatedAndFreed) {
  void* memory = pal_allocate(16);
  EXPECT_NE(memory, nullptr);
  pal_free(memory);
  pal_free(nullptr);
}

TEST(PlatformTest, TheDefaultLogIsOneLine) {
  ::testing::internal::CaptureStderr();
  et_pal_emit_log_message(61000001000, kError, "file.cpp", "f", 12, "hello", 5);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "E 00:01:01.000001 executorch:file.cpp:12 (f)] hello\n");
}

TEST(PlatformTest, SharedLibraryNamesAreUnknownWithoutLibdl) {
#if defined(ET_USE_LIBDL)
  EXPECT_STREQ(et_pal_get_shared_library_name(nullptr), DYNAMIC_LIBRARY_NOT_FOUND);
#else
  EXPECT_STREQ(et_pal_get_shared_library_name(nullptr), DYNAMIC_LIBRARY_NOT_SUPPORTED);
#endif
}

TEST(PlatformDeathTest, AFailedCheckNamesTheConditionAndEndsTheProgram) {
  EXPECT_DEATH(ET_CHECK(1 + 1 == 3), "1 \\+ 1 == 3");
  EXPECT_DEATH(ET_CHECK_MSG(false, "number %d", 5), "number 5");
}

void return_from_abort() {}

TEST(PlatformDeathTest, AnAbortFunctionThatReturnsStillEndsTheProgram) {
  EXPECT_DEATH(
      {
        PalImpl impl;
        impl.abort = return_from_abort;
        register_pal(impl);
        runtime_abort();
      },
      "");
}

}  // namespace
