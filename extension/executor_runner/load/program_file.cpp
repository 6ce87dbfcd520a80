// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/executor_runner/load/program_file.h>

#include <algorithm>

#include <executorch/extension/executor_runner/load/data_source.h>
#include <executorch/extension/executor_runner/report/failure.h>

namespace executorch::extension::executor_runner {

using bundled_program::Bundle;
using runtime::Span;

ProgramFile::ProgramFile(const Options& options) : file_(open_data(options, options.model_path)) {
  const std::string cannot_read = "cannot read '" + options.model_path + "'";
  const size_t size = require(file_->size(), cannot_read);
  const runtime::DataLoader::SegmentInfo segment(runtime::DataLoader::SegmentInfo::Type::Program);
  constexpr size_t kHeader = 8;  // the size and the identifier of a bundle
  bytes_ = require(file_->load(0, std::min(size, kHeader), segment), cannot_read);
  const bool is_bundle =
      Bundle::is_bundle({static_cast<const uint8_t*>(bytes_.data()), bytes_.size()});
  bytes_.Free();
  if (!is_bundle && !options.bundled) {
    return;
  }
  if (!options.inputs.empty() || !options.input_shapes.empty() || !options.output_file.empty()) {
    fail("'" + options.model_path +
         "' is a bundled program, which has its inputs and expected outputs: neither --inputs, "
         "--input_shapes nor --output_file goes with it; see --help");
  }
  if (size > INT32_MAX) {  // before allocating: the file may be sparse
    fail("'" + options.model_path + "' is a bundled program of " + std::to_string(size) +
         " bytes, expected at most " + std::to_string(INT32_MAX));
  }
  bytes_ = require(file_->load(0, size, segment), cannot_read);
  const Span<const uint8_t> bytes{static_cast<const uint8_t*>(bytes_.data()), bytes_.size()};
  bundle_.emplace(require(Bundle::open(bytes), "cannot load '" + options.model_path + "'"));
  bundled_loader_.emplace(bundle_->program().data(), bundle_->program().size());
}

}  // namespace executorch::extension::executor_runner
