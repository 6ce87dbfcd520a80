// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Damaged programs give an error or run; they never reach outside of their memory, which a build
// with -DEXECUTORCH_SANITIZE=address,undefined sees. ET_FUZZ_RUNS sets the number of mutations of
// each program.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include "fuzz/program/execute_program.h"
#include "scalar_slots.h"
#include "test_paths.h"

namespace executorch::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;
using runtime::Error;

struct Seed {
  std::string name;
  Bytes bytes;
};

std::vector<Seed> seeds() {
  std::vector<Seed> seeds;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TEST_DATA_DIR)) {
    if (entry.path().extension() == ".pte") {
      std::ifstream file(entry.path(), std::ios::binary);
      seeds.push_back({entry.path().filename().string(), Bytes(std::istreambuf_iterator<char>(file),
                                                               std::istreambuf_iterator<char>())});
    }
  }
  return seeds;
}

size_t runs() {
  const char* given = getenv("ET_FUZZ_RUNS");
  return given == nullptr ? 1500 : static_cast<size_t>(atoll(given));
}

Outcome execute(const Bytes& bytes) {
  // The capacity equals the size, so that a sanitizer sees a read past the end.
  std::vector<uint8_t> exact(bytes);
  exact.shrink_to_fit();
  return execute_program({exact.data(), exact.size()});
}

/// Numbers that are wrong in interesting ways.
int64_t odd_number(std::mt19937& random) {
  static constexpr int64_t kNumbers[] = {0,
                                         1,
                                         2,
                                         3,
                                         5,
                                         8,
                                         16,
                                         17,
                                         64,
                                         127,
                                         128,
                                         255,
                                         4096,
                                         0x7fff,
                                         0x7fffffff,
                                         0x80000000,
                                         0xffffffff,
                                         -1,
                                         -2,
                                         -8,
                                         INT64_MAX,
                                         INT64_MIN,
                                         INT64_MAX / 8,
                                         1ll << 32,
                                         1ll << 40};
  const size_t choice = random() % (std::size(kNumbers) + 2);
  return choice < std::size(kNumbers) ? kNumbers[choice] : static_cast<int64_t>(random() % 100);
}

void drop_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char*,
                  size_t) {}

class ProgramFuzzTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    runtime::runtime_init();
    // Thousands of refusals would fill the test's output.
    runtime::register_pal(runtime::PalImpl::create(&drop_message, __FILE__));
  }
};

TEST_F(ProgramFuzzTest, SeedsRunAsTheyAre) {
  ASSERT_FALSE(seeds().empty());
  for (const Seed& seed : seeds()) {
    EXPECT_EQ(execute(seed.bytes).load, Error::Ok) << seed.name;
  }
}

TEST_F(ProgramFuzzTest, EveryTruncationIsRefusedOrRuns) {
  for (const Seed& seed : seeds()) {
    const size_t step = seed.bytes.size() < 4096 ? 1 : seed.bytes.size() / 997;
    for (size_t size = 0; size < seed.bytes.size(); size += step) {
      execute(Bytes(seed.bytes.begin(), seed.bytes.begin() + static_cast<ptrdiff_t>(size)));
    }
  }
}

TEST_F(ProgramFuzzTest, ChangedBytesAreRefusedOrRun) {
  for (const Seed& seed : seeds()) {
    std::mt19937 random(1);
    for (size_t run = 0; run < runs(); ++run) {
      Bytes bytes = seed.bytes;
      for (size_t changes = 1 + random() % 4; changes > 0; --changes) {
        bytes[random() % std::min<size_t>(bytes.size(), 8192)] = static_cast<uint8_t>(random());
      }
      execute(bytes);
    }
  }
}

TEST_F(ProgramFuzzTest, ChangedNumbersAreRefusedOrRun) {
  for (const Seed& seed : seeds()) {
    const std::vector<Slot> slots = find_scalar_slots({seed.bytes.data(), seed.bytes.size()});
    ASSERT_FALSE(slots.empty()) << seed.name;
    std::mt19937 random(2);
    for (size_t run = 0; run < runs(); ++run) {
      Bytes bytes = seed.bytes;
      for (size_t changes = 1 + random() % 2; changes > 0; --changes) {
        const Slot& slot = slots[random() % slots.size()];
        const int64_t number = odd_number(random);
        memcpy(bytes.data() + slot.position, &number, slot.width);
      }
      execute(bytes);
    }
  }
}

TEST_F(ProgramFuzzTest, EveryNumberInTurnIsRefusedOrRuns) {
  for (const Seed& seed : seeds()) {
    for (const Slot& slot : find_scalar_slots({seed.bytes.data(), seed.bytes.size()})) {
      for (const int64_t number : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{INT32_MAX}}) {
        Bytes bytes = seed.bytes;
        memcpy(bytes.data() + slot.position, &number, slot.width);
        execute(bytes);
      }
    }
  }
}

TEST_F(ProgramFuzzTest, RandomBytesAreRefused) {
  std::mt19937 random(3);
  for (size_t run = 0; run < runs(); ++run) {
    Bytes bytes(random() % 512);
    for (uint8_t& byte : bytes) {
      byte = static_cast<uint8_t>(random());
    }
    if (run % 2 == 0 && bytes.size() > 8) {
      memcpy(bytes.data() + 4, "ET12", 4);
    }
    EXPECT_NE(execute(bytes).load, Error::Ok);
  }
}

}  // namespace
}  // namespace executorch::fuzz
