// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// AsrRunner, under another documented name.
#pragma once

#include <executorch/extension/asr/runner/runner.h>

namespace executorch::extension::asr {
using Seq2SeqRunner = AsrRunner;
using Seq2SeqTranscribeConfig = AsrTranscribeConfig;
}  // namespace executorch::extension::asr
