// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <string.h>

#include <algorithm>
#include <utility>

#include "fuzz/program/mutate_program.h"

namespace executorch::fuzz {

using namespace executorch::testing;
using Kind = fb::KernelTypes;

namespace {

// runtime/executor/execute/parametric_plan.cpp has the format.
enum Operation : uint32_t { kConstant, kInputSize, kAdd, kMultiply, kDivide, kMaximum };
constexpr uint32_t kBuffer = 1;

class PlanMaker final {
 public:
  explicit PlanMaker(ProgramEditor& editor) : e_(editor), random_(editor.random) {}

  std::vector<uint32_t> make() {
    std::vector<uint32_t> tensors;
    uint32_t count = 0;
    uint64_t end = 0;
    for (size_t i = 0; i < e_.plan.values.size(); ++i) {
      const TestTensor& tensor = e_.plan.values[i].tensor;
      if (e_.plan.values[i].kind != Kind::Tensor || tensor.memory_id != kBuffer) {
        continue;
      }
      ++count;
      tensors.push_back(static_cast<uint32_t>(i));
      tensors.push_back(number(random_.one_in(8) ? random_.below(40) : tensor.offset));
      const bool is_static = tensor.dynamism == fb::TensorShapeDynamism::STATIC;
      const std::vector<int32_t> sizes = is_static ? std::vector<int32_t>() : tensor.sizes;
      tensors.push_back(static_cast<uint32_t>(sizes.size()));
      for (const int32_t size : sizes) {
        tensors.push_back(size_step(size));
      }
      end = std::max(end, tensor.offset + bytes_of(tensor));
    }
    const uint32_t height = number(random_.one_in(8) ? end / 2 : end);
    std::vector<uint32_t> words = {1, static_cast<uint32_t>(steps_.size() / 3), count, height};
    words.insert(words.end(), steps_.begin(), steps_.end());
    words.insert(words.end(), tensors.begin(), tensors.end());
    if (random_.one_in(4)) {
      random_.pick(words) = static_cast<uint32_t>(odd_number(random_));
    }
    return words;
  }

 private:
  uint32_t step(uint32_t operation, uint32_t a, uint32_t b) {
    steps_.insert(steps_.end(), {operation, a, b});
    return static_cast<uint32_t>(steps_.size() / 3 - 1);
  }

  uint32_t number(uint64_t value) {
    return step(kConstant, static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32));
  }

  uint32_t size_step(int32_t size) {
    std::vector<uint32_t> inputs;
    for (size_t i = 0; i < e_.plan.inputs.size(); ++i) {
      const int32_t value = e_.plan.inputs[i];
      if (e_.is_tensor(value) && !e_.tensor_at(value).sizes.empty()) {
        inputs.push_back(static_cast<uint32_t>(i));
      }
    }
    if (inputs.empty() || random_.one_in(3)) {
      return number(static_cast<uint64_t>(size));
    }
    const uint32_t input = random_.pick(inputs);
    const size_t rank = e_.tensor_at(e_.plan.inputs[input]).sizes.size();
    const uint32_t input_size = step(kInputSize, input, static_cast<uint32_t>(random_.below(rank)));
    return random_.one_in(2) ? input_size
                             : step(random_.pick({kAdd, kMultiply, kDivide, kMaximum}), input_size,
                                    number(random_.below(4)));
  }

  ProgramEditor& e_;
  Random& random_;
  std::vector<uint32_t> steps_;
};

}  // namespace

void add_parametric_plan(ProgramEditor& e) {
  const std::string key = "executorch.plan." + e.plan.name;
  for (const auto& [name, segment] : e.program.named_data) {
    if (name == key) {
      return;
    }
  }
  // Inputs must not lie in the buffer, other planned tensors may.
  if (e.plan.buffer_sizes.size() <= kBuffer) {
    e.plan.buffer_sizes.resize(kBuffer + 1);
  }
  for (size_t i = 0; i < e.plan.values.size(); ++i) {
    TestTensor& tensor = e.plan.values[i].tensor;
    if (e.plan.values[i].kind != Kind::Tensor || tensor.memory_id == 0) {
      continue;
    }
    const bool is_input = std::count(e.plan.inputs.begin(), e.plan.inputs.end(), i) > 0;
    if (is_input && tensor.memory_id == kBuffer) {
      e.plan_alone(tensor);
    } else if (!is_input && e.random.one_in(2)) {
      tensor.memory_id = kBuffer;
      tensor.offset = (static_cast<uint64_t>(e.plan.buffer_sizes[kBuffer]) + 15) / 16 * 16;
      e.fit(tensor);
    }
  }
  const std::vector<uint32_t> words = PlanMaker(e).make();
  std::string& data = e.program.segment_data;
  data.resize((data.size() + 15) / 16 * 16);
  e.program.named_data.emplace_back(key, static_cast<uint32_t>(e.program.segments.size()));
  e.program.segments.emplace_back(data.size(), words.size() * sizeof(uint32_t));
  data.append(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t));
}

}  // namespace executorch::fuzz
