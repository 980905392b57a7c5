// SPDX-License-Identifier: MIT
//
// A compiled partition: one QNN graph, and how the borders of the fused node map to its own.
#ifndef QRN_FRONTEND_ORT_PART_H
#define QRN_FRONTEND_ORT_PART_H

#include "frontend/ort/ep.h"

// An input or output of the fused node.
typedef struct qe_border {
    char *name; // of the value
    int type;   // ox_type on the host's side
    uint32_t rank;
    int64_t dims[OX_MAX_RANK];
    size_t count, bytes; // elements; bytes on the backend's side
    int32_t slot;        // of the QNN graph's inputs or outputs; -1: none
    bool convert;        // types differ
    bool sized;          // output: its first dimension is known after the run
    void *data;          // output that is constant, or the default of an input that is
} qe_border;

struct qe_part {
    OrtNodeComputeInfo base; // first
    qe_ep *ep;
    char *model; // path, or words for none
    qc_graph *graph;
    Qnn_ContextHandle_t context; // of the graph
    char *name;                  // of the graph
    qe_border *in, *out;
    uint32_t n_in, n_out;
    struct qe_defaults *defaults; // of inputs that are compiled as constants; NULL: none is
};

// part.c: a partition around a graph, which it takes, whatever happens.
qrn_status qe_part_make(qe_ep *ep, const qe_graph *g, const ox_node *fused, const ox_result *r,
                        const char *name, qe_part **out);

// Types that the backend holds in 32 bits.
static inline bool qe_is_wide(int type) {
    return type == OX_I64 || type == OX_U64 || type == OX_F64;
}

// run.c: the callbacks of a partition.
OrtNodeComputeInfo qe_part_callbacks(void);

// border.c: what is declared against what the graph has, and against what comes.
// Where a border is, for messages.
typedef struct qe_place {
    const char *model; // path, or words for none
    const char *graph;
    bool input;
} qe_place;

// May a value of this type be handed to a tensor of that one?
bool qe_type_fits(int type, Qnn_DataType_t dtype);
// Fails unless the model declares for a value what the tensor of a context binary has. Dimensions
// that are not declared may be anything.
qrn_status qe_check_declared(const qe_place *at, const ox_info *info, const qc_tensor *t);
// Fails unless the host's value is as large as the tensor, where it is not converted.
qrn_status qe_check_border(const qe_place *at, const qe_border *b, const qc_tensor *t);
// The failure of a value that is not what the border was compiled for.
qrn_status qe_fail_value(const qe_place *at, const qe_border *b, int type, const int64_t *dims,
                         size_t rank);

// The host hands over values of other devices as they are, whose addresses mean nothing here.
qrn_status qe_check_place(const qe_place *at, const qe_border *b, const OrtValue *v);

#endif
