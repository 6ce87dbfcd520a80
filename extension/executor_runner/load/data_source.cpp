// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/executor_runner/load/data_source.h>

#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/executor_runner/report/failure.h>
#include <executorch/extension/signature/signed_files.h>
#include <executorch/extension/signature/verified_data_loader.h>

namespace executorch::extension::executor_runner {

using signature::SignedFiles;
using signature::VerifiedDataLoader;

std::unique_ptr<runtime::DataLoader> open_data(const Options& options, const std::string& path) {
  if (options.signature.empty()) {
    return std::make_unique<MmapDataLoader>(
        require(MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock),
                "cannot read '" + path + "'"));
  }
  const SignedFiles files =
      require(SignedFiles::open(options.signature.c_str(), options.public_key.c_str()), "--verify");
  const std::string failure = "'" + path + "' is not what was signed";
  return std::make_unique<VerifiedDataLoader>(require(
      VerifiedDataLoader::from(path.c_str(), require(files.digest_of(path), failure)), failure));
}

}  // namespace executorch::extension::executor_runner
