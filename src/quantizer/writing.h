// SPDX-License-Identifier: MIT
//
// A model while it is written: what write.c (nodes, the model) and write_values.c (encodings,
// constants, conversions) share.
#ifndef QRN_QUANTIZER_WRITING_H
#define QRN_QUANTIZER_WRITING_H

#include "quantizer/proto.h"
#include "quantizer/write.h"

typedef struct qz_writing {
    qz_graph *g;
    const qz_scheme *scheme;
    qz_weights_file *weights;
    ox_writer nodes, constants, infos; // parts of the graph message
    qrn_strmap made;                   // constants and encodings that were written
    qrn_strmap scales;                 // weight -> qz_constant without its values
    int64_t opset;                     // of the model that is written
    qz_encodings *encodings;           // what is written, or NULL
    qz_written report;
} qz_writing;

// Is the value passed in and out as quantized values?
static inline bool qz_is_quantized_port(const qz_value *v) { return v->is_state && v->enc.bits; }

// A name that the model does not have, in the arena; NULL: out of memory.
const char *qz_name_of(qz_writing *w, const char *base, const char *suffix);
qrn_status qz_put_constant(qz_writing *w, const qz_tensor *t);
// Quantizes a value that was just made (or is an input) under the name `made`.
qrn_status qz_put_pair(qz_writing *w, qz_value *v, const char *made);
// What node n reads as input i: constants, encodings and conversions that it needs are written.
qrn_status qz_put_input(qz_writing *w, const ox_node *n, uint32_t i, const char **name);
// Adds an encoding to the exported ones.
qrn_status qz_list_encoding(const qz_writing *w, const qz_value *v, const qz_enc *e);

#endif
