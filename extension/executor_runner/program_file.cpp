// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/executor_runner/program_file.h>

#include <algorithm>

#include <executorch/extension/executor_runner/failure.h>

namespace executorch::extension::executor_runner {

using bundled_program::Bundle;
using runtime::Span;

ProgramFile::ProgramFile(const Options& options)
    : file_(require(
          MmapDataLoader::from(options.model_path.c_str(), MmapDataLoader::MlockConfig::NoMlock),
          "cannot read '" + options.model_path + "'")) {
  const std::string cannot_read = "cannot read '" + options.model_path + "'";
  const size_t size = require(file_.size(), cannot_read);
  const size_t head = std::min<size_t>(size, 8);
  bytes_ = require(
      file_.load(0, options.bundled ? size : head,
                 runtime::DataLoader::SegmentInfo(runtime::DataLoader::SegmentInfo::Type::Program)),
      cannot_read);
  const Span<const uint8_t> bytes{static_cast<const uint8_t*>(bytes_.data()), bytes_.size()};
  if (!options.bundled) {
    if (Bundle::is_bundle(bytes)) {
      fail("'" + options.model_path + "' is a bundled program: --bundled runs its test cases");
    }
    bytes_.Free();
    return;
  }
  bundle_.emplace(require(Bundle::open(bytes), "cannot load '" + options.model_path + "'"));
  bundled_loader_.emplace(bundle_->program().data(), bundle_->program().size());
}

}  // namespace executorch::extension::executor_runner
