// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Programs run without any heap in exactly the memory that they state.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/module/method_memory.h>
#include <executorch/runtime/platform/runtime.h>

#include "backends/demo_backend.h"
#include "memory/heap_interposition.h"
#include "memory/static_program.h"
#include "runtime/log_capture.h"
#include "test_paths.h"

namespace executorch::testing {
namespace {

using extension::FileDataLoader;
using extension::MethodMemory;
using runtime::Error;
using runtime::MethodMeta;
using runtime::Program;
using runtime::Result;

struct Case {
  const char* file;
  const char* method;
};

// Branches, state and several methods; delegates, of branches too; integers.
constexpr Case kCases[] = {
    {"peer/add", "forward"},           {"peer/add_channels_last", "forward"},
    {"peer/add_unplanned", "forward"}, {"peer/cond", "forward"},
    {"peer/conv", "forward"},          {"peer/counter", "forward"},
    {"peer/dtypes", "forward"},        {"peer/mlp_dynamic", "forward"},
    {"peer/multi_method", "encode"},   {"peer/multi_method", "decode"},
    {"demo/cond_true", "forward"},     {"demo/matmul_add_sub", "forward"},
    {"demo/dynamic", "forward"},       {"int8/images", "forward"},
    {"int8/rows", "forward"},
};

class Heapless : public ::testing::TestWithParam<Case> {
 protected:
  /// Reads the program and the sizes that it states; measures the temporary memory of a run.
  void SetUp() override {
    runtime::runtime_init();
    const Error error = demo::register_demo_backend();
    ASSERT_TRUE(error == Error::Ok || error == Error::RegistrationAlreadyRegistered);
    const std::string path = std::string(TEST_DATA_DIR "/") + GetParam().file + ".pte";
    Result<FileDataLoader> loader = FileDataLoader::from(path.c_str());
    program_size_ = *loader->size();
    ASSERT_LE(program_size_, StaticMemory::kMax);
    ASSERT_EQ(loader->load_into(0, program_size_, {}, memory().program), Error::Ok);
    const Result<Program> program = Program::load(&*loader);
    const MethodMeta meta = *program->method_meta(GetParam().method);
    sizes_.method = meta.method_allocator_size();
    sizes_.buffers = meta.num_memory_planned_buffers();
    ASSERT_LE(sizes_.buffers, StaticMemory::kMaxBuffers);
    for (size_t i = 0; i < sizes_.buffers; ++i) {
      sizes_.planned[i] = static_cast<size_t>(*meta.memory_planned_buffer_size(i));
    }
    const auto allocated = MethodMemory::allocate(meta);
    MethodMemory& heap = **allocated;
    auto loaded = program->load_method(meta.name(), heap.manager());
    runtime::Method& method = *loaded;
    for (size_t i = 0; i < method.inputs_size(); ++i) {
      ASSERT_EQ(set_to_zeros(method, i, memory()), Error::Ok);
    }
    for (size_t i = 0; i < method.outputs_size(); ++i) {
      if (!meta.output_tensor_meta(i)->is_memory_planned()) {
        ASSERT_EQ(method.set_output_data_ptr(memory().outputs[i], StaticMemory::kMax, i),
                  Error::Ok);
      }
    }
    ASSERT_EQ(method.execute(), Error::Ok);
    sizes_.temp = heap.peak_temp_bytes();
    has_delegates_ = meta.num_backends() > 0;
    if (has_delegates_) {
      measure_method(*program);
    }
  }

  /// Measures the method allocator by loading, because only delegates know how much they allocate.
  void measure_method(const Program& program) {
    runtime::MemoryAllocator method(StaticMemory::kMax, memory().method);
    runtime::Span<uint8_t> buffers[StaticMemory::kMaxBuffers];
    for (size_t i = 0; i < sizes_.buffers; ++i) {
      buffers[i] = {memory().planned[i], sizes_.planned[i]};
    }
    runtime::HierarchicalAllocator planned({buffers, sizes_.buffers});
    runtime::MemoryManager manager(&method, &planned);
    ASSERT_TRUE(program.load_method(GetParam().method, &manager).ok());
    EXPECT_GT(method.used_size(), sizes_.method);
    sizes_.method = method.used_size();
  }

  static StaticMemory& memory() {
    static StaticMemory memory;
    return memory;
  }

  Error run(const Sizes& sizes, Outcome* outcome) const {
    return run_in(sizes, program_size_, GetParam().method, memory(), outcome);
  }

  size_t program_size_ = 0;
  bool has_delegates_ = false;
  Sizes sizes_;
  inline static Outcome expected_, outcome_;
};

TEST_P(Heapless, RunsWithoutTheHeapInTheMemoryThatTheProgramNeeds) {
  if (!heap::is_watched()) {
    GTEST_SKIP() << "the heap cannot be watched in this build";
  }
  Error error = Error::Internal;
  {
    const heap::Forbidden forbidden;
    error = run(sizes_, &outcome_);
  }
  EXPECT_EQ(error, Error::Ok);
  EXPECT_GT(outcome_.size, 0u);
}

TEST_P(Heapless, NamesTheMemoryThatIsOneByteTooSmall) {
  ASSERT_EQ(run(sizes_, &expected_), Error::Ok);
  const LogCapture log;
  Sizes less = sizes_;
  --less.method;
  EXPECT_EQ(run(less, &outcome_), Error::MemoryAllocationFailed);
  EXPECT_TRUE(has_delegates_ || log.contains("the method allocator lacks room for")) << log.text();
  for (size_t i = 0; i < sizes_.buffers; ++i) {
    if (sizes_.planned[i] > 0) {
      less = sizes_;
      --less.planned[i];
      EXPECT_EQ(run(less, &outcome_), Error::MemoryAllocationFailed);
      EXPECT_TRUE(log.contains("bytes in planned buffer " + std::to_string(i))) << log.text();
    }
  }
  if (sizes_.buffers > 0 && sizes_.planned[sizes_.buffers - 1] > 0) {
    less = sizes_;
    --less.buffers;
    EXPECT_EQ(run(less, &outcome_), Error::InvalidArgument);
    EXPECT_TRUE(log.contains("there are " + std::to_string(less.buffers))) << log.text();
  }
  if (sizes_.temp > 0) {
    // Kernels that can work with less memory do.
    less = sizes_;
    --less.temp;
    const Error error = run(less, &outcome_);
    EXPECT_TRUE(error == Error::MemoryAllocationFailed ||
                (error == Error::Ok && outcome_.size == expected_.size));
  }
  // The next one works.
  ASSERT_EQ(run(sizes_, &outcome_), Error::Ok);
  ASSERT_EQ(outcome_.size, expected_.size);
  EXPECT_EQ(memcmp(outcome_.bytes, expected_.bytes, expected_.size), 0);
}

TEST_P(Heapless, GivesTheSameWithTemporaryMemoryOfThePlatform) {
  ASSERT_EQ(run(sizes_, &expected_), Error::Ok);
  ASSERT_EQ(run_in(sizes_, program_size_, GetParam().method, memory(), &outcome_,
                   /*has_temp_allocator=*/false),
            Error::Ok);
  ASSERT_EQ(outcome_.size, expected_.size);
  EXPECT_EQ(memcmp(outcome_.bytes, expected_.bytes, expected_.size), 0);
}

INSTANTIATE_TEST_SUITE_P(Programs, Heapless, ::testing::ValuesIn(kCases),
                         [](const ::testing::TestParamInfo<Case>& info) {
                           std::string name =
                               std::string(info.param.file) + "_" + info.param.method;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

TEST(Heap, IsForbiddenForAll) {
  if (!heap::is_watched()) {
    GTEST_SKIP() << "the heap cannot be watched in this build";
  }
  const auto use = [](auto&& action) {
    const heap::Forbidden forbidden;
    action();
  };
  // Volatile, so that the compiler does not leave the calls out.
  EXPECT_DEATH(use([] { [[maybe_unused]] void* volatile block = malloc(1); }),
               "malloc while the heap is forbidden");
  EXPECT_DEATH(use([] { [[maybe_unused]] void* volatile block = calloc(1, 1); }), "calloc while");
  void* volatile before = malloc(1);
  EXPECT_DEATH(use([&before] { free(before); }), "free while");
  free(before);
  EXPECT_DEATH(use([] { [[maybe_unused]] void* volatile block = new int; }), "operator new while");
  EXPECT_DEATH(use([] { [[maybe_unused]] void* volatile block = strdup("text"); }), "malloc while");
}

}  // namespace
}  // namespace executorch::testing
