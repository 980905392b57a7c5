// SPDX-License-Identifier: MIT
//
// Suggestions for mistyped words.
#include "base/suggest.h"

#include <string.h>

#define MAX_WORD 64 // longer words get no suggestion

// Edits (insert, delete, replace, swap neighbours) between two short words.
static unsigned edit_distance(const char *a, const char *b) {
    size_t na = strlen(a), nb = strlen(b);
    if (na >= MAX_WORD || nb >= MAX_WORD)
        return MAX_WORD;
    unsigned rows[3][MAX_WORD + 1];
    unsigned *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= nb; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        unsigned *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[nb];
}

const char *qrn_suggest(const char *word, const char *const *candidates, size_t n) {
    const char *best = NULL;
    unsigned least = strlen(word) <= 4 ? 2 : 3; // exclusive
    for (size_t i = 0; i < n; i++) {
        unsigned d = edit_distance(word, candidates[i]);
        if (d >= least && strlen(word) >= 3 && strncmp(word, candidates[i], strlen(word)) == 0)
            d = least - 1; // a beginning is the weakest hint
        if (d < least) {
            least = d;
            best = candidates[i];
        }
    }
    return best;
}
