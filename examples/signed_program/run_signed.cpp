// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// run_signed PROGRAM SIGNATURE KEY: runs a program only if the owner of the key has signed it.
#include <stdio.h>

#include <memory>

#include <executorch/extension/signature/signed_files.h>
#include <executorch/extension/signature/verified_data_loader.h>

#include "print_outputs.h"

using executorch::extension::Module;
using executorch::extension::signature::SignedFiles;
using executorch::extension::signature::VerifiedDataLoader;

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "expected PROGRAM SIGNATURE KEY\n");
    return 2;
  }
  // The log names the cause: another key, a changed signature, another file.
  const auto files = SignedFiles::open(argv[2], argv[3]);
  if (!files.ok()) return 1;
  const auto digest = files->digest_of(argv[1]);
  if (!digest.ok()) return 1;
  auto loader = VerifiedDataLoader::from(argv[1], *digest);
  if (!loader.ok()) return 1;
  Module module(std::make_unique<VerifiedDataLoader>(std::move(*loader)));
  return print_outputs(module);
}
