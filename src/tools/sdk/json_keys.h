// SPDX-License-Identifier: MIT
//
// Objects of a JSON file by a table of their keys: one row says name, type, legal values and where
// the value goes. Unknown keys, wrong types and values outside the range are failures that name
// file, line, key and what is legal. Relies on base alone, so that libraries can use it.
#ifndef QRN_TOOLS_SDK_JSON_KEYS_H
#define QRN_TOOLS_SDK_JSON_KEYS_H

#include "base/arena.h"
#include "base/json_read.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct qs_int {
    bool given;
    int64_t v; // of a bool: 0 or 1; of a word: its position among the choices
    unsigned line;
} qs_int;

typedef struct qs_real {
    bool given;
    double v;
} qs_real;

typedef struct qs_texts {
    const char **items; // with a NULL behind them; NULL: not given
    uint32_t n;
} qs_texts;

typedef enum qs_key_type {
    QS_BOOL,  // qs_int
    QS_INT,   // qs_int; an integral real is one as well
    QS_REAL,  // qs_real
    QS_TEXT,  // const char *
    QS_WORD,  // qs_int, one of `choices`
    QS_TEXTS, // qs_texts
    QS_INTS,  // qs_ints
    QS_INNER  // an object or a list, read by `inner`
} qs_key_type;

typedef struct qs_ints {
    int64_t *items; // NULL: not given
    uint32_t n;
} qs_ints;

typedef struct qs_file {
    const char *path;
    qrn_arena *arena; // that values live in
} qs_file;

typedef struct qs_key {
    const char *name;
    qs_key_type type;
    size_t offset;       // of the value in the target
    int64_t least, most; // QS_INT, QS_INTS, QS_REAL
    const char *choices; // QS_WORD: "a|b|c"
    qrn_status (*inner)(const qs_file *f, const qrn_json *v, void *target);
    bool required;
    const char *effect; // for the documentation: what it sets; "rejected: ..." where it does not
} qs_key;

// Reads an object into target, which is cleared by the caller. `where` is what messages call it.
// The table ends with a row without a name.
qrn_status qs_keys_read(const qs_file *f, const qrn_json *object, const char *where,
                        const qs_key *keys, void *target);

// A list of objects, each into an element of `size` bytes of an array from the arena. With `single`
// one object alone is a list of one.
qrn_status qs_keys_list(const qs_file *f, const qrn_json *list, const char *where,
                        const qs_key *keys, size_t size, bool single, void **items, uint32_t *n);

// "FILE:LINE: ..." as a failure.
qrn_status qs_json_wrong(const qs_file *f, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// Is `name` the same as `given` once both have the form of a C identifier, as converters write
// names: what is neither letter, digit nor _ becomes _, and _ stands before a digit in front?
bool qs_same_name(const char *name, const char *given);

#endif
