// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Features of a run, for a driver without instrumented code: logged messages, and features that
// targets report. The driver keeps inputs with new features.
#pragma once

#include <stdint.h>

#include <vector>

namespace executorch::fuzz {

/// Initializes the runtime, and sends log messages to note_feature(): each place that logs is one.
/// The first thing that a target does; further calls do nothing.
void start();

void note_feature(uint64_t feature);

/// The features since the last call.
std::vector<uint64_t> take_features();

}  // namespace executorch::fuzz
