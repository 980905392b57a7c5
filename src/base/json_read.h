// SPDX-License-Identifier: MIT
//
// Reading small JSON files, such as the ones that options name: a tree of values in an arena, each
// with its line, so that whoever finds something wrong can say where. Comments (// and /* */) are
// passed over. Failures name file and line.
#ifndef QRN_BASE_JSON_READ_H
#define QRN_BASE_JSON_READ_H

#include "base/arena.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef enum qrn_json_kind {
    QRN_JSON_NULL,
    QRN_JSON_FALSE,
    QRN_JSON_TRUE,
    QRN_JSON_NUMBER,
    QRN_JSON_STRING,
    QRN_JSON_ARRAY,
    QRN_JSON_OBJECT
} qrn_json_kind;

typedef struct qrn_json {
    qrn_json_kind kind;
    unsigned line;          // from 1; of the key for a member of an object
    const char *key;        // in an object; else NULL
    const char *text;       // of a string, or a number as it is written; else NULL
    struct qrn_json *first; // of an array or object
    struct qrn_json *next;  // beside it
    uint32_t n;             // values in an array or object
} qrn_json;

// Reads one value and nothing behind it. `name` is what failures call the text. Strings hold no
// zero byte; a key that an object has twice is a failure.
qrn_status qrn_json_read(const char *name, const char *text, size_t n, qrn_arena *arena,
                         qrn_json **out);
// The same of a file.
qrn_status qrn_json_read_file(const char *path, qrn_arena *arena, qrn_json **out);

// The member of an object under a key; NULL: there is none, or it is null, or no object.
const qrn_json *qrn_json_member(const qrn_json *object, const char *key);

// What a kind is called ("a string").
const char *qrn_json_kind_text(qrn_json_kind kind);

#endif
