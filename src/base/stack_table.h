// SPDX-License-Identifier: MIT
//
// A function table that a caller passed by value. Its length is that of the caller's headers, and
// nothing tells it. On x86-64 the table lies on the stack, and the arguments behind it move with
// its length. Its words are addresses of code, so the first word that is none is the argument
// behind it.
#ifndef QRN_BASE_STACK_TABLE_H
#define QRN_BASE_STACK_TABLE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

// Reads `n_head` words of any value and the table behind them into `words`, which has room for
// `n_words` and is cleared before: slots that the caller does not have are 0, those that `words`
// has no room for are dropped. `*behind` is the word after the table. False: the table has no end.
bool qrn_stack_table(va_list *args, unsigned n_head, uint64_t *words, unsigned n_words,
                     uint64_t *behind);

#endif
