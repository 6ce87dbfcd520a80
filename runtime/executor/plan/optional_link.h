// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

/// Marks a declaration that is defined in the same binary or nowhere. Its address is null if it is
/// not linked in.
///
/// Hidden visibility saves a dynamic symbol for each declaration. Position-independent code does
/// not use it, because gold gives such a declaration the address of the binary's first byte, not
/// null.
#if defined(__GNUC__) && !defined(__PIC__)
#define ET_OPTIONAL_LINK __attribute__((weak, visibility("hidden")))
#elif defined(__GNUC__)
#define ET_OPTIONAL_LINK __attribute__((weak))
#else
#define ET_OPTIONAL_LINK
#endif
