// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

/// Marks a declaration that is defined in the same binary or nowhere. Its address is null if it is
/// not linked in. The linker resolves it without a dynamic symbol.
#if defined(__GNUC__)
#define ET_OPTIONAL_LINK __attribute__((weak, visibility("hidden")))
#else
#define ET_OPTIONAL_LINK
#endif
