/* Copyright (c) the project's authors. BSD-3-Clause; see LICENSE. */
/* From reset to main(): a Cortex-M core starts with the stack and the address in the vector table. */
#include <stdint.h>
#include <string.h>

#include "memory_report.h"
#include "semihosting.h"

extern uint32_t data_begin[], data_end[], data_in_flash[], bss_begin[], bss_end[], stack_end[];
extern void (*init_array_begin[])(void);
extern void (*init_array_end[])(void);
int main(void);
void systick(void);

/* Coprocessor access control: full access to the floating-point unit, coprocessors 10 and 11. */
#define CPACR (*(volatile uint32_t*)0xE000ED88u)

void reset(void) {
  CPACR |= 0xFu << 20;
  __asm volatile("dsb\n isb");
  memcpy(data_begin, data_in_flash, (size_t)((char*)data_end - (char*)data_begin));
  memset(bss_begin, 0, (size_t)((char*)bss_end - (char*)bss_begin));
  mark_stack();
  /* An image whose kernels are in a table has no global constructors; other code may have some. */
  for (void (**constructor)(void) = init_array_begin; constructor != init_array_end; ++constructor) {
    (*constructor)();
  }
  leave(main());
}

static void fault(void) {
  print("fault\n");
  leave(125);
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))stack_end, reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, systick,
};
