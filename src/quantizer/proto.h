// SPDX-License-Identifier: MIT
//
// Messages of ONNX that the quantizer writes: tensors, values, nodes and their attributes.
#ifndef QRN_QUANTIZER_PROTO_H
#define QRN_QUANTIZER_PROTO_H

#include "frontend/onnx/reader/model.h"
#include "frontend/onnx/writer/wire_write.h"
#include "quantizer/write.h"

typedef struct qz_tensor {
    const char *name;
    int type;
    uint32_t rank;
    uint32_t dims[OX_MAX_RANK];
    const void *data; // packed as ONNX has it
    size_t bytes;
} qz_tensor;

// A TensorProto as field `field` of `to`; large data goes to the file of weights unless that is
// NULL.
qrn_status qz_put_tensor(ox_writer *to, uint32_t field, const qz_tensor *t,
                         qz_weights_file *weights);
// A ValueInfoProto.
void qz_put_value(ox_writer *to, uint32_t field, const char *name, int type, uint32_t rank,
                  const uint32_t *dims);
// An attribute of a node message.
void qz_put_int(ox_writer *node, const char *name, int64_t v);
qrn_status qz_put_attribute(ox_writer *node, const ox_attr *a);

// sink.c: where data of that many bytes lies in the file of weights, appended unless it is there.
qrn_status qz_weights_add(qz_weights_file *f, const void *data, size_t bytes, uint64_t *offset);
const char *qz_weights_name(const qz_weights_file *f);

#endif
