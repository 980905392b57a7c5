// SPDX-License-Identifier: MIT
//
// Parts of an ONNX model, written to memory. A failure to get memory is kept in the writer.
#ifndef QRN_FRONTEND_ONNX_GRAPH_WRITE_H
#define QRN_FRONTEND_ONNX_GRAPH_WRITE_H

#include "frontend/onnx/writer/wire_write.h"

// Attributes of a node.
void ox_put_attr_int(ox_writer *node, const char *name, int64_t v);
void ox_put_attr_ints(ox_writer *node, const char *name, const int64_t *v, uint32_t n);
void ox_put_attr_string(ox_writer *node, const char *name, const void *data, size_t n);

// An input or output of a graph (`field`: PB_GRAPH_INPUT, PB_GRAPH_OUTPUT).
void ox_put_value(ox_writer *graph, uint32_t field, const char *name, int type, uint32_t rank,
                  const uint32_t *dims);

// A constant, whose bytes are in the model, or in another file beside it.
typedef struct ox_new_constant {
    const char *name;
    int type;
    uint32_t rank;
    const uint32_t *dims;
    const void *data; // NULL: in `file`
    const char *file;
    uint64_t offset, bytes;
} ox_new_constant;
void ox_put_constant(ox_writer *graph, const ox_new_constant *c);

// The head of a model: version of the file format and producer.
void ox_put_head(ox_writer *model, int64_t ir_version);
void ox_put_opset(ox_writer *model, const char *domain, int64_t version);

#endif
