// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Fuzzes the C API on the programs of the target `program`. The script decides the order of calls
// and the numbers passed. Pointers are valid; the data behind them may be wrong.
#include <stdlib.h>
#include <string.h>

#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/c_api/executorch.h>

#include "fuzz/engine/features.h"
#include "fuzz/program/mutate_program.h"
#include "fuzz/program/program_values.h"

using namespace executorch::fuzz;

namespace {

constexpr size_t kMaxMemory = 4u << 20;

struct Freed {
  void operator()(void* block) const { free(block); }
};
using Block = std::unique_ptr<void, Freed>;

Block block_of(size_t size) {
  void* block = nullptr;
  if (posix_memalign(&block, 16, size) != 0) {
    abort();
  }
  memset(block, 1, size);
  return Block(block);
}

class Session final {
 public:
  Session(const et_program& program, const char* name, Random& random)
      : program_(program), name_(name), random_(random) {}

  void run() {
    if (!take_memory()) {
      return;
    }
    et_method_memory memory{
        {method_.get(), method_size_},
        planned_.data(),
        random_.one_in(12) ? random_.below(planned_.size() + 1) : planned_.size(),
        {temp_.get(), kTempSize}};
    if (random_.one_in(12)) {
      memory.method.size = random_.below(method_size_ + 1);
    }
    et_method method;
    if (et_method_load(&method, &program_, name_, &memory) != ET_OK) {
      return;
    }
    for (size_t calls = 4 + random_.below(12); calls > 0; --calls) {
      call(method);
    }
    et_method_unload(&method);
  }

 private:
  static constexpr size_t kTempSize = 1u << 16;

  bool take_memory() {
    size_t count = 0;
    if (et_program_method_memory(&program_, name_, &method_size_) != ET_OK ||
        et_program_num_planned(&program_, name_, &count) != ET_OK || method_size_ > kMaxMemory) {
      return false;
    }
    method_ = block_of(method_size_);
    temp_ = block_of(kTempSize);
    for (size_t i = 0; i < count && i < ET_MAX_PLANNED_BUFFERS + 2; ++i) {
      size_t size = 0;
      if (et_program_planned_size(&program_, name_, i, &size) != ET_OK || size > kMaxMemory) {
        return false;
      }
      blocks_.push_back(block_of(size));
      planned_.push_back({blocks_.back().get(), size});
    }
    return true;
  }

  void call(et_method& method) {
    const size_t inputs = et_method_num_inputs(&method);
    const size_t outputs = et_method_num_outputs(&method);
    switch (random_.below(5)) {
      case 0:
        set_input(method, random_.below(inputs + 1));
        break;
      case 1: {
        for (size_t i = 0; i < inputs; ++i) {
          set_input(method, i);
        }
        for (size_t i = 0; i < outputs; ++i) {
          set_output(method, i);
        }
        break;
      }
      case 2:
        set_output(method, random_.below(outputs + 1));
        break;
      case 3:
        // Endless loops are not a fault of the C API; the target `program` covers them.
        note_feature(et_method_execute(&method));
        break;
      default: {
        et_value value;
        if (et_method_output(&method, random_.below(outputs + 1), &value) == ET_OK &&
            value.kind == ET_TENSOR && value.of.tensor.data != nullptr) {
          const auto* bytes = static_cast<const uint8_t*>(value.of.tensor.data);
          note_feature(std::vector<uint8_t>(bytes, bytes + value.of.tensor.nbytes).size());
        }
      }
    }
  }

  void set_input(et_method& method, size_t index) {
    et_tensor info;
    if (et_program_input(&program_, name_, index, &info) != ET_OK || info.nbytes > kMaxMemory) {
      return;
    }
    if (random_.one_in(3)) {
      const size_t size = random_.one_in(6) ? random_.below(info.nbytes + 1) : info.nbytes;
      given_.push_back(block_of(size));
      note_feature(et_method_set_input_data(&method, index, given_.back().get(), size));
      return;
    }
    std::vector<int32_t> sizes(info.sizes, info.sizes + info.rank);
    size_t bytes = info.nbytes;
    for (int32_t& size : sizes) {
      if (random_.one_in(6) && size > 0) {
        bytes = bytes / static_cast<size_t>(size) * static_cast<size_t>(size - 1);
        --size;
      }
    }
    given_.push_back(block_of(bytes));
    et_tensor tensor = info;
    tensor.data = given_.back().get();
    tensor.nbytes = bytes;
    tensor.sizes = sizes.data();
    tensor.dim_order = random_.one_in(4) ? nullptr : info.dim_order;
    tensor.dtype = random_.one_in(12) ? static_cast<int>(random_.below(30)) : info.dtype;
    note_feature(et_method_set_input(&method, index, &tensor));
  }

  void set_output(et_method& method, size_t index) {
    et_tensor info;
    if (et_program_output(&program_, name_, index, &info) != ET_OK || info.nbytes > kMaxMemory) {
      return;
    }
    const size_t size = random_.one_in(6) ? random_.below(info.nbytes + 1) : info.nbytes;
    given_.push_back(block_of(size));
    note_feature(et_method_set_output_data(&method, index, given_.back().get(), size));
  }

  const et_program& program_;
  const char* name_;
  Random& random_;
  size_t method_size_ = 0;
  Block method_;
  Block temp_;
  std::vector<Block> blocks_;
  std::vector<et_memory> planned_;
  /// Memory that was bound to the method must outlive it.
  std::vector<Block> given_;
};

bool may_run_for_ever(const executorch::testing::TestProgram& program) {
  for (const auto& plan : program.plans) {
    for (const auto& chain : plan.chains) {
      for (size_t i = 0; i < chain.size(); ++i) {
        if (chain[i].kind == fb::InstructionArguments::JumpFalseCall &&
            chain[i].second <= static_cast<int32_t>(i)) {
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  start();
  const ProgramInput input = split_input({data, size});
  const auto values = read_program(input.file);
  if (values.has_value() && may_run_for_ever(*values)) {
    return 0;
  }
  const Block file = block_of(input.file.size());
  if (input.file.size() > 0) {
    memcpy(file.get(), input.file.data(), input.file.size());
  }
  Random random(input.script);
  et_program program;
  if (et_program_load(&program, file.get(), input.file.size()) != ET_OK) {
    return 0;
  }
  (void)et_program_method_name(&program, et_program_num_methods(&program));
  size_t ignored = 0;
  (void)et_program_method_memory(&program, "a method that no program has", &ignored);
  for (size_t i = 0; i < et_program_num_methods(&program); ++i) {
    Session(program, et_program_method_name(&program, i), random).run();
  }
  et_program_unload(&program);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return mutate_input(data, size, max_size, seed);
}
