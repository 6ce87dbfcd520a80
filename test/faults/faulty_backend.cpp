// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "faults/faulty_backend.h"

#include <deque>
#include <fstream>
#include <iterator>
#include <vector>

#include <executorch/runtime/backend/interface.h>

#include "faults/fault_points.h"
#include "fuzz/program/program_values.h"

namespace executorch::testing {
namespace {

using runtime::BackendExecutionContext;
using runtime::BackendInitContext;
using runtime::CompileSpec;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;

constexpr char kPrefix[] = "Faulty";

class FaultyBackend final : public runtime::BackendInterface {
 public:
  explicit FaultyBackend(const runtime::BackendInterface& real) : real_(real) {}

  [[nodiscard]] bool is_available() const override { return real_.is_available(); }
  [[nodiscard]] Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                                             runtime::ArrayRef<CompileSpec> specs) const override {
    if (faults::fails(faults::Kind::Delegate, "init")) {
      return Error::DelegateInvalidCompatibility;
    }
    return real_.init(context, processed, specs);
  }
  [[nodiscard]] Error execute(BackendExecutionContext& context, DelegateHandle* handle,
                              Span<EValue*> args) const override {
    return faults::fails(faults::Kind::Delegate, "execute") ? Error::DelegateInvalidHandle
                                                            : real_.execute(context, handle, args);
  }
  void destroy(DelegateHandle* handle) const override { real_.destroy(handle); }

 private:
  const runtime::BackendInterface& real_;
};

}  // namespace

Error register_faulty_backend(const char* name) {
  // The registry keeps pointers to names and backends.
  static std::deque<std::string> names;
  static std::deque<FaultyBackend> backends;
  const runtime::BackendInterface* real = runtime::get_backend_class(name);
  if (real == nullptr) {
    return Error::NotFound;
  }
  names.push_back(std::string(kPrefix) + name);
  backends.emplace_back(*real);
  return runtime::register_backend({names.back().c_str(), &backends.back()});
}

std::string with_faulty_delegates(const std::string& path, const std::string& folder) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  auto program = fuzz::read_program({bytes.data(), bytes.size()});
  if (!program.has_value()) {
    return path;
  }
  for (TestPlan& plan : program->plans) {
    for (TestDelegate& delegate : plan.delegates) {
      delegate.id = kPrefix + delegate.id;
    }
  }
  const ProgramFile changed(*program);
  const std::string copy_path = folder + "/" + path.substr(path.rfind('/') + 1);
  std::ofstream(copy_path, std::ios::binary)
      .write(reinterpret_cast<const char*>(changed.data()),
             static_cast<std::streamsize>(changed.size()));
  return copy_path;
}

}  // namespace executorch::testing
