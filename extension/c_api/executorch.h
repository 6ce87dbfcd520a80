/* Copyright (c) the project's authors. BSD-3-Clause; see LICENSE. */
/* Programs from plain C (C99): load one from memory, give it memory, set inputs, execute, read
 * outputs.
 *
 *   et_init();
 *   static et_program program;
 *   static et_method method;
 *   et_error error = et_program_load(&program, bytes, size);
 *   if (!error) error = et_method_load(&method, &program, "forward", &memory);
 *   if (!error) error = et_method_set_input(&method, 0, &input);
 *   if (!error) error = et_method_execute(&method);
 *   if (!error) error = et_method_output(&method, 0, &output);
 *   if (error) puts(et_error_message(error));
 *
 * No function allocates: objects are in the caller's et_program and et_method, everything else in
 * memory passed as an argument. The platform's log gets details of errors
 * (et_pal_emit_log_message). Objects are independent; two threads must not use one object
 * concurrently. */
#ifndef EXECUTORCH_EXTENSION_C_API_EXECUTORCH_H
#define EXECUTORCH_EXTENSION_C_API_EXECUTORCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0: success. The numbers are those of executorch::runtime::Error, which never change. */
typedef uint32_t et_error;
#define ET_OK ((et_error)0)

/* For example "Error::InvalidArgument". */
const char* et_error_name(et_error error);
/* One sentence: what is wrong and how to correct it. */
const char* et_error_message(et_error error);

/* Prepares the platform layer; call it once, before any other function. */
void et_init(void);
/* The platform layer's clock; 0 where it has none. */
uint64_t et_clock_ns(void);

/* Memory of the caller. */
typedef struct et_memory {
  void* data;
  size_t size;
} et_memory;

/* Numbers of torch's dtypes, as files have them. */
enum {
  ET_UINT8 = 0,
  ET_INT8 = 1,
  ET_INT16 = 2,
  ET_INT32 = 3,
  ET_INT64 = 4,
  ET_FLOAT16 = 5,
  ET_FLOAT32 = 6,
  ET_FLOAT64 = 7,
  ET_BOOL = 11
};

/* A tensor: elements lie in the order of the dimensions, outermost first, unless dim_order says
 * otherwise. */
typedef struct et_tensor {
  void* data;
  size_t nbytes;
  const int32_t* sizes;
  /* A permutation of the dimensions, from outermost to innermost in memory; as an input, NULL
   * stands for 0, 1, 2, ... */
  const uint8_t* dim_order;
  size_t rank;
  /* ET_FLOAT32, ... */
  int dtype;
} et_tensor;

typedef enum et_kind { ET_NONE, ET_TENSOR, ET_INT, ET_DOUBLE, ET_BOOLEAN, ET_OTHER } et_kind;

/* An output of a method. */
typedef struct et_value {
  et_kind kind;
  union {
    et_tensor tensor;
    int64_t as_int;
    double as_double;
    int as_bool;
  } of;
} et_value;

/* ---- programs
 * A null pointer in place of an object, a result or a struct is Error::InvalidArgument. An object
 * whose load failed, or that is unloaded, is Error::InvalidState; unloading it, or NULL, does
 * nothing. */

/* Opaque; must not be copied. */
typedef union et_program {
  void* words[40];
  uint64_t alignment[1];
} et_program;

/* Verifies `size` bytes at `data` (aligned to 16), which stay in use, in place, until
 * et_program_unload(). */
et_error et_program_load(et_program* program, const void* data, size_t size);
/* Unloads the program; unload all its methods first. */
void et_program_unload(et_program* program);

size_t et_program_num_methods(const et_program* program);
/* NULL if `index` is too large. The name lives as long as the program. */
const char* et_program_method_name(const et_program* program, size_t index);

/* The bytes of method memory that a method needs, without those of its backends. */
et_error et_program_method_memory(const et_program* program, const char* method, size_t* bytes);
/* The number of the method's planned buffers, and the bytes that each needs. */
et_error et_program_num_planned(const et_program* program, const char* method, size_t* count);
et_error et_program_planned_size(const et_program* program, const char* method, size_t index,
                                 size_t* bytes);
/* Description of an input or output: sizes (upper bounds of dynamic ones), dtype and nbytes; data
 * is NULL. */
et_error et_program_input(const et_program* program, const char* method, size_t index,
                          et_tensor* info);
et_error et_program_output(const et_program* program, const char* method, size_t index,
                           et_tensor* info);

/* ---- methods */

#define ET_MAX_PLANNED_BUFFERS 8

/* All the memory of a method; must outlive it. Alignments: 8 bytes, planned buffers 16. */
typedef struct et_method_memory {
  et_memory method;
  /* One for each planned buffer, in their order; ET_MAX_PLANNED_BUFFERS at most. */
  const et_memory* planned;
  size_t num_planned;
  /* Temporary memory of kernels; may be empty: a kernel that needs some then fails. */
  et_memory temp;
} et_method_memory;

/* Opaque; must not be copied. */
typedef union et_method {
  void* words[176];
  uint64_t alignment[1];
} et_method;

/* Makes a method of the program ready to run. The program must outlive it. */
et_error et_method_load(et_method* method, const et_program* program, const char* name,
                        const et_method_memory* memory);
void et_method_unload(et_method* method);

size_t et_method_num_inputs(const et_method* method);
size_t et_method_num_outputs(const et_method* method);
/* A tensor's data are copied if the plan has memory for the input; else they must outlive the
 * execution. */
et_error et_method_set_input(et_method* method, size_t index, const et_tensor* tensor);
/* The same for an input of the largest (or only) sizes that the program allows. Refused if the
 * method would write to `data`. */
et_error et_method_set_input_data(et_method* method, size_t index, const void* data, size_t nbytes);
/* Sets the memory of an output that the plan does not allocate. */
et_error et_method_set_output_data(et_method* method, size_t index, void* data, size_t nbytes);
et_error et_method_execute(et_method* method);
/* A tensor's data are the method's: valid until it is executed again. Error::InvalidState for a
 * tensor without memory. */
et_error et_method_output(const et_method* method, size_t index, et_value* value);

/* ---- programs that a build has embedded (executorch_embed_program) */

/* A program in the image's read-only memory, the memory that its methods need, and the kernels that
 * it uses. */
typedef struct et_embedded_program {
  const void* data;
  size_t size;
  const void* kernels;
} et_embedded_program;

/* Like et_program_load(), but methods find their kernels in the program's own table, so none has to
 * be registered. The memory of a method is static, of the exact size:
 * <program's name>_<method's name>_memory. */
et_error et_program_load_embedded(et_program* program, const et_embedded_program* embedded);

#ifdef __cplusplus
}
#endif

#endif /* EXECUTORCH_EXTENSION_C_API_EXECUTORCH_H */
