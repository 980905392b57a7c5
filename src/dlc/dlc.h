// SPDX-License-Identifier: MIT
//
// DLC files: the graphs of a model before they are compiled, with their weights and encodings, in
// one zip archive (docs/dlc.md). Writing takes graphs as a backend holds them; reading gives back
// tensors and nodes whose data points into the file. Nothing here executes or trusts a number of
// the file: every record is checksummed, every offset, count, shape and text checked before use.
#ifndef QRN_DLC_DLC_H
#define QRN_DLC_DLC_H

#include "ir/graph.h"

#include <stdbool.h>
#include <stdint.h>

#define QRN_DLC_VERSION_MAJOR 1u
#define QRN_DLC_VERSION_MINOR 0u

#define QRN_DLC_METADATA "dlc.metadata"
#define QRN_DLC_TOPOLOGY "model.topology"
#define QRN_DLC_WEIGHTS "model.weights"
#define QRN_DLC_ENCODINGS "model.encodings"
#define QRN_DLC_SOURCES "source.mapping"

// Kinds of records; the numbers are the public API's.
#define QRN_DLC_TYPE_METADATA 1u
#define QRN_DLC_TYPE_TOPOLOGY 2u
#define QRN_DLC_TYPE_WEIGHTS 4u
#define QRN_DLC_TYPE_ENCODINGS 5u
#define QRN_DLC_TYPE_HTP_CACHE 7u
#define QRN_DLC_TYPE_GPU_CACHE 11u

#define QRN_DLC_MAX_RECORDS 4096u

typedef struct qrn_dlc_record {
    const char *name;
    uint32_t type;
    const void *data;
    uint64_t size_bytes;
} qrn_dlc_record;

// --- Reading

typedef struct qrn_dlc_node {
    const char *name, *package, *type;
    uint32_t n_in, n_out, n_params;
    const qrn_tensor *const *in; // NULL entries: absent
    const qrn_tensor *const *out;
    const char *const *param_names;
    const qrn_param *params;
} qrn_dlc_node;

typedef struct qrn_dlc_graph {
    const char *name;
    qrn_tensor **tensors; // in order of creation
    qrn_dlc_node *nodes;  // in order of execution
    uint32_t n_tensors, n_nodes;
} qrn_dlc_graph;

typedef struct qrn_dlc {
    qrn_arena *arena; // of everything but the data of records
    const char *producer;
    qrn_dlc_record *records; // the metadata first
    qrn_tensor **tensors;    // of the context, which all graphs may use
    qrn_dlc_graph *graphs;
    uint32_t n_records, n_tensors, n_graphs;
    uint32_t n_ids; // tensors have the ids 1 to n_ids, those of the context first
} qrn_dlc;

// Opens a file in memory, which stays until close. QRN_E_BINARY or QRN_E_BINARY_VERSION with words
// when it is none of ours; `name` is what they call it.
qrn_status qrn_dlc_open(const char *name, const void *data, uint64_t size_bytes, qrn_dlc **out);
void qrn_dlc_close(qrn_dlc *d);                                         // NULL is fine
const qrn_dlc_record *qrn_dlc_find(const qrn_dlc *d, const char *name); // NULL: none
// A copy of a record behind the others, which stay where they are. Its name is not taken yet.
qrn_status qrn_dlc_add(qrn_dlc *d, const qrn_dlc_record *r);

// --- Writing

// What the context of a model holds.
typedef struct qrn_dlc_model {
    const qrn_graph *const *graphs;
    uint32_t n_graphs;
    const qrn_tensor *const *tensors; // of the context
    uint32_t n_tensors;
} qrn_dlc_model;

// A file to be written. Refers to the data of the model or of the records, which stay until it is
// freed.
typedef struct qrn_dlc_image qrn_dlc_image;

qrn_status qrn_dlc_image_of_model(const qrn_dlc_model *m, qrn_dlc_image **out);
// Of finished records; one with the name of the metadata is left out, for it is made anew.
qrn_status qrn_dlc_image_of_records(const qrn_dlc_record *records, uint32_t n, qrn_dlc_image **out);
uint64_t qrn_dlc_image_bytes(const qrn_dlc_image *i);
void qrn_dlc_image_copy(const qrn_dlc_image *i, void *to);
qrn_status qrn_dlc_image_save(const qrn_dlc_image *i, const char *path);
void qrn_dlc_image_free(qrn_dlc_image *i); // NULL is fine

// --- Names of the public API, for files

const char *qrn_dlc_role_name(unsigned role);   // "APP_WRITE"; NULL: no role of a file
const char *qrn_dlc_dtype_name(qrn_dtype type); // "FLOAT_32"
int qrn_dlc_role_find(const char *name);        // -1: unknown
qrn_dtype qrn_dlc_dtype_find(const char *name); // QRN_DTYPE_COUNT: unknown

#endif
