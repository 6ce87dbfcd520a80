// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Standard headers that every public header of ExecuTorch 1.4 brings. Kernels and programs rely on
// it: they call std::memcpy or printf and include no header for it. This project's own sources
// include all headers that they need. They define EXECUTORCH_OWN_SOURCES, which saves compile time.
#pragma once

#if !defined(EXECUTORCH_OWN_SOURCES) && __STDC_HOSTED__
#include <algorithm>
#include <cassert>
#include <cctype>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <complex>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>
#endif
