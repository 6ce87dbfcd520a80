// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch::testing {

/// Kernels for test programs, registered as users' kernels are:
///   test::add.out(a, b, out)          out = a + b; InvalidArgument for different element counts
///   test::scale.out(a, factor, out)   out = a * factor, resized like a
///   test::fill.out(sizes, out)        out resized to the int list, and filled with its product
///   test::fail.out(a, out)            NotSupported, unless the switch below is off
///   test::temp.out(a, size, out)      takes `size` bytes of temporary memory, out = a
///   test::count.int(out)              out += 1
runtime::Span<const runtime::Kernel> test_kernels();

/// True makes test::fail.out fail.
extern bool fail_switch;

}  // namespace executorch::testing
