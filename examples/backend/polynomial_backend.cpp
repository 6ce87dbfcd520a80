// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The runtime half of the backend of polynomial.py: checks a payload once, then runs it.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/platform/log.h>

#include <stdint.h>
#include <string.h>

namespace {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using namespace executorch::runtime;

constexpr uint32_t kMagic = 0x594C4F50;
constexpr size_t kMaxValues = 64;

struct Step {
  uint32_t operation, a, b;
};

/// Lies in the method allocator; its steps and outputs lie in the payload, which stays loaded.
struct Polynomial {
  uint32_t inputs, steps, outputs;
  const uint8_t* words;

  Step step(uint32_t index) const {
    Step step;
    memcpy(&step, words + index * sizeof(step), sizeof(step));
    return step;
  }
  uint32_t output(uint32_t index) const {
    uint32_t value;
    memcpy(&value, words + steps * sizeof(Step) + index * sizeof(value), sizeof(value));
    return value;
  }
};

/// A payload is bytes of a file: every number that execute() relies on is checked here.
Error check(const Polynomial& polynomial, size_t nbytes) {
  ET_CHECK_OR_RETURN_ERROR(
      polynomial.inputs <= kMaxValues && polynomial.steps <= kMaxValues &&
          polynomial.inputs + polynomial.steps <= kMaxValues && polynomial.outputs <= kMaxValues,
      DelegateInvalidCompatibility, "PolynomialBackend: more than %zu values", kMaxValues);
  const size_t expected = polynomial.steps * sizeof(Step) + polynomial.outputs * sizeof(uint32_t);
  ET_CHECK_OR_RETURN_ERROR(nbytes == expected, DelegateInvalidCompatibility,
                           "PolynomialBackend: expected %zu bytes of steps, found %zu", expected,
                           nbytes);
  for (uint32_t i = 0; i < polynomial.steps; ++i) {
    const Step step = polynomial.step(i);
    const uint32_t known = polynomial.inputs + i;
    ET_CHECK_OR_RETURN_ERROR(step.operation <= 1 && step.a < known && step.b < known,
                             DelegateInvalidCompatibility, "PolynomialBackend: step %u is invalid",
                             static_cast<unsigned>(i));
  }
  for (uint32_t i = 0; i < polynomial.outputs; ++i) {
    ET_CHECK_OR_RETURN_ERROR(polynomial.output(i) < polynomial.inputs + polynomial.steps,
                             DelegateInvalidCompatibility,
                             "PolynomialBackend: output %u is invalid", static_cast<unsigned>(i));
  }
  return Error::Ok;
}

class PolynomialBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec>) const override {
    uint32_t head[4];
    ET_CHECK_OR_RETURN_ERROR(processed->size() >= sizeof(head), DelegateInvalidCompatibility,
                             "PolynomialBackend: a payload of %zu bytes", processed->size());
    memcpy(head, processed->data(), sizeof(head));
    ET_CHECK_OR_RETURN_ERROR(head[0] == kMagic, DelegateInvalidCompatibility,
                             "PolynomialBackend: the payload was written for another backend");
    auto* const polynomial = static_cast<Polynomial*>(context.allocate(sizeof(Polynomial)));
    if (polynomial == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    const auto* const bytes = static_cast<const uint8_t*>(processed->data());
    *polynomial = {head[1], head[2], head[3], bytes + sizeof(head)};
    ET_CHECK_OK_OR_RETURN_ERROR(check(*polynomial, processed->size() - sizeof(head)));
    return polynomial;
  }

  Error execute(BackendExecutionContext&, DelegateHandle* handle,
                Span<EValue*> args) const override {
    const Polynomial& polynomial = *static_cast<Polynomial*>(handle);
    ET_CHECK_OR_RETURN_ERROR(args.size() == polynomial.inputs + polynomial.outputs, InvalidArgument,
                             "PolynomialBackend: expected %u arguments, found %zu",
                             static_cast<unsigned>(polynomial.inputs + polynomial.outputs),
                             args.size());
    const ssize_t count =
        args.size() == 0 || !args[0]->isTensor() ? 0 : args[0]->toTensor().numel();
    for (EValue* const arg : args) {
      const bool fits = arg->isTensor() && arg->toTensor().scalar_type() == ScalarType::Float &&
                        arg->toTensor().numel() == count;
      ET_CHECK_OR_RETURN_ERROR(fits, InvalidArgument,
                               "PolynomialBackend: expected float tensors of one size");
    }
    for (ssize_t at = 0; at < count; ++at) {
      float values[kMaxValues];
      for (uint32_t i = 0; i < polynomial.inputs; ++i) {
        values[i] = args[i]->toTensor().const_data_ptr<float>()[at];
      }
      for (uint32_t i = 0; i < polynomial.steps; ++i) {
        const Step step = polynomial.step(i);
        const float a = values[step.a], b = values[step.b];
        values[polynomial.inputs + i] = step.operation == 0 ? a + b : a * b;
      }
      for (uint32_t i = 0; i < polynomial.outputs; ++i) {
        args[polynomial.inputs + i]->toTensor().mutable_data_ptr<float>()[at] =
            values[polynomial.output(i)];
      }
    }
    return Error::Ok;
  }
};

PolynomialBackend g_backend;
[[maybe_unused]] const Error g_registered = register_backend({"PolynomialBackend", &g_backend});

}  // namespace
