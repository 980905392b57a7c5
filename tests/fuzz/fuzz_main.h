// SPDX-License-Identifier: MIT
//
// What a fuzz target gives to fuzz_main.c: libFuzzer's entry points, and what it may do better than
// by bytes. A target without one of the latter gets the plain version.
#ifndef TESTS_FUZZ_FUZZ_MAIN_H
#define TESTS_FUZZ_FUZZ_MAIN_H

#include "source.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// (optional) Changes n bytes of buf (room for cap), taking pieces from `other` too; returns the new
// length. Plain: mutate.h.
size_t fuzz_change(source *s, uint8_t *buf, size_t n, size_t cap, const uint8_t *other,
                   size_t n_other);
// (optional) Makes an input in buf; returns its length. Plain: random bytes.
size_t fuzz_generate(source *s, uint8_t *buf, size_t cap);
// (optional) After the last input: prints what was reached; false when that is too little.
bool fuzz_end(void);

#endif
