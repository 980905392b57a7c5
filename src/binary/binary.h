// SPDX-License-Identifier: MIT
//
// Context binaries: the compiled graphs of a context in one file (docs/context-binary.md). Writing
// takes what a context holds; reading gives back the same structures, whose constants point into
// the file. Nothing here executes, allocates more than the file can justify, or trusts a number of
// the file: every offset, count and text is checked before use, everything but weights is
// checksummed always, weights on request.
#ifndef QRN_BINARY_BINARY_H
#define QRN_BINARY_BINARY_H

#include "compiler/compiled.h"
#include "device/schedule.h"
#include "ir/graph.h"
#include "ir/packed.h"

#include <stdbool.h>
#include <stdint.h>

// Version of the format; 0 may change at any time. Older ones are read, too: 0.1 has no
// schedules, 0.1 and 0.2 have no compiled graphs, only 0.4 has prepared graphs. A file has the
// least version that its contents need.
#define QRN_BIN_VERSION_MAJOR 0u
#define QRN_BIN_VERSION_MINOR 5u
#define QRN_BIN_VERSION_MINOR_OLDEST 1u

// A number that was set for a graph or a context; keys are part of the format (options.def).
typedef struct qrn_bin_option {
    uint32_t key;
    uint64_t value;
} qrn_bin_option;

// A node with its operands as tensor ids (0: absent). Parameters are qrn_params; tensor parameters
// have tensors of their own.
typedef struct qrn_bin_node {
    const char *name, *package, *type;
    const uint32_t *in, *out;
    uint32_t n_in, n_out, n_params;
    const char *const *param_names;
    const qrn_param *params;
} qrn_bin_node;

// A constant as the kernels of a device read it. Step, value and packing (the backend's numbers)
// are its name; a constant that no step has to itself has step UINT32_MAX.
typedef struct qrn_bin_form {
    uint32_t step, value, packing;
    const void *data;
    uint64_t size_bytes;
} qrn_bin_form;

// A measured choice: what was asked and which variant won, in the backend's words.
typedef struct qrn_bin_choice {
    const char *key, *winner;
} qrn_bin_choice;

// What binding a compiled graph to a device found out; a device with the same key may use it as it
// is.
typedef struct qrn_bin_prepared {
    const char *device_key, *device_name; // "": it was prepared without a device
    const qrn_bin_form *forms;            // in ascending order of their names
    uint32_t n_forms;
    const qrn_bin_choice *choices;
    uint32_t n_choices;
} qrn_bin_prepared;

// Order of the forms: negative, 0 or positive.
static inline int qrn_bin_form_order(const qrn_bin_form *a, const qrn_bin_form *b) {
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->packing < b->packing ? -1 : a->packing > b->packing;
}

typedef struct qrn_bin_graph {
    const char *name;
    int32_t priority;
    const qrn_bin_option *options;
    uint32_t n_options;
    qrn_tensor **tensors; // in order of creation; data points into the file or is NULL
    uint32_t n_tensors;
    const qrn_bin_node *nodes;
    uint32_t n_nodes;
    qrn_packed_list packed; // data points into the file
    uint64_t const_bytes;   // of its constants, shared ones included
    uint64_t shared_bytes;  // of those that other graphs have, too
    uint64_t io_bytes;      // of its application tensors
    uint64_t arena_bytes;   // most intermediate data at a time
    // What a chip would do with it, for reports: values are tensor ids, ops are nodes. NULL: none,
    // or the file was read to be executed.
    const qd_schedule *schedule;
    const void *schedule_data; // of a file that was read: the section
    uint64_t schedule_bytes;
    // What it was compiled to, and with which options (the backend's own bits); NULL: it has to be
    // compiled when it is loaded. Of a file that was read it is not verified, and the binary's
    // until somebody takes it (and sets NULL here).
    qrn_compiled *compiled;
    uint32_t compiled_how;
    const qrn_bin_prepared *prepared; // NULL: nothing
} qrn_bin_graph;

// What a file holds; the numbers of parts are those of the API's section types.
typedef enum qrn_bin_part {
    QRN_BIN_WHOLE = 0,        // a context
    QRN_BIN_UPDATEABLE = 1,   // data and encodings of updateable tensors, no nodes
    QRN_BIN_UPDATE_DATA = 2,  // their data; the encodings do not count
    QRN_BIN_UPDATE_QUANT = 3, // their encodings
    QRN_BIN_PART_COUNT
} qrn_bin_part;

typedef struct qrn_bin {
    uint32_t version_major, version_minor;
    uint32_t part;                        // qrn_bin_part
    uint32_t core_api[3], backend_api[3]; // versions of the API it was made with
    uint32_t backend_id;
    uint32_t soc_id, arch; // 0: none was chosen
    bool apart;            // to be written: each graph has weights of its own, equal ones too
    const char *build_id;
    const qrn_bin_option *options; // of the context
    uint32_t n_options;
    const qrn_tensor *const *tensors; // of the context itself
    uint32_t n_tensors;
    qrn_bin_graph *graphs;
    uint32_t n_graphs;
    uint64_t weights_offset, weights_bytes; // section of weights that one graph uses; 0: none
    uint64_t shared_offset, shared_bytes;   // section of weights that several graphs use
    bool was_read;                          // compiled graphs are its own
    qrn_arena *arena;                       // holds all of this, texts and encodings too
} qrn_bin;

// Bytes that a binary takes, and the bytes themselves. The same contents give the same bytes.
// Tensors are numbered anew from 1, in the order of their ids. Of a qrn_bin that is written, what
// is counted (const_bytes, shared_bytes, io_bytes, offsets) is not looked at.
qrn_status qrn_bin_size(const qrn_bin *b, uint64_t *size_bytes);
qrn_status qrn_bin_write(const qrn_bin *b, void *buf, uint64_t size_bytes, uint64_t *written);

// Can the compiled graph be stored? Not one with dynamic shapes, sparse or optional tensors,
// branches, updateable constants or ops of user packages: such a graph is compiled again when it is
// loaded. `scaled`: constants may be scaled ones, whose sources the file then must hold.
// Fails when out of memory.
qrn_status qrn_bin_can_store(const qrn_compiled *cg, bool scaled, bool *can);

// Does it begin like one of ours?
bool qrn_bin_is_ours(const void *buf, uint64_t size_bytes);

// Reads a binary without its compiled graphs (their checksums are checked), whose constants must
// stay where they are; `verify`: checks the weights' checksums
// as well. Fails with QRN_E_BINARY_VERSION (not ours, or of another version), QRN_E_BINARY
// (damaged, with the place), QRN_E_MEM.
qrn_status qrn_bin_open(const void *buf, uint64_t size_bytes, bool verify, qrn_bin **out);

// The two sections of weights as the header has them, for whoever keeps them elsewhere: bytes 0
// when there is none. Fails like qrn_bin_open.
typedef struct qrn_bin_weights {
    uint64_t weights_offset, weights_bytes;
    uint64_t shared_offset, shared_bytes;
} qrn_bin_weights;
qrn_status qrn_bin_find_weights(const void *buf, uint64_t size_bytes, qrn_bin_weights *out);
// The same with compiled graphs, and the bytes of the two sections at other places; NULL: in the
// file.
// With `weights` nothing of the file is read from there on: these sections are the last ones.
qrn_status qrn_bin_open_with(const void *buf, uint64_t size_bytes, bool verify, const void *weights,
                             const void *shared, qrn_bin **out);
void qrn_bin_close(qrn_bin *b); // NULL is fine

#endif
