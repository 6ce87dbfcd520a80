// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Features of a run, for a driver without instrumented code: logged messages, and features that
// targets report. The driver keeps inputs with new features.
#pragma once

#include <stdint.h>

#include <vector>

namespace executorch::fuzz {

/// Initializes the runtime, and makes each place that logs a feature. Targets call it first;
/// further calls do nothing.
void start();

void note_feature(uint64_t feature);

/// The features since the last call.
std::vector<uint64_t> take_features();

}  // namespace executorch::fuzz
