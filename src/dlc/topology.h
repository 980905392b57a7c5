// SPDX-License-Identifier: MIT
//
// The record of graphs, between its writer and the writer of files; and between the reader of files
// and its reader.
#ifndef QRN_DLC_TOPOLOGY_H
#define QRN_DLC_TOPOLOGY_H

#include "base/json_read.h"
#include "base/report_text.h"
#include "dlc/zip.h"

// The three records of a model. The texts are freed by their user; parts of the weights refer to
// the data of tensors.
typedef struct qrn_dlc_records {
    qrn_text topology, encodings;
    qrn_zip_part *weights;
    uint32_t n_weights;
} qrn_dlc_records;

qrn_status qrn_dlc_write_topology(const qrn_dlc_model *m, qrn_arena *arena, qrn_dlc_records *out);

// Fills tensors and graphs of a file whose records are known.
qrn_status qrn_dlc_read_topology(const char *name, qrn_dlc *d);

// --- Members of objects, for readers. `name` is the file; failures name it and the line.

typedef struct qrn_dlc_site {
    const char *name;         // of the file
    const qrn_dlc *dlc;       // with its records
    const char *graph, *item; // what is read, for messages; "" or a name
} qrn_dlc_site;

// A record that is a JSON text.
qrn_status qrn_dlc_json(const char *name, const qrn_dlc_record *r, qrn_arena *a, qrn_json **out);
qrn_status qrn_dlc_wrong(const qrn_dlc_site *s, const qrn_json *at, const char *what);
// A member of a kind; *out is NULL when it is not there and need not be.
qrn_status qrn_dlc_member(const qrn_dlc_site *s, const qrn_json *object, const char *key,
                          qrn_json_kind kind, bool needed, const qrn_json **out);
qrn_status qrn_dlc_text(const qrn_dlc_site *s, const qrn_json *object, const char *key,
                        const char **out);
// Integers within limits.
qrn_status qrn_dlc_value_u64(const qrn_dlc_site *s, const qrn_json *v, uint64_t most,
                             uint64_t *out);
qrn_status qrn_dlc_value_i64(const qrn_dlc_site *s, const qrn_json *v, int64_t *out);
qrn_status qrn_dlc_u32(const qrn_dlc_site *s, const qrn_json *object, const char *key,
                       uint32_t most, uint32_t *out);
// The bits of a float: a string of that many hexadecimal digits, lower case.
qrn_status qrn_dlc_bits(const qrn_dlc_site *s, const qrn_json *object, const char *key,
                        unsigned digits, uint64_t *out);
// A true that may be missing.
qrn_status qrn_dlc_flag(const qrn_dlc_site *s, const qrn_json *object, const char *key, bool *out);
// The bytes that a member [position, bytes] names in another record; *data is NULL when the member
// is missing and need not be there. `align` is that of the position.
qrn_status qrn_dlc_bytes(const qrn_dlc_site *s, const qrn_json *object, const char *key,
                         const char *record, uint64_t bytes, uint32_t align, bool needed,
                         const void **data);

// The encoding of a tensor whose type and shape are known (read_encoding.c).
qrn_status qrn_dlc_read_encoding(const qrn_dlc_site *s, const qrn_json *object, qrn_arena *a,
                                 qrn_tensor *t);
// A tensor with its place in the list of ids (read_tensor.c).
qrn_status qrn_dlc_read_tensor(const qrn_dlc_site *s, const qrn_json *object, uint32_t id,
                               qrn_arena *a, qrn_tensor **out);

#endif
