// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Standard headers that every public header of ExecuTorch 1.4 brings. Kernels and programs rely on
// it: they call std::memcpy or printf and include no header for it. This project's own sources are
// compiled with EXECUTORCH_OWN_SOURCES: they include what they use, and compile faster.
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
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>
#endif
