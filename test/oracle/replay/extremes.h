// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstddef>
#include <functional>

#include "replay/recorded_call.h"

namespace oracle {

/// Calls `run` for each change of the call in turn: every integer, pair of integers and real number
/// at the limits of their types, every tensor of each other dtype and filled with such numbers,
/// every argument absent.
void each_extreme(const Call& call, const std::function<void(Call)>& run);

}  // namespace oracle
