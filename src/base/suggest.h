// SPDX-License-Identifier: MIT
//
// Suggestions for mistyped words.
#ifndef QRN_BASE_SUGGEST_H
#define QRN_BASE_SUGGEST_H

#include <stddef.h>

// The candidate that `word` was probably meant to be, or NULL.
const char *qrn_suggest(const char *word, const char *const *candidates, size_t n);

#endif
