// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Facts about the operating system that only diagnostics use.
#pragma once

#if defined(ET_USE_LIBDL)
#include <dlfcn.h>
#endif

/// Error values of et_pal_get_shared_library_name().
inline constexpr const char* DYNAMIC_LIBRARY_NOT_SUPPORTED = "NOT_SUPPORTED";
inline constexpr const char* DYNAMIC_LIBRARY_NOT_FOUND = "NOT_FOUND";

extern "C" {

/// The path of the shared library that holds `addr`; valid while the library is loaded. Needs a
/// build with ET_USE_LIBDL, else DYNAMIC_LIBRARY_NOT_SUPPORTED.
inline const char* et_pal_get_shared_library_name([[maybe_unused]] const void* addr) {
#if defined(ET_USE_LIBDL)
  Dl_info info;
  const bool is_known = dladdr(addr, &info) != 0 && info.dli_fname != nullptr;
  return is_known ? info.dli_fname : DYNAMIC_LIBRARY_NOT_FOUND;
#else
  return DYNAMIC_LIBRARY_NOT_SUPPORTED;
#endif
}

}  // extern "C"
