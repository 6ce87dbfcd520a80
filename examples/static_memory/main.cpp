// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Runs a program without a heap, in buffers of exactly the sizes that export wrote to a header: a
// fast one of at most 64 KiB, a slow one for the rest.
//
//   run_static digits.pte            runs it on ones and prints the outputs
//   run_static digits.pte method     the same with one byte less for the method (or fast, slow,
//                                    temp, program)
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include MEMORY_HEADER

using namespace executorch::runtime;

// The linker places the two planned buffers: on a microcontroller, in separate sections. The
// program would be a constant in flash.
static_assert(DIGITS_FORWARD_PLANNED_BUFFERS == 2, "exported with --fast-memory 65536");
static_assert(DIGITS_FORWARD_PLANNED_BYTES_0 <= 64 * 1024, "the size of the fast memory");
alignas(DIGITS_PLANNED_ALIGNMENT) uint8_t fast[DIGITS_FORWARD_PLANNED_BYTES_0];
alignas(DIGITS_PLANNED_ALIGNMENT) uint8_t slow[DIGITS_FORWARD_PLANNED_BYTES_1];
alignas(DIGITS_METHOD_ALIGNMENT) uint8_t for_method[DIGITS_FORWARD_METHOD_BYTES];
alignas(DIGITS_TEMP_ALIGNMENT) uint8_t temp[DIGITS_FORWARD_TEMP_BYTES];
alignas(DIGITS_PROGRAM_ALIGNMENT) uint8_t program_file[DIGITS_PROGRAM_BYTES];

// Name of the buffer to shrink by one byte.
const char* smaller = "";

template <size_t N>
Span<uint8_t> buffer(const char* name, uint8_t (&bytes)[N]) {
  return {bytes, strcmp(name, smaller) == 0 ? N - 1 : N};
}

Error read_program(const char* path) {
  const int file = open(path, O_RDONLY);
  const ssize_t size = file < 0 ? -1 : read(file, program_file, sizeof(program_file));
  close(file);
  return size == sizeof(program_file) ? Error::Ok : Error::AccessFailed;
}

Error run(const char* path) {
  ET_CHECK_OK_OR_RETURN_ERROR(read_program(path));
  const Span<uint8_t> file = buffer("program", program_file);
  executorch::extension::BufferDataLoader loader(file.data(), file.size());
  const Program program = ET_UNWRAP(Program::load(&loader));

  const Span<uint8_t> own = buffer("method", for_method);
  MemoryAllocator method_allocator(own.size(), own.data());
  const Span<uint8_t> scratch = buffer("temp", temp);
  MemoryAllocator temp_allocator(scratch.size(), scratch.data());
  Span<uint8_t> buffers[] = {buffer("fast", fast), buffer("slow", slow)};
  HierarchicalAllocator planned({buffers, 2});
  MemoryManager memory(&method_allocator, &planned, &temp_allocator);
  Method method = ET_UNWRAP(program.load_method("forward", &memory));

  // The input is planned: write it directly into planned memory.
  float* const input = method.get_input(0).toTensor().mutable_data_ptr<float>();
  for (size_t i = 0; i < DIGITS_FORWARD_INPUT_BYTES_0 / sizeof(float); ++i) {
    input[i] = 1;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(method.set_input(method.get_input(0), 0));
  ET_CHECK_OK_OR_RETURN_ERROR(method.execute());
  const float* const output = method.get_output(0).toTensor().const_data_ptr<float>();
  for (size_t i = 0; i < DIGITS_FORWARD_OUTPUT_BYTES_0 / sizeof(float); ++i) {
    printf("%f\n", static_cast<double>(output[i]));
  }
  return Error::Ok;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s PROGRAM.pte [method|fast|slow|temp|program]\n", argv[0]);
    return 2;
  }
  smaller = argc > 2 ? argv[2] : "";
  runtime_init();
  const Error error = run(argv[1]);
  if (error != Error::Ok) {
    fprintf(stderr, "%s: %s\n", argv[1], to_string(error));
  }
  return error == Error::Ok ? 0 : 1;
}
