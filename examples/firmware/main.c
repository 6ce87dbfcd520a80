/* Copyright (c) the project's authors. BSD-3-Clause; see LICENSE. */
/* Firmware in C: runs the embedded program on the embedded samples, and prints the outputs.
 * All memory is static; there is no heap. */
#include <executorch/extension/c_api/executorch.h>
#include <model.h>

#include "board/memory_report.h"
#include "board/semihosting.h"

/* A sample is all inputs of forward(), one after the other, each filled up to a multiple of 16 bytes. */
extern const uint8_t samples_begin[], samples_end[];

static et_program program;
static et_method method;

static void print_tensor(const et_tensor* tensor) {
  size_t count = 1;
  for (size_t d = 0; d < tensor->rank; ++d) {
    count *= (size_t)tensor->sizes[d];
  }
  for (size_t i = 0; i < count; ++i) {
    print(" ");
    switch (tensor->dtype) {
      case ET_FLOAT32:
        print_float(((const float*)tensor->data)[i]);
        break;
      case ET_INT8:
        print_int(((const int8_t*)tensor->data)[i]);
        break;
      case ET_UINT8:
      case ET_BOOL:
        print_int(((const uint8_t*)tensor->data)[i]);
        break;
      case ET_INT32:
        print_int(((const int32_t*)tensor->data)[i]);
        break;
      case ET_INT64:
        print_int(((const int64_t*)tensor->data)[i]);
        break;
      default:
        print("?");
    }
  }
}

static et_error print_outputs(void) {
  for (size_t i = 0; i < et_method_num_outputs(&method); ++i) {
    et_value value;
    const et_error error = et_method_output(&method, i, &value);
    if (error) {
      return error;
    }
    print("output ");
    print_int((int64_t)i);
    print(":");
    if (value.kind == ET_TENSOR) {
      print_tensor(&value.of.tensor);
    } else if (value.kind == ET_INT) {
      print(" ");
      print_int(value.of.as_int);
    } else {
      print(" ?");
    }
    print("\n");
  }
  return ET_OK;
}

/* Sets the inputs to the next sample, and moves on to the one after it. */
static et_error set_inputs(const uint8_t** sample) {
  for (size_t i = 0; i < et_method_num_inputs(&method); ++i) {
    et_tensor info;
    et_error error = et_program_input(&program, "forward", i, &info);
    if (!error && info.nbytes > (size_t)(samples_end - *sample)) {
      print("the last sample is incomplete\n");
      leave(124);
    }
    if (!error) {
      error = et_method_set_input_data(&method, i, *sample, info.nbytes);
    }
    if (error) {
      return error;
    }
    *sample += (info.nbytes + 15) / 16 * 16;
  }
  return ET_OK;
}

static et_error run_sample(const uint8_t** sample) {
  et_error error = set_inputs(sample);
  const uint64_t start = et_clock_ns();
  if (!error) {
    error = et_method_execute(&method);
  }
  const uint64_t end = et_clock_ns();
  if (!error) {
    error = print_outputs();
  }
  print("time: ");
  print_int((int64_t)(end - start));
  print(" ns\n");
  return error;
}

static et_error run(void) {
  et_error error = et_program_load_embedded(&program, &model);
  if (!error) {
    error = et_method_load(&method, &program, "forward", &model_forward_memory);
  }
  const uint8_t* sample = samples_begin;
  const uint8_t* last = NULL; /* a program without inputs runs once */
  while (!error && sample < samples_end && sample != last) {
    last = sample;
    error = run_sample(&sample);
  }
  print_memory();
  return error;
}

int main(void) {
  et_init();
  const et_error error = run();
  if (is_stack_used_up()) {
    print("the stack is too small: all of STACK_SIZE was used\n");
    leave(123);
  }
  if (error) {
    print(et_error_name(error));
    print(": ");
    print(et_error_message(error));
    print("\n");
  }
  return (int)error;
}
