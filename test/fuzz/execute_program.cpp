// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "execute_program.h"

#include <string.h>

#include <memory>
#include <vector>

#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch::fuzz {
namespace {

using runtime::DataLoader;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::HierarchicalAllocator;
using runtime::MemoryAllocator;
using runtime::MemoryManager;
using runtime::Method;
using runtime::MethodMeta;
using runtime::Program;
using runtime::Result;
using runtime::Span;
using runtime::Tag;
using runtime::TensorInfo;

constexpr size_t kMostMemory = 8u << 20;
constexpr size_t kMostSteps = 2000;

/// Every piece is a block of its own: reading past its end is reading past a heap block.
class PieceLoader final : public DataLoader {
 public:
  explicit PieceLoader(Span<const uint8_t> bytes) : bytes_(bytes) {}

  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo&) const override {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      return Error::InvalidArgument;
    }
    auto* copy = new uint8_t[size];
    if (size > 0) {
      memcpy(copy, bytes_.data() + offset, size);
    }
    return FreeableBuffer(copy, size,
                          [](void*, void* data, size_t) { delete[] static_cast<uint8_t*>(data); });
  }
  Result<size_t> size() const override { return bytes_.size(); }

 private:
  Span<const uint8_t> bytes_;
};

/// The memory of one method, of exactly the sizes that it asks for.
struct Memory {
  explicit Memory(const MethodMeta& meta)
      : method_block(new uint8_t[meta.method_allocator_size()]),
        temp_block(new uint8_t[kTempSize]),
        method(static_cast<uint32_t>(meta.method_allocator_size()), method_block.get()),
        temp(kTempSize, temp_block.get()) {
    for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
      const auto size = static_cast<size_t>(*meta.memory_planned_buffer_size(i));
      blocks.emplace_back(new uint8_t[size]());
      spans.emplace_back(blocks.back().get(), size);
    }
    planned =
        std::make_unique<HierarchicalAllocator>(Span<Span<uint8_t>>(spans.data(), spans.size()));
    manager = std::make_unique<MemoryManager>(&method, planned.get(), &temp);
  }

  static constexpr size_t kTempSize = 64 * 1024;
  std::unique_ptr<uint8_t[]> method_block;
  std::unique_ptr<uint8_t[]> temp_block;
  MemoryAllocator method;
  MemoryAllocator temp;
  std::vector<std::unique_ptr<uint8_t[]>> blocks;
  std::vector<Span<uint8_t>> spans;
  std::unique_ptr<HierarchicalAllocator> planned;
  std::unique_ptr<MemoryManager> manager;
};

bool is_small(const MethodMeta& meta) {
  uint64_t total = meta.method_allocator_size();
  for (size_t i = 0; i < meta.num_memory_planned_buffers() && total <= kMostMemory; ++i) {
    total += static_cast<uint64_t>(*meta.memory_planned_buffer_size(i));
  }
  return total <= kMostMemory;
}

/// A tensor of the sizes that a method asks for, with memory of exactly its bytes.
struct OwnedTensor {
  explicit OwnedTensor(const TensorInfo& info)
      : sizes(info.sizes().begin(), info.sizes().end()),
        dim_order(info.dim_order().begin(), info.dim_order().end()),
        strides(sizes.size()),
        data(new uint8_t[info.nbytes()]) {
    int32_t stride = 1;
    for (size_t i = dim_order.size(); i-- > 0;) {
      strides[dim_order[i]] = stride;
      // The product of the outermost is no stride and may not fit.
      stride = i == 0 ? stride : stride * (sizes[dim_order[i]] > 0 ? sizes[dim_order[i]] : 1);
    }
    memset(data.get(), 1, info.nbytes());
    impl = std::make_unique<aten::TensorImpl>(info.scalar_type(),
                                              static_cast<ssize_t>(sizes.size()), sizes.data(),
                                              data.get(), dim_order.data(), strides.data());
  }

  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<int32_t> strides;
  std::unique_ptr<uint8_t[]> data;
  std::unique_ptr<aten::TensorImpl> impl;
};

class Execution final {
 public:
  explicit Execution(Method& method) : method_(method) {}

  bool run() {
    give_outputs_memory();
    bool done = set_inputs() && step_to_end();
    // A second time: what the first left behind must not matter. (An input that was consumed is an
    // error.)
    if (done && method_.reset_execution() == Error::Ok) {
      done = method_.execute() == Error::Ok || (set_inputs() && step_to_end());
    }
    return done;
  }

 private:
  bool set_inputs() {
    const MethodMeta meta = method_.method_meta();
    bool all = true;
    for (size_t i = 0; i < meta.num_inputs(); ++i) {
      if (*meta.input_tag(i) != Tag::Tensor) {
        continue;
      }
      const TensorInfo info = *meta.input_tensor_meta(i);
      if (info.nbytes() > kMostMemory) {
        return false;
      }
      tensors_.push_back(std::make_unique<OwnedTensor>(info));
      all = method_.set_input(EValue(aten::Tensor(tensors_.back()->impl.get())), i) == Error::Ok &&
            all;
    }
    return all;
  }

  void give_outputs_memory() {
    const MethodMeta meta = method_.method_meta();
    for (size_t i = 0; i < meta.num_outputs(); ++i) {
      if (*meta.output_tag(i) != Tag::Tensor) {
        continue;
      }
      const TensorInfo info = *meta.output_tensor_meta(i);
      if (!info.is_memory_planned() && info.nbytes() <= kMostMemory) {
        outputs_.emplace_back(new uint8_t[info.nbytes()]);
        // An input that is an output as well has its memory from the input.
        (void)method_.set_output_data_ptr(outputs_.back().get(), info.nbytes(), i);
      }
    }
  }

  bool step_to_end() {
    for (size_t i = 0; i < kMostSteps; ++i) {
      const Error error = method_.step();
      if (error != Error::Ok) {
        return error == Error::EndOfMethod;
      }
    }
    return false;
  }

  Method& method_;
  std::vector<std::unique_ptr<OwnedTensor>> tensors_;
  std::vector<std::unique_ptr<uint8_t[]>> outputs_;
};

}  // namespace

Outcome execute_program(Span<const uint8_t> bytes) {
  Outcome outcome;
  const PieceLoader loader(bytes);
  const Result<Program> program = Program::load(const_cast<PieceLoader*>(&loader));
  outcome.load = program.error();
  for (size_t i = 0; program.ok() && i < program->num_methods(); ++i) {
    const char* name = *program->get_method_name(i);
    const MethodMeta meta = *program->method_meta(name);
    if (!is_small(meta)) {
      continue;
    }
    Memory memory(meta);
    Result<Method> method = program->load_method(name, memory.manager.get());
    if (method.ok()) {
      ++outcome.methods_loaded;
      outcome.methods_executed += Execution(*method).run() ? 1 : 0;
    }
  }
  return outcome;
}

}  // namespace executorch::fuzz
