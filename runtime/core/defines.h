// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Build switches that change the declarations of public headers.
//
//   ET_ENABLE_ENUM_STRINGS      tag_to_string(Tag) (default 1)
//   ET_EVENT_TRACER_DISABLED    the executor reports no events to EventTracers (default: undefined)
//   USE_ATEN_LIB                the tensor type is at::Tensor (default: undefined)
#pragma once

#ifndef ET_ENABLE_ENUM_STRINGS
#define ET_ENABLE_ENUM_STRINGS 1
#endif
