// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The mutation of targets whose inputs are programs.
#include <string.h>

#include "fuzz/program/mutate_program.h"
#include "fuzz/program/program_values.h"

namespace executorch::fuzz {

size_t mutate_input(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Random random(seed);
  const ProgramInput input = split_input({data, size});
  auto program = random.one_in(6) ? std::nullopt : read_program(input.file);
  if (!program.has_value()) {
    program = generate_program(random);
  }
  mutate(*program, random);
  if (!random.one_in(4)) {
    separate_planned(*program);
  }
  const std::vector<uint8_t> bytes = join_input(*program, random.next() | 1);
  if (bytes.size() > max_size) {
    return size;
  }
  memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace executorch::fuzz
