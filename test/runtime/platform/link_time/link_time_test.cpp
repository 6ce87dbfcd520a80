// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A program that defines the platform's functions itself: they replace the defaults.
// The firmware of test/firmware replaces only some of them.
#include <executorch/runtime/platform/abort.h>
#include <executorch/runtime/platform/clock.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

namespace {

int g_inits = 0;
std::string g_message;
char g_memory[16];
const void* g_freed = nullptr;

}  // namespace

extern "C" {

void et_pal_init(void) { ++g_inits; }
void et_pal_abort(void) { _Exit(9); }
et_timestamp_t et_pal_current_ticks(void) { return 21; }
et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void) { return {2, 3}; }
void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                             const char* message, size_t length) {
  g_message.assign(message, length);
}
void* et_pal_allocate(size_t size) { return size <= sizeof(g_memory) ? g_memory : nullptr; }
void et_pal_free(void* ptr) { g_freed = ptr; }

}  // extern "C"

namespace {

using namespace executorch::runtime;

TEST(PlatformAtLinkTimeTest, EachFunctionOfTheProgramTakesThePlaceOfTheDefault) {
  runtime_init();
  EXPECT_EQ(g_inits, 1);
  EXPECT_EQ(ticks_to_ns(pal_current_ticks()), 14u);
  ET_LOG(Error, "number %d", 5);
  EXPECT_EQ(g_message, "number 5");
  EXPECT_EQ(pal_allocate(16), g_memory);
  EXPECT_EQ(pal_allocate(17), nullptr);
  pal_free(g_memory);
  EXPECT_EQ(g_freed, g_memory);
  EXPECT_EXIT(runtime_abort(), ::testing::ExitedWithCode(9), "");
}

TEST(PlatformAtLinkTimeTest, ALayerRegisteredAtRunTimeTakesPrecedence) {
  const PalImpl before = *get_pal_impl();
  PalImpl impl;
  impl.current_ticks = [] { return et_timestamp_t{3}; };
  register_pal(impl);
  EXPECT_EQ(ticks_to_ns(pal_current_ticks()), 2u);
  register_pal(before);
}

}  // namespace
