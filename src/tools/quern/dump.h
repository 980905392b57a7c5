// SPDX-License-Identifier: MIT
//
// Folders that QUERN_DUMP wrote (docs/dump.md): finding executions in them, reading an index, and
// the tensors as real numbers. Whatever the files hold, reading ends in an answer or an error.
#ifndef QRN_TOOLS_QUERN_DUMP_H
#define QRN_TOOLS_QUERN_DUMP_H

#include "tools/quern/array.h"

#include <jansson.h>

// A tensor of an execution. Texts belong to the index.
typedef struct qt_dumped {
    const char *name, *file, *role, *node, *op; // node and op are NULL for inputs
    const char *type;                           // of the elements; may be NULL
    uint32_t rank;
    uint64_t dims[OX_MAX_RANK];
    const json_t *encoding; // NULL: plain numbers
} qt_dumped;

// A tensor that has no file.
typedef struct qt_undumped {
    const char *name, *reason, *into; // into may be NULL
} qt_undumped;

// One execution.
typedef struct qt_dump {
    char *folder;
    json_t *index; // owns the texts
    const char *graph, *backend;
    qt_dumped *tensors; // in the order of execution
    size_t n;
    qt_undumped *missing;
    size_t n_missing;
} qt_dump;

// The executions below a folder: of a run-NNNN folder one, of a graph's folder all of its runs, of
// QUERN_DUMP's folder those of all graphs; sorted by graph, then number.
typedef struct qt_dumps {
    qt_dump *items;
    size_t n;
} qt_dumps;

qrn_status qt_dumps_read(const char *folder, qt_dumps *out);
void qt_dumps_free(qt_dumps *d); // a cleared one is fine

// An index in memory; `folder` is for messages and later reading. Takes no text over.
qrn_status qt_dump_parse(const char *folder, const char *text, size_t n, qt_dump *out);
void qt_dump_free(qt_dump *d);

// The tensor's real numbers as float64, dequantized.
qrn_status qt_dump_load(const qt_dump *d, const qt_dumped *t, qt_array *out);
// The step between quantized values; 0 when it is not one number.
double qt_dump_step(const qt_dumped *t);
// The smallest and the largest real number that its encoding holds; false when it is not one range.
bool qt_dump_range(const qt_dumped *t, double *low, double *high);

// Which tensor of one execution is which of another (dump_pair.c).
typedef enum qt_pair_kind { QT_PAIR_NAME, QT_PAIR_ORDER } qt_pair_kind;
typedef struct qt_pair {
    const qt_dumped *a, *b;
    qt_pair_kind kind;
} qt_pair;

// All pairs, in the order of execution of b. First by name, without what quantizers append; then,
// unless names_only, of those that are left by shape, order and likeness. *pairs is from malloc.
qrn_status qt_dump_pair(const qt_dump *a, const qt_dump *b, bool names_only, qt_pair **pairs,
                        size_t *n);

// Length of a value's name without what quantizers append, so that a quantized model's values meet
// those of its float original.
size_t qt_plain_length(const char *name);

#endif
