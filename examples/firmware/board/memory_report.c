/* Copyright (c) the project's authors. BSD-3-Clause; see LICENSE. */
#include "memory_report.h"

#include <stdint.h>

#include "semihosting.h"

/* Defined by the linker script. */
extern char flash_begin[], flash_end[], text_begin[], text_end[], rodata_begin[], rodata_end[];
extern char data_begin[], data_end[], bss_begin[], bss_end[];
extern uint32_t stack_begin[], stack_end[];

enum { MARK = 0x5AA5C33C, MARGIN = 64 };

void mark_stack(void) {
  const uint32_t* const end = (uint32_t*)__builtin_frame_address(0) - MARGIN;
  for (volatile uint32_t* word = stack_begin; word < end; ++word) {
    *word = MARK;
  }
}

static int stack_depth(void) {
  const volatile uint32_t* word = stack_begin;
  while (word < stack_end && *word == MARK) {
    ++word;
  }
  return (int)((const char*)stack_end - (const char*)word);
}

int is_stack_used_up(void) { return *(const volatile uint32_t*)stack_begin != MARK; }

static void print_size(const char* name, const char* begin, const char* end) {
  print(name);
  print_int(end - begin);
}

void print_memory(void) {
  print_size("flash: ", flash_begin, flash_end);
  print_size(" bytes: .text ", text_begin, text_end);
  print_size(", .rodata ", rodata_begin, rodata_end);
  print_size(", .data ", data_begin, data_end);
  print_size("\nram: ", data_begin, bss_end);
  print_size(" bytes: .data ", data_begin, data_end);
  print_size(", .bss ", bss_begin, bss_end);
  print("\nstack: ");
  print_int(stack_depth());
  print_size(" bytes of ", (const char*)stack_begin, (const char*)stack_end);
  print("\n");
}
