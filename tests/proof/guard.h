// SPDX-License-Identifier: MIT
//
// Memory whose first or last byte borders on a page that cannot be touched: a kernel that reads or
// writes one byte outside its operand ends the program, and the program says which kernel it was.
#ifndef TESTS_PROOF_GUARD_H
#define TESTS_PROOF_GUARD_H

#include <stddef.h>

typedef enum guard_side {
    GUARD_BEHIND, // the last byte is the last of its page
    GUARD_BEFORE  // the first byte is the first of its page
} guard_side;

// Memory number `slot` for `bytes` bytes; what it held before is lost. NULL when out of memory.
// align: of the first byte, a power of two; with GUARD_BEHIND the border may then be up to that
// many bytes away.
void *guard_place(unsigned slot, size_t bytes, size_t align, guard_side side);

// What to say on stderr when a border is crossed; the text is copied.
void guard_say(const char *what);

#endif
