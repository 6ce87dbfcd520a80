// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Kernels, called without a program around them: arguments made for the operator's schema, or a
// recorded call, changed. Now and then another thread changes integers while the kernel reads them.
#include <atomic>
#include <functional>
#include <thread>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

#include "fuzz/engine/features.h"
#include "fuzz/program/recorded_seeds.h"
#include "replay/mutate.h"
#include "replay/run_call.h"

using namespace executorch::fuzz;
using oracle::Call;
using oracle::Value;

namespace {

Value number(OracleKind kind, int64_t integer, double real) {
  Value value;
  value.kind = kind;
  value.integer = integer;
  value.real = real;
  return value;
}

class CallMaker final {
 public:
  explicit CallMaker(Random& random)
      : random_(random), type_(any_type(random)), sizes_(any_sizes(random)) {}

  Call make(const Signature& signature) {
    Call call;
    call.name = signature.text();
    for (const Parameter& parameter : signature.parameters) {
      call.values.push_back(argument(parameter));
      call.outputs += parameter.is_written && parameter.name.rfind("out", 0) == 0 ? 1 : 0;
    }
    return call;
  }

 private:
  Value argument(const Parameter& parameter) {
    if (parameter.is_optional && random_.one_in(2)) {
      return {};
    }
    switch (parameter.type) {
      case ArgumentType::Tensor:
        return tensor(parameter.is_written);
      case ArgumentType::TensorList:
        return list(kTensorList, 1 + random_.below(3),
                    [&] { return tensor(parameter.is_written); });
      case ArgumentType::OptionalTensorList:
        return list(kOptionalTensorList, 1 + random_.below(3),
                    [&] { return random_.one_in(3) ? Value() : tensor(false); });
      case ArgumentType::Int:
        return number(kInt, integer(), 0);
      case ArgumentType::IntList:
        return list(kIntList, length(parameter), [&] { return number(kInt, integer(), 0); });
      case ArgumentType::Double:
        return number(kDouble, 0, fraction());
      case ArgumentType::DoubleList:
        return list(kDoubleList, length(parameter), [&] { return number(kDouble, 0, fraction()); });
      case ArgumentType::Bool:
        return number(kBool, random_.one_in(2) ? 1 : 0, 0);
      case ArgumentType::BoolList:
        return list(kBoolList, length(parameter),
                    [&] { return number(kBool, random_.one_in(2) ? 1 : 0, 0); });
      case ArgumentType::Scalar:
        return random_.one_in(2) ? number(kDouble, 0, fraction()) : number(kInt, integer(), 0);
      case ArgumentType::ScalarType:
        return number(kInt, static_cast<int64_t>(any_type(random_)), 0);
      case ArgumentType::String: {
        Value value;
        value.kind = kString;
        value.text = random_.pick({"none", "sum", "mean", "tanh", "floor", "trunc"});
        return value;
      }
      case ArgumentType::None:
        return {};
    }
    return {};
  }

  Value list(OracleKind kind, size_t size, const std::function<Value()>& item) {
    Value value;
    value.kind = kind;
    for (size_t i = 0; i < size; ++i) {
      value.items.push_back(item());
    }
    return value;
  }

  size_t length(const Parameter& parameter) {
    return parameter.length != 0 && !random_.one_in(8) ? parameter.length : random_.below(5);
  }
  int64_t integer() { return random_.one_in(12) ? odd_number(random_) : random_.between(-1, 3); }
  double fraction() { return random_.pick({0.0, 0.5, 1.0, -1.0, 2.0, 1e-5, 1e30}); }

  Value tensor(bool is_output) {
    Value value;
    value.kind = kTensor;
    oracle::Tensor& tensor = value.tensor;
    const auto type = random_.one_in(4) ? any_type(random_) : type_;
    tensor.dtype = static_cast<executorch::aten::ScalarType>(type);
    tensor.sizes = random_.one_in(4) ? any_sizes(random_) : sizes_;
    if (!tensor.sizes.empty() && random_.one_in(4)) {
      random_.pick(tensor.sizes) = static_cast<int32_t>(random_.between(1, 4));
    }
    tensor.resizable = is_output && !random_.one_in(4);
    if (tensor.resizable) {
      for (int32_t& size : tensor.sizes) {
        size += static_cast<int32_t>(random_.below(4));
      }
    }
    for (size_t d = 0; d < tensor.sizes.size(); ++d) {
      tensor.dim_order.push_back(static_cast<uint8_t>(d));
    }
    const size_t width = executorch::runtime::elementSize(tensor.dtype);
    tensor.data.resize(oracle::count_elements(tensor.sizes) * width);
    for (size_t i = 0; i < tensor.data.size(); ++i) {
      const bool is_low_byte = i % width == 0;
      tensor.data[i] = is_low_byte ? static_cast<uint8_t>(random_.below(3)) : 0;
      if (tensor.dtype == executorch::aten::ScalarType::Bool) {
        tensor.data[i] &= 1;
      }
    }
    return value;
  }

  Random& random_;
  fb::ScalarType type_;
  std::vector<int32_t> sizes_;
};

/// Writes to the integers of a call's operands until it is destroyed.
class IndexWriter final {
 public:
  explicit IndexWriter(Call& call) {
    for (size_t i = 0; i + call.outputs < call.values.size(); ++i) {
      add(call.values[i]);
      for (Value& item : call.values[i].items) {
        add(item);
      }
    }
    thread_ = std::thread([this] {
      for (uint8_t round = 0; !is_over_; ++round) {
        has_begun_ = true;
        for (oracle::Tensor* tensor : tensors_) {
          for (uint8_t& byte : tensor->data) {
            const_cast<volatile uint8_t&>(byte) = (round & 1) != 0 ? 0 : round;
          }
        }
        // On a busy processor the kernel would otherwise wait for the end of a time slice.
        std::this_thread::yield();
      }
    });
    while (!has_begun_) {
      std::this_thread::yield();
    }
  }
  ~IndexWriter() {
    is_over_ = true;
    thread_.join();
  }

 private:
  void add(Value& value) {
    if (value.kind == kTensor &&
        executorch::runtime::isIntegralType(value.tensor.dtype, /*includeBool=*/false)) {
      tensors_.push_back(&value.tensor);
    }
  }

  std::vector<oracle::Tensor*> tensors_;
  std::atomic<bool> is_over_{false};
  std::atomic<bool> has_begun_{false};
  std::thread thread_;
};

/// The text of a message without its numbers is where it comes from.
uint64_t place_of(const oracle::Outcome& outcome) {
  std::string text;
  for (const char letter : outcome.messages) {
    if (letter < '0' || letter > '9') {
      text += letter;
    }
  }
  return hash_of({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  start();
  Random random(executorch::runtime::Span<const uint8_t>(data, size));
  const std::vector<Call>& recorded = recorded_calls();
  const bool is_new = recorded.empty() || random.one_in(3);
  Call call = is_new ? CallMaker(random).make(random.pick(signatures())) : random.pick(recorded);
  if (!is_new || random.one_in(4)) {
    oracle::Random changes(random.next());
    oracle::mutate(call, changes);
  }
  if (random.one_in(8)) {
    oracle::Random changes(random.next());
    oracle::empty_tensors(call, changes);
  }
  const uint64_t name =
      hash_of({reinterpret_cast<const uint8_t*>(call.name.data()), call.name.size()});
  oracle::Outcome outcome;
  if (random.one_in(16)) {
    const IndexWriter writer(call);
    outcome = oracle::run_call(call);
  } else {
    outcome = oracle::run_call(call);
  }
  note_feature(name ^ place_of(outcome));
  note_feature(name + static_cast<uint64_t>(outcome.run.error));
  return 0;
}
