// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include <executorch/extension/threadpool/threadpool.h>

namespace executorch::extension::pybindings {

/// Threads as Python specifies them: a pool, a number of threads, or nothing.
using ThreadChoice = std::optional<std::variant<std::shared_ptr<threadpool::ThreadPool>, int64_t>>;

/// Returns the pool for `choice`, or null without one. Raises InvalidArgumentError for less than
/// one thread, NotSupportedError for more threads than this runtime supports.
std::shared_ptr<threadpool::ThreadPool> pool_of(const ThreadChoice& choice);

/// Raises InvalidArgumentError for less than one thread or more than a system has.
void check_thread_count(int64_t count);

/// Binds ThreadPool and the documented functions on the default pool.
void bind_thread_pools(pybind11::module_& module);

}  // namespace executorch::extension::pybindings
