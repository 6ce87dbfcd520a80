// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <string.h>

#include <executorch/runtime/backend/options.h>

namespace executorch::runtime {

/// The options to load a program with, for each backend by name; at most 8 backends. The options
/// are views: they must outlive the map.
class LoadBackendOptionsMap final {
 public:
  struct EntryView {
    const char* backend_id = nullptr;
    Span<const BackendOption> options;
  };

  /// Sets the options of one backend, replacing earlier ones. InvalidArgument if the name is empty
  /// or too long, or the map is full.
  Error set_options(const char* backend_id, Span<BackendOption> options) {
    const size_t length = backend_id == nullptr ? 0 : strlen(backend_id);
    ET_CHECK_OR_RETURN_ERROR(length > 0 && length < kMaxBackendIdLength, InvalidArgument,
                             "a backend's name has 1 to %zu characters, this one %zu",
                             kMaxBackendIdLength - 1, length);
    Entry* entry = const_cast<Entry*>(find(backend_id));
    if (entry == nullptr) {
      ET_CHECK_OR_RETURN_ERROR(size_ < kMaxBackends, InvalidArgument,
                               "options of %s: there are %zu backends already", backend_id, size_);
      entry = &entries_[size_++];
      memcpy(entry->backend_id, backend_id, length + 1);
    }
    entry->options = options;
    return Error::Ok;
  }
  /// The same from an object with backend_id() and view().
  template <typename Builder>
  Error set_options(Builder& builder) {
    return set_options(builder.backend_id(), builder.view());
  }

  /// Empty if there are none.
  Span<const BackendOption> get_options(const char* backend_id) const {
    const Entry* entry = find(backend_id);
    return entry == nullptr ? Span<const BackendOption>() : entry->options;
  }
  bool has_options(const char* backend_id) const { return find(backend_id) != nullptr; }

  size_t size() const { return size_; }
  EntryView entry_at(size_t index) const {
    ET_CHECK_MSG(index < size_, "entry %zu of %zu", index, size_);
    return {entries_[index].backend_id, entries_[index].options};
  }

 private:
  static constexpr size_t kMaxBackends = 8;
  static constexpr size_t kMaxBackendIdLength = 64;

  struct Entry {
    char backend_id[kMaxBackendIdLength];
    Span<const BackendOption> options;
  };

  const Entry* find(const char* backend_id) const {
    for (size_t i = 0; backend_id != nullptr && i < size_; ++i) {
      if (strcmp(entries_[i].backend_id, backend_id) == 0) {
        return &entries_[i];
      }
    }
    return nullptr;
  }

  Entry entries_[kMaxBackends]{};
  size_t size_ = 0;
};

}  // namespace executorch::runtime
