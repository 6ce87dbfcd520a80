// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/program/thread_pools.h>

#include <string>

#include <executorch/extension/pybindings/interpreter/raise.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

using runtime::Error;
using threadpool::ThreadPool;

// Guards against a mistyped number that would start a million threads.
constexpr int64_t kMaxThreads = 4096;

[[noreturn]] void refuse(int64_t count) {
  raise_error(Error::NotSupported,
              "there cannot be " + std::to_string(count) +
                  " threads: the runtime was built without XNNPACK's thread pool, or the system "
                  "gives no more");
}

std::shared_ptr<ThreadPool> with_all_threads(std::shared_ptr<ThreadPool> pool, int64_t count) {
  if (pool == nullptr) {
    raise_error(Error::MemoryAllocationFailed, "no memory for a thread pool");
  }
  if (pool->get_thread_count() != static_cast<size_t>(count)) {
    refuse(count);
  }
  return pool;
}

std::shared_ptr<ThreadPool> new_pool(std::optional<int64_t> count) {
  if (!count.has_value()) {
    return std::make_shared<ThreadPool>();
  }
  check_thread_count(*count);
  return with_all_threads(std::make_shared<ThreadPool>(static_cast<size_t>(*count)), *count);
}

void reset_default_pool(int64_t count) {
  if (count != 0) {
    check_thread_count(count);
  }
  if (!threadpool::default_threadpool()->_unsafe_reset_threadpool(static_cast<uint32_t>(count))) {
    refuse(count);
  }
}

}  // namespace

void check_thread_count(int64_t count) {
  if (count < 1 || count > kMaxThreads) {
    raise_error(Error::InvalidArgument, "expected from 1 to " + std::to_string(kMaxThreads) +
                                            " threads, found " + std::to_string(count));
  }
}

std::shared_ptr<ThreadPool> pool_of(const ThreadChoice& choice) {
  if (!choice.has_value()) {
    return nullptr;
  }
  if (const int64_t* count = std::get_if<int64_t>(&*choice)) {
    check_thread_count(*count);
    return with_all_threads(ThreadPool::of_size(static_cast<size_t>(*count)), *count);
  }
  return std::get<std::shared_ptr<ThreadPool>>(*choice);
}

void bind_thread_pools(py::module_& module) {
  py::class_<ThreadPool, std::shared_ptr<ThreadPool>>(
      module, "ThreadPool", py::module_local(),
      "Threads that methods run on. Methods on one pool take turns with it, so that no more "
      "threads run than it has; methods on different pools run at once.")
      .def(py::init(&new_pool), py::arg("num_threads") = py::none())
      .def_property_readonly("num_threads", &ThreadPool::get_thread_count);
  module.def("_threadpool_get_thread_count",
             [] { return threadpool::default_threadpool()->get_thread_count(); });
  module.def("_unsafe_reset_threadpool", reset_default_pool, py::arg("num_threads"));
}

}  // namespace executorch::extension::pybindings
