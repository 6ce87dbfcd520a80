/* Copyright (c) the project's authors. BSD-3-Clause; see LICENSE. */
/* Plain C99: the header serves it as it stands. */
#include "run_add.h"

#include <stdlib.h>

et_error run_add(const void* data, size_t size, const float input[6], float output[6]) {
  static et_program program;
  static et_method method;
  et_memory planned[ET_MAX_PLANNED_BUFFERS];
  et_method_memory memory = {{NULL, 0}, planned, 0, {NULL, 0}};
  et_error error = et_program_load(&program, data, size);
  if (error) {
    return error;
  }
  error = et_program_method_memory(&program, "forward", &memory.method.size);
  if (!error) {
    error = et_program_num_planned(&program, "forward", &memory.num_planned);
  }
  memory.method.data = malloc(memory.method.size);
  for (size_t i = 0; !error && i < memory.num_planned; ++i) {
    error = et_program_planned_size(&program, "forward", i, &planned[i].size);
    planned[i].data = error ? NULL : malloc(planned[i].size);
  }
  if (!error) {
    error = et_method_load(&method, &program, "forward", &memory);
  }
  if (!error) {
    for (size_t i = 0; !error && i < et_method_num_inputs(&method); ++i) {
      error = et_method_set_input_data(&method, i, input, 6 * sizeof(float));
    }
    if (!error) {
      error = et_method_execute(&method);
    }
    et_value value;
    if (!error) {
      error = et_method_output(&method, 0, &value);
    }
    for (size_t i = 0; !error && value.kind == ET_TENSOR && i < 6; ++i) {
      output[i] = ((const float*)value.of.tensor.data)[i];
    }
    et_method_unload(&method);
  }
  for (size_t i = 0; i < memory.num_planned; ++i) {
    free(planned[i].data);
  }
  free(memory.method.data);
  et_program_unload(&program);
  return error;
}
