// SPDX-License-Identifier: MIT
//
// Changed copies of inputs that a target takes: what random bytes alone never reach.
#ifndef TESTS_FUZZ_MUTATE_H
#define TESTS_FUZZ_MUTATE_H

#include "source.h"

// Changes n bytes of buf (room for cap) in a few places, taking pieces from `other` too; returns
// the new length.
size_t mutate(source *s, uint8_t *buf, size_t n, size_t cap, const uint8_t *other, size_t n_other);
// The same for a FlatBuffer: offsets, sizes and numbers are words, and one of them is changed where
// it lies.
size_t mutate_flat(source *s, uint8_t *buf, size_t n, size_t cap, const uint8_t *other,
                   size_t n_other);

#endif
