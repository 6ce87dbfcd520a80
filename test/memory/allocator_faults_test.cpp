// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Every request to the client's allocators and data loader fails once: the named error, nothing
// kept, and the next load works.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include "backends/demo_backend.h"
#include "memory/static_program.h"
#include "runtime/log_capture.h"
#include "test_paths.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::FreeableBuffer;
using runtime::MemoryAllocator;
using runtime::Result;

/// The request to fail, and the number of live allocations.
struct Faults {
  int64_t until = 0;
  Error injected = Error::Ok;
  int buffers_alive = 0;

  /// Returns whether this request is the one to fail, with `error`.
  bool fail(Error error) {
    const bool now = until-- == 0;
    injected = now ? error : injected;
    return now;
  }
};

class FaultyAllocator final : public MemoryAllocator {
 public:
  FaultyAllocator(Faults& faults, StaticMemory& memory, uint8_t* bytes)
      : MemoryAllocator(sizeof(memory.method), bytes), faults_(faults) {}
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    return faults_.fail(Error::MemoryAllocationFailed) ? nullptr
                                                       : MemoryAllocator::allocate(size, alignment);
  }

 private:
  Faults& faults_;
};

/// A file that cannot be read any more from some request on.
class FaultyLoader final : public runtime::DataLoader {
 public:
  FaultyLoader(Faults& faults, const std::vector<char>& file) : faults_(faults), file_(file) {}

  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo&) const override {
    if (faults_.fail(Error::AccessFailed)) {
      return Error::AccessFailed;
    }
    EXPECT_LE(offset + size, file_.size());
    // A heap block for each load, so that a sanitizer reports leaks and uses after free.
    auto* copy = static_cast<char*>(aligned_alloc(16, (size + 16) / 16 * 16));
    std::copy_n(file_.begin() + static_cast<ptrdiff_t>(offset), size, copy);
    ++faults_.buffers_alive;
    return FreeableBuffer(
        copy, size,
        [](void* faults, void* data, size_t) {
          --static_cast<Faults*>(faults)->buffers_alive;
          free(data);
        },
        &faults_);
  }
  Error load_into(size_t offset, size_t size, const SegmentInfo&, void* buffer) const override {
    if (faults_.fail(Error::AccessFailed)) {
      return Error::AccessFailed;
    }
    EXPECT_LE(offset + size, file_.size());
    std::copy_n(file_.begin() + static_cast<ptrdiff_t>(offset), size, static_cast<char*>(buffer));
    return Error::Ok;
  }
  Result<size_t> size() const override {
    if (faults_.fail(Error::AccessFailed)) {
      return Error::AccessFailed;
    }
    return file_.size();
  }

 private:
  Faults& faults_;
  const std::vector<char>& file_;
};

std::vector<char> read_file(const std::string& name) {
  std::ifstream file(TEST_DATA_DIR "/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class EveryRequest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    runtime::runtime_init();
    const Error error = demo::register_demo_backend();
    ASSERT_TRUE(error == Error::Ok || error == Error::RegistrationAlreadyRegistered);
    file_ = read_file(GetParam());
  }

  /// Loads the program and its first method and executes that; request `fails` fails.
  Error run(int64_t fails, Outcome* outcome) {
    static StaticMemory memory;
    faults_ = {fails, Error::Ok, 0};
    FaultyLoader loader(faults_, file_);
    FaultyAllocator method_allocator(faults_, memory, memory.method);
    FaultyAllocator temp(faults_, memory, memory.temp);
    const runtime::Program program = ET_UNWRAP(runtime::Program::load(&loader));
    runtime::Span<uint8_t> buffers[StaticMemory::kMaxBuffers];
    for (size_t i = 0; i < StaticMemory::kMaxBuffers; ++i) {
      buffers[i] = {memory.planned[i], StaticMemory::kMax};
    }
    runtime::HierarchicalAllocator planned({buffers, StaticMemory::kMaxBuffers});
    runtime::MemoryManager manager(&method_allocator, &planned, &temp);
    return run_on(program, ET_UNWRAP(program.get_method_name(0)), manager, memory, outcome);
  }

  std::vector<char> file_;
  Faults faults_;
};

TEST_P(EveryRequest, FailsWithItsErrorAndLeavesNothing) {
  constexpr int64_t kNone = INT64_MAX;
  static Outcome expected, outcome;
  ASSERT_EQ(run(kNone, &expected), Error::Ok);
  const LogCapture log;
  int64_t requests = 0;
  for (;; ++requests) {
    const Error error = run(requests, &outcome);
    EXPECT_EQ(faults_.buffers_alive, 0) << "request " << requests;
    if (faults_.injected == Error::Ok) {
      EXPECT_EQ(error, Error::Ok);
      break;
    }
    // Kernels that can do without temporary memory do.
    EXPECT_TRUE(error == faults_.injected ||
                (error == Error::Ok && faults_.injected == Error::MemoryAllocationFailed))
        << "request " << requests << ": " << runtime::to_string(error) << "\n"
        << log.text();
    ASSERT_EQ(run(kNone, &outcome), Error::Ok) << "after request " << requests;
    ASSERT_EQ(outcome.size, expected.size);
    EXPECT_EQ(memcmp(outcome.bytes, expected.bytes, expected.size), 0);
  }
  // --gtest_output=xml:FILE reports the number of requests.
  RecordProperty("requests", static_cast<int>(requests));
  EXPECT_GE(requests, 3);  // the file's beginning, the whole, the method
}

INSTANTIATE_TEST_SUITE_P(Programs, EveryRequest,
                         ::testing::Values("peer/add.pte", "peer/cond.pte", "peer/conv.pte",
                                           "peer/counter.pte", "peer/mlp_dynamic.pte",
                                           "peer/multi_method.pte", "demo/whole.pte",
                                           "demo/shifted.pte", "demo/cond_true.pte",
                                           "int8/images.pte", "int8/rows.pte"));

}  // namespace
}  // namespace executorch::testing
