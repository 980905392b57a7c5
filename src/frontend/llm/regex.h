// SPDX-License-Identifier: MIT
//
// The regular expressions by which tokenizers split text: literals, classes with \p{..}, \s, \d and
// their opposites, groups, alternatives, greedy repetition, look-ahead, (?i:..). The first
// alternative that leads to a match wins, as in the engines that these patterns were written for.
// Anything else is rejected when the pattern is compiled, with its place. Matching backtracks: a
// pattern that needs too many steps for the length of its text fails.
#ifndef QRN_FRONTEND_LLM_REGEX_H
#define QRN_FRONTEND_LLM_REGEX_H

#include "frontend/llm/unicode.h"

typedef struct ql_regex ql_regex;

// In the arena. The message of a failure says what in the pattern is not supported.
qrn_status ql_regex_compile(const char *pattern, qrn_arena *arena, ql_regex **out);

// The leftmost match that begins at `from` or behind it; *found is false where there is none. An
// empty match does not count.
qrn_status ql_regex_find(const ql_regex *re, ql_slice text, size_t from, bool *found,
                         ql_slice *match);

#endif
