/* Copyright (c) the project's authors. BSD-3-Clause; see LICENSE. */
/* Semihosting: output to the debugger or emulator that runs the program. Operation numbers: ARM's
 * "Semihosting for AArch32 and AArch64". */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void print(const char* text);
void print_int(int64_t number);
/* Prints as C's %a does: exact, and readable by strtod() and Python's float.fromhex(). */
void print_float(float number);
/* Ends the run with this exit code. */
__attribute__((noreturn)) void leave(int code);

#ifdef __cplusplus
}
#endif

#endif
