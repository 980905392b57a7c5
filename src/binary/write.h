// SPDX-License-Identifier: MIT
//
// The records of a context binary, one function each. Used by the writer alone.
#ifndef QRN_BINARY_WRITE_H
#define QRN_BINARY_WRITE_H

#include "binary/binary.h"
#include "binary/constants.h"
#include "binary/out.h"

// Ids of all tensors in ascending order: place + 1 is the id in the file.
typedef struct qrn_bin_ids {
    uint32_t *sorted;
    uint32_t n;
} qrn_bin_ids;
qrn_status qrn_bin_ids_of(const qrn_bin *b, qrn_bin_ids *ids);
// The id of a tensor in the file; 0 for an absent operand.
uint32_t qrn_bin_file_id(const qrn_bin_ids *ids, uint32_t id);

void qrn_bin_put_shape(const qrn_shape *s, qrn_out *o);
// packed: scales and offsets are not written, packed forms have them.
void qrn_bin_put_quant(const qrn_tensor *t, bool packed, qrn_out *o);

qrn_status qrn_bin_put_graph(const qrn_bin_graph *g, uint32_t index, const qrn_bin_ids *ids,
                             qrn_constants *c, qrn_out *o);
// The schedule of a graph that has one; the bytes live in the arena.
qrn_status qrn_bin_put_schedule(const qrn_bin_graph *g, const qrn_bin_ids *ids, qrn_arena *arena,
                                qrn_out *o);
// The compiled graph of a graph that has one.
qrn_status qrn_bin_put_compiled(const qrn_bin_graph *g, uint32_t index, const qrn_bin_ids *ids,
                                qrn_constants *c, qrn_out *o);
// What is prepared for a device.
qrn_status qrn_bin_put_prepared(const qrn_bin_graph *g, uint32_t index, qrn_constants *c,
                                qrn_out *o);
// The constants must have their places.
qrn_status qrn_bin_put_info(const qrn_bin *b, const qrn_bin_ids *ids, const qrn_constants *c,
                            qrn_out *o);

#endif
