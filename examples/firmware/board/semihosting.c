/* Copyright (c) the project's authors. BSD-3-Clause; see LICENSE. */
#include "semihosting.h"

#include <string.h>

enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026 };

static int call(int operation, const void* parameter) {
  register int r0 __asm("r0") = operation;
  register const void* r1 __asm("r1") = parameter;
  __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void print(const char* text) { call(SYS_WRITE0, text); }

void leave(int code) {
  const uint32_t reason[2] = {APPLICATION_EXIT, (uint32_t)code};
  call(SYS_EXIT_EXTENDED, reason);
  for (;;) {
  }
}

static void print_unsigned(uint64_t number) {
  char digits[21];
  char* at = digits + sizeof(digits) - 1;
  *at = '\0';
  do {
    *--at = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  print(at);
}

void print_int(int64_t number) {
  if (number < 0) {
    print("-");
  }
  print_unsigned(number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void print_float(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof(bits));
  const int exponent = (int)(bits >> 23 & 0xFF);
  const uint32_t fraction = bits & 0x7FFFFF;
  print(bits >> 31 ? "-" : "");
  if (exponent == 255) {
    print(fraction ? "nan" : "inf");
    return;
  }
  /* 23 bits are six digits, the last one's lowest bit being 0. */
  char digits[] = "0x1.000000p";
  digits[2] = exponent == 0 ? '0' : '1';
  for (int i = 0; i < 6; ++i) {
    digits[4 + i] = "0123456789abcdef"[fraction << 1 >> (20 - 4 * i) & 0xF];
  }
  print(digits);
  print_int(exponent == 0 ? (fraction ? -126 : 0) : exponent - 127);
}
