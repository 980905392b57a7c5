// SPDX-License-Identifier: MIT
//
// Characters as tokenizers see them: UTF-8, general categories, white space, NFC. The tables are
// those of the Unicode version that unicode.def names.
#ifndef QRN_FRONTEND_LLM_UNICODE_H
#define QRN_FRONTEND_LLM_UNICODE_H

#include "base/arena.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// clang-format off
// General categories, in the order of the table.
#define QL_CATEGORIES(X) \
    X(Lu) X(Ll) X(Lt) X(Lm) X(Lo) X(Mn) X(Mc) X(Me) X(Nd) X(Nl) X(No) X(Pc) X(Pd) X(Ps) X(Pe) \
    X(Pi) X(Pf) X(Po) X(Sm) X(Sc) X(Sk) X(So) X(Zs) X(Zl) X(Zp) X(Cc) X(Cf) X(Cs) X(Co) X(Cn)
// clang-format on

// Bytes of text that somebody else owns.
typedef struct ql_slice {
    const char *text;
    size_t n;
} ql_slice;

// The category of a code point, as 1 << its position in the list.
uint32_t ql_category(uint32_t c);
// The categories that a name stands for ("L", "Lu"); 0: there is none of that name.
uint32_t ql_category_mask(const char *name, size_t n);
bool ql_is_space(uint32_t c); // White_Space

// The code point at `at` (below n), and how many bytes it has. A byte that begins no valid sequence
// counts as U+FFFD of one byte.
uint32_t ql_utf8_read(const char *text, size_t n, size_t at, size_t *bytes);
// Writes a code point, at most 4 bytes; returns how many.
size_t ql_utf8_write(char *to, uint32_t c);
// Bytes of the sequence that a byte begins by its own word: 1 to 4; 0: it begins none.
size_t ql_utf8_length(unsigned char first);
// Is all of it valid? *bad is where it is not.
bool ql_utf8_valid(const char *text, size_t n, size_t *bad);

// The text in Normalization Form C; the text itself where it is so already.
qrn_status ql_nfc(qrn_arena *arena, ql_slice text, ql_slice *out);

#endif
