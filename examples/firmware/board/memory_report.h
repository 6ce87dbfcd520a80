/* Copyright (c) the project's authors. BSD-3-Clause; see LICENSE. */
/* Memory use of an image on the board. */
#ifndef MEMORY_REPORT_H
#define MEMORY_REPORT_H

/* Call it before main(): fills the stack, so that untouched bytes can be counted later. */
void mark_stack(void);
/* Prints bytes of flash and of static RAM by section, and the largest depth of the stack. */
void print_memory(void);
/* Returns whether the stack reached its limit. It may have overflowed then, and the memory below it
 * is invalid. */
int is_stack_used_up(void);

#endif
