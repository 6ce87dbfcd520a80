// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// run_encrypted PROGRAM KEY: decrypts a program with the 32 bytes in the file KEY, and runs it.
#include <stdio.h>

#include <memory>

#include "decrypting_data_loader.h"
#include "print_outputs.h"

using executorch::extension::FileDataLoader;
using executorch::extension::Module;

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "expected PROGRAM KEY\n");
    return 2;
  }
  Key key;
  const auto file = FileDataLoader::from(argv[2]);
  if (!file.ok() ||
      file->load_into(0, key.size(), {}, key.data()) != executorch::runtime::Error::Ok) {
    return 1;
  }
  auto loader = DecryptingDataLoader::from(argv[1], key);
  if (!loader.ok()) return 1;
  Module module(std::make_unique<DecryptingDataLoader>(std::move(*loader)));
  return print_outputs(module);
}
