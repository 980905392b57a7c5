// SPDX-License-Identifier: MIT
//
// Says which case was running when a sanitizer ends the program, or when a case does not end.
#ifndef TESTS_FUZZ_WATCH_H
#define TESTS_FUZZ_WATCH_H

#include <stdint.h>

// Every case must end within `seconds` of computing, and within ten times as long by the clock.
void watch_start(unsigned seconds);
// A new case begins; `name` must stay valid.
void watch_case(const char *name, uint64_t number);

#endif
