// SPDX-License-Identifier: MIT
//
// An ONNX model under construction, written as a file at the end. Nothing is checked: whatever is
// put in comes out. All memory is the caller's scrap.
#ifndef TESTS_FUZZ_ONNX_MODEL_H
#define TESTS_FUZZ_ONNX_MODEL_H

#include "scrap.h"

#include "frontend/onnx/writer/wire_write.h"

enum { M_RANK = 12, M_NODES = 64, M_VALUES = 160, M_IO = 32, M_ATTRS = 16, M_OPERANDS = 16 };

typedef struct m_tensor {
    const char *name;
    int type; // ONNX's number
    uint32_t rank;
    int64_t dims[M_RANK];
    const void *data;
    size_t bytes;
    const char *location; // external data: file, at offset 0; NULL: in the model
} m_tensor;

// Declared type and shape of a value.
typedef struct m_info {
    const char *name;
    int type; // 0: not said
    bool has_shape;
    uint32_t rank;
    int64_t dims[M_RANK]; // -1: a name instead
} m_info;

typedef struct m_graph m_graph;

typedef struct m_attr {
    const char *name;
    int type; // ONNX's AttributeType
    float f;
    int64_t i;
    const char *s;
    const m_tensor *t;
    const m_graph *g;
    const int64_t *ints;
    const float *floats;
    const char *const *strings;
    uint32_t n;
    const char *ref; // attribute of the function around it
} m_attr;

typedef struct m_node {
    const char *op, *domain, *name;
    const char *in[M_OPERANDS], *out[M_OPERANDS];
    uint32_t n_in, n_out;
    m_attr attrs[M_ATTRS];
    uint32_t n_attrs;
} m_node;

struct m_graph {
    const char *name, *domain; // domain: of a function
    m_node *nodes[M_NODES];
    m_tensor *constants[M_VALUES];
    m_info inputs[M_IO], outputs[M_IO], infos[M_VALUES];
    uint32_t n_nodes, n_constants, n_inputs, n_outputs, n_infos;
};

typedef struct m_model {
    int64_t opset, ir_version;
    m_graph *graph;
    m_graph *functions[4];
    uint32_t n_functions;
} m_model;

m_graph *m_graph_new(scrap *mem, const char *name);
// A copy of formatted text.
const char *m_text(scrap *mem, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// Adders; NULL where the graph is full.
m_node *m_add_node(scrap *mem, m_graph *g, const char *op, const char *domain);
m_tensor *m_add_constant(scrap *mem, m_graph *g, const char *name, int type, uint32_t rank,
                         const int64_t *dims);
void m_add_info(m_info *list, uint32_t *n, uint32_t cap, const char *name, int type, int32_t rank,
                const int64_t *dims); // rank below 0: no shape
void m_node_in(m_node *n, const char *name);
void m_node_out(m_node *n, const char *name);
m_attr *m_node_attr(m_node *n, const char *name, int type);

size_t m_type_bytes(int type); // of one element; 0 for texts

// The file's bytes, into a zeroed writer.
void m_model_write(const m_model *m, ox_writer *out);

#endif
