// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/kernel/kernel_list.h>
#include <executorch/runtime/kernel/kernel_source.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <string.h>

#ifndef MAX_KERNEL_NUM
#define MAX_KERNEL_NUM 256
#endif

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace {

constexpr size_t kMaxKernels = MAX_KERNEL_NUM;
constexpr size_t kMaxTables = 16;

struct Table {
  Span<const Kernel> kernels;
  // Constant initial values make g_tables constant-initialized. A constructor would run after some
  // static registrars and erase their tables.
  KernelPriority priority = KernelPriority::Default;
  /// Sorted by name, so that bisection finds a name.
  bool sorted = false;
};

// Storage without a constructor, because static registrars of other files may run first. Only
// register_kernels() uses it, so the linker drops it from programs that pass their own tables.
alignas(Kernel) unsigned char g_kernel_storage[kMaxKernels * sizeof(Kernel)];
const Kernel* g_kernels = nullptr;
size_t g_num_kernels = 0;
Table g_tables[kMaxTables];
size_t g_num_tables = 0;
#ifdef USE_ATEN_LIB
KernelSource g_kernel_source = nullptr;
#endif

Span<const Kernel> copied_kernels() { return {g_kernels, g_num_kernels}; }

bool is_sorted(Span<const Kernel> kernels) {
  for (size_t i = 1; i < kernels.size(); ++i) {
    if (strcmp(kernels[i - 1].name_, kernels[i].name_) > 0) {
      return false;
    }
  }
  return true;
}

/// The part of a sorted table whose kernels have this name.
Span<const Kernel> named(Span<const Kernel> kernels, const char* name) {
  size_t begin = 0;
  size_t end = kernels.size();
  while (begin < end) {  // lower bound of `name`
    const size_t middle = begin + (end - begin) / 2;
    if (strcmp(kernels[middle].name_, name) < 0) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  while (end < kernels.size() && strcmp(kernels[end].name_, name) == 0) {
    ++end;
  }
  return {kernels.data() + begin, end - begin};
}

/// A part of the list that contains all its kernels with this name, possibly among others.
Span<const Kernel> possible(Span<const Kernel> kernels, bool sorted, const char* name) {
  return sorted ? named(kernels, name) : kernels;
}

/// Search key of find_kernel().
class Query final {
 public:
  Query(const char* name, Span<const TensorMeta> tensors) : name_(name), tensors_(tensors) {}

  const char* name() const { return name_; }

  bool names(const Kernel& kernel) const { return strcmp(kernel.name_, name_) == 0; }

  bool specialized_by(const Kernel& kernel) const {
    return !kernel.kernel_key_.is_fallback() && !tensors_.empty() && has_key(kernel);
  }

 private:
  // Most operators lack keys, so only this function reserves stack space for one.
  ET_NOINLINE bool has_key(const Kernel& kernel) const {
    char key[internal::kKernelKeyBufSize];
    return internal::make_kernel_key_string(tensors_, key, sizeof(key)) == Error::Ok &&
           strcmp(kernel.kernel_key_.data(), key) == 0;
  }

  const char* name_;
  Span<const TensorMeta> tensors_;
};

/// The best kernels seen so far.
struct Candidates {
  const Kernel* specialized = nullptr;
  const Kernel* fallback = nullptr;

  const Kernel* best() const { return specialized != nullptr ? specialized : fallback; }

  void search(Span<const Kernel> kernels, const Query& query) {
    for (const Kernel& kernel : kernels) {
      if (!query.names(kernel)) {
        continue;
      }
      if (specialized == nullptr && query.specialized_by(kernel)) {
        specialized = &kernel;
      } else if (fallback == nullptr && kernel.kernel_key_.is_fallback()) {
        fallback = &kernel;
      }
    }
  }

  void look_in_tables(KernelPriority priority, const Query& query) {
    for (size_t i = 0; i < g_num_tables; ++i) {
      const Table& table = g_tables[i];
      if (table.priority == priority) {
        search(possible(table.kernels, table.sorted, query.name()), query);
      }
    }
  }
};

bool same(const Kernel& a, const Kernel& b) {
  return strcmp(a.name_, b.name_) == 0 && a.kernel_key_ == b.kernel_key_;
}

bool contains(Span<const Kernel> kernels, const Kernel& kernel) {
  for (const Kernel& other : kernels) {
    if (same(other, kernel)) {
      return true;
    }
  }
  return false;
}

bool is_registered(const Kernel& kernel, KernelPriority priority) {
  for (size_t i = 0; i < g_num_tables; ++i) {
    const Table& table = g_tables[i];
    if (table.priority == priority &&
        contains(possible(table.kernels, table.sorted, kernel.name_), kernel)) {
      return true;
    }
  }
  return priority == KernelPriority::Default && contains(copied_kernels(), kernel);
}

/// Ok if every kernel is complete and new.
Error check_new(Span<const Kernel> kernels, KernelPriority priority, bool sorted) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Kernel& kernel = kernels[i];
    const Span<const Kernel> before = possible({kernels.data(), i}, sorted, kernel.name_);
    ET_CHECK_OR_RETURN_ERROR(!contains(before, kernel) && !is_registered(kernel, priority),
                             RegistrationAlreadyRegistered,
                             "kernel %s (key %s) is registered already: nothing of its library "
                             "(%zu kernels, the first %s) is registered",
                             kernel.name_,
                             kernel.kernel_key_.is_fallback() ? "none" : kernel.kernel_key_.data(),
                             kernels.size(), kernels[0].name_);
  }
  return Error::Ok;
}

Error check_complete(Span<const Kernel> kernels) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    ET_CHECK_OR_RETURN_ERROR(kernels[i].name_ != nullptr && kernels[i].op_ != nullptr,
                             InvalidArgument, "kernel %zu of %zu lacks a name or a function", i,
                             kernels.size());
  }
  return Error::Ok;
}

}  // namespace

Error register_kernels(Span<const Kernel> kernels) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_complete(kernels));
  ET_CHECK_OK_OR_RETURN_ERROR(check_new(kernels, KernelPriority::Default, /*sorted=*/false));
  ET_CHECK_OR_RETURN_ERROR(kernels.size() <= kMaxKernels - g_num_kernels,
                           RegistrationExceedingMaxKernels,
                           "%zu kernels more than the %zu there are, room is for %zu: define "
                           "MAX_KERNEL_NUM larger, or use register_kernel_table()",
                           kernels.size(), g_num_kernels, kMaxKernels);
  g_kernels = reinterpret_cast<const Kernel*>(g_kernel_storage);
  for (const Kernel& kernel : kernels) {
    new (g_kernel_storage + g_num_kernels * sizeof(Kernel)) Kernel(kernel);
    ++g_num_kernels;
  }
  return Error::Ok;
}

Error register_kernel_table(Span<const Kernel> table, KernelPriority priority) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_complete(table));
  const bool sorted = is_sorted(table);
  ET_CHECK_OK_OR_RETURN_ERROR(check_new(table, priority, sorted));
  ET_CHECK_OR_RETURN_ERROR(g_num_tables < kMaxTables, RegistrationExceedingMaxKernels,
                           "there are %zu kernel tables already", g_num_tables);
  g_tables[g_num_tables++] = {table, priority, sorted};
  return Error::Ok;
}

#ifdef USE_ATEN_LIB
void set_kernel_source(KernelSource source) { g_kernel_source = source; }
#endif

Result<const Kernel*> find_kernel(const char* name, Span<const TensorMeta> meta_list) {
  if (name == nullptr) {
    return Error::OperatorMissing;
  }
  const Query query(name, meta_list);
  Candidates candidates;
  candidates.look_in_tables(KernelPriority::Override, query);
  candidates.look_in_tables(KernelPriority::Preferred, query);
  candidates.search(copied_kernels(), query);
  candidates.look_in_tables(KernelPriority::Default, query);
#ifdef USE_ATEN_LIB
  if (candidates.best() == nullptr && g_kernel_source != nullptr) {
    candidates.fallback = g_kernel_source(name);
  }
#endif
  if (candidates.best() == nullptr) {
    return Error::OperatorMissing;
  }
  return candidates.best();
}

bool registry_has_op_function(const char* name, Span<const TensorMeta> meta_list) {
  return find_kernel(name, meta_list).ok();
}

Result<OpFunction> get_op_function_from_registry(const char* name,
                                                 Span<const TensorMeta> meta_list) {
  const Kernel* const kernel =
      ET_UNWRAP(find_kernel(name, meta_list), "no kernel is registered for operator %s", name);
  return kernel->op_;
}

Result<OpFunction> get_op_function_from_registry(const char* name, Span<const TensorMeta> meta_list,
                                                 Span<const Kernel> kernel_list) {
  const Kernel* const kernel = internal::find_in_list(name, meta_list, kernel_list);
  ET_CHECK_OR_RETURN_ERROR(kernel != nullptr, OperatorMissing,
                           "no kernel of the list is for operator %s", name);
  return kernel->op_;
}

const Kernel* internal::find_in_list(const char* name, Span<const TensorMeta> meta_list,
                                     Span<const Kernel> kernel_list) {
  Candidates candidates;
  candidates.search(kernel_list, Query(name, meta_list));
  return candidates.best();
}

bool internal::have_keys(Span<const Kernel> kernels) {
  for (const Kernel& kernel : kernels) {
    if (!kernel.kernel_key_.is_fallback()) {
      return true;
    }
  }
  return false;
}

bool internal::registered_kernels_have_keys() {
  for (size_t i = 0; i < g_num_tables; ++i) {
    if (have_keys(g_tables[i].kernels)) {
      return true;
    }
  }
  return have_keys(copied_kernels());
}

size_t registered_kernel_count() {
  size_t count = g_num_kernels;
  for (size_t i = 0; i < g_num_tables; ++i) {
    count += g_tables[i].kernels.size();
  }
  return count;
}

const Kernel& registered_kernel(size_t index) {
  if (index < g_num_kernels) {
    return copied_kernels()[index];
  }
  index -= g_num_kernels;
  for (size_t i = 0; i < g_num_tables; ++i) {
    if (index < g_tables[i].kernels.size()) {
      return g_tables[i].kernels[index];
    }
    index -= g_tables[i].kernels.size();
  }
  ET_LOG(Fatal, "there are only %zu kernels", registered_kernel_count());
  executorch::runtime::runtime_abort();
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
