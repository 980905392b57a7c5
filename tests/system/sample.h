// SPDX-License-Identifier: MIT
//
// A context as a binary holds it, made by hand: two graphs, one context tensor, several kinds of
// encodings. What the tests expect is written out there, not read from here.
#ifndef TESTS_SYSTEM_SAMPLE_H
#define TESTS_SYSTEM_SAMPLE_H

#include "binary/binary.h"

// Made for SM8650. Graph "first" has the options level 3, VTCM 2 MiB, 2 HVX threads and DLBC, and
// needs 5 MiB of intermediate data; graph "second" has none and needs 1 KiB.
const qrn_bin *sample_bin(void); // constant

// The same as the bytes of a file, of malloc.
void *sample_bytes(uint64_t *size_bytes);

#endif
