// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/backend_options.h>

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mutex>

#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using kernels::engine::Precision;
using runtime::BackendOption;
using runtime::Error;
using runtime::Result;
using runtime::Span;

namespace {

struct Process {
  std::mutex mutex;
  Settings settings;
};

Process& process() {
  static auto* one = new Process();
  return *one;
}

bool is_called(const BackendOption& option, const char* key) {
  return strncmp(option.key, key, runtime::kMaxOptionKeyLength) == 0;
}

template <typename T>
Error read(const BackendOption& option, const char* kind, T& value) {
  const Error error = runtime::internal::read_option(option, value);
  ET_CHECK_OR_RETURN_ERROR(error == Error::Ok, InvalidArgument, "xnnpack: option %s is %s",
                           option.key, kind);
  return error;
}

/// A number of bytes: an int, or digits.
Error read_bytes(const BackendOption& option, size_t& bytes) {
  int number = 0;
  const char* digits = "";
  if (runtime::internal::read_option(option, number) == Error::Ok && number >= 0) {
    bytes = static_cast<size_t>(number);
    return Error::Ok;
  }
  const bool is_text = runtime::internal::read_option(option, digits) == Error::Ok;
  char* end = nullptr;
  errno = 0;
  const unsigned long long read = strtoull(digits, &end, 10);
  ET_CHECK_OR_RETURN_ERROR(is_text && digits[0] >= '0' && digits[0] <= '9' && *end == '\0' &&
                               errno == 0 && read <= SIZE_MAX,
                           InvalidArgument,
                           "xnnpack: option %s is a number of bytes, an int or text of digits; "
                           "found '%s'",
                           option.key, is_text ? digits : "another type, or a negative number");
  bytes = static_cast<size_t>(read);
  return Error::Ok;
}

Error set_all(Span<const BackendOption> options, Settings& settings) {
  for (const BackendOption& option : options) {
    ET_CHECK_OK_OR_RETURN_ERROR(settings.set(option));
  }
  return Error::Ok;
}

constexpr char kFloat32[] = "fp32", kBfloat16[] = "bf16";

const char* name_of(Precision precision) {
  return precision == Precision::BFloat16 ? kBfloat16 : kFloat32;
}

}  // namespace

Result<Precision> precision_named(std::string_view name, const char* where) {
  if (name == kBfloat16) {
    return Precision::BFloat16;
  }
  ET_CHECK_OR_RETURN_ERROR(name == kFloat32, InvalidArgument,
                           "xnnpack: %s is fp32 or bf16, found '%.*s'", where,
                           static_cast<int>(name.size()), name.data());
  return Precision::Float32;
}

Error Settings::set(const BackendOption& option) {
  if (is_called(option, workspace_sharing_mode_option_key)) {
    int mode = 0;
    ET_CHECK_OK_OR_RETURN_ERROR(read(option, "an int", mode));
    ET_CHECK_OR_RETURN_ERROR(mode >= 0 && mode < static_cast<int>(WorkspaceSharingMode::Count),
                             InvalidArgument, "xnnpack: option %s is 0, 1 or 2, not %d", option.key,
                             mode);
    sharing = static_cast<WorkspaceSharingMode>(mode);
    return Error::Ok;
  }
  if (is_called(option, weight_cache_option_key)) {
    return read(option, "a bool", caches_weights);
  }
  if (is_called(option, compute_precision_option_key)) {
    const char* name = nullptr;
    ET_CHECK_OK_OR_RETURN_ERROR(read(option, "a text", name));
    precision.reset();
    if (*name != '\0') {
      precision = ET_UNWRAP(precision_named(name, "option compute_precision"));
    }
    return Error::Ok;
  }
  if (is_called(option, max_workspace_bytes_option_key)) {
    size_t bytes = 0;
    ET_CHECK_OK_OR_RETURN_ERROR(read_bytes(option, bytes));
    max_workspace_bytes = bytes;
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(is_called(option, packed_cache_path_option_key), NotFound,
                           "xnnpack: unknown option %.*s",
                           static_cast<int>(runtime::kMaxOptionKeyLength), option.key);
  const char* path = nullptr;
  ET_CHECK_OK_OR_RETURN_ERROR(read(option, "a text", path));
  cache_path = path;
  return Error::Ok;
}

Error Settings::get(BackendOption& option) const {
  if (is_called(option, workspace_sharing_mode_option_key)) {
    option.value = static_cast<int>(sharing);
    return Error::Ok;
  }
  if (is_called(option, weight_cache_option_key)) {
    option.value = caches_weights;
    return Error::Ok;
  }
  std::array<char, runtime::kMaxOptionValueLength> text{};
  if (is_called(option, max_workspace_bytes_option_key)) {
    const size_t limit = workspace_limit();
    if (limit <= INT_MAX) {
      option.value = static_cast<int>(limit);
      return Error::Ok;
    }
    snprintf(text.data(), text.size(), "%zu", limit);
  } else if (is_called(option, compute_precision_option_key)) {
    const std::string_view name = precision ? name_of(*precision) : "";
    name.copy(text.data(), text.size() - 1);
  } else if (is_called(option, packed_cache_path_option_key)) {
    cache_path.copy(text.data(), text.size() - 1);
  } else {
    return Error::NotFound;
  }
  option.value = text;
  return Error::Ok;
}

Settings current_settings() {
  const std::lock_guard<std::mutex> lock(process().mutex);
  return process().settings;
}

Error change_settings(Span<BackendOption> options) {
  const std::lock_guard<std::mutex> lock(process().mutex);
  Settings changed = process().settings;
  ET_CHECK_OK_OR_RETURN_ERROR(set_all({options.data(), options.size()}, changed));
  process().settings = changed;
  return Error::Ok;
}

Result<Settings> settings_with(Span<const BackendOption> options) {
  Settings settings = current_settings();
  ET_CHECK_OK_OR_RETURN_ERROR(set_all(options, settings));
  return settings;
}

}  // namespace executorch::backends::xnnpack
