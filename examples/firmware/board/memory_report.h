/* Copyright (c) the project's authors. BSD-3-Clause; see LICENSE. */
/* What an image takes of the board's memories. */
#ifndef MEMORY_REPORT_H
#define MEMORY_REPORT_H

/* Before main(): what of the stack is not written afterwards was not needed. */
void mark_stack(void);
/* Prints bytes of flash and of static RAM by section, and how deep the stack has been. */
void print_memory(void);
/* Whether it has been as deep as it may, and so perhaps deeper: what lies below it is then not to
 * be trusted. */
int is_stack_used_up(void);

#endif
