// SPDX-License-Identifier: MIT
//
// An ONNX model in memory: graphs, nodes, attributes and tensors as the file has them, with names
// as C strings in an arena and tensor data left in the mapped file. Values are not interpreted
// here.
#ifndef QRN_FRONTEND_ONNX_MODEL_H
#define QRN_FRONTEND_ONNX_MODEL_H

#include "base/arena.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/strmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OX_MAX_RANK 8

// Element types; the numbers are ONNX's.
typedef enum ox_type {
    OX_NONE = 0,
    OX_F32 = 1,
    OX_U8 = 2,
    OX_I8 = 3,
    OX_U16 = 4,
    OX_I16 = 5,
    OX_I32 = 6,
    OX_I64 = 7,
    OX_STRING = 8,
    OX_BOOL = 9,
    OX_F16 = 10,
    OX_F64 = 11,
    OX_U32 = 12,
    OX_U64 = 13,
    OX_COMPLEX64 = 14,
    OX_COMPLEX128 = 15,
    OX_BF16 = 16,
    OX_F8E4M3FN = 17,
    OX_F8E4M3FNUZ = 18,
    OX_F8E5M2 = 19,
    OX_F8E5M2FNUZ = 20,
    OX_U4 = 21,
    OX_I4 = 22,
    OX_F4E2M1 = 23,
    OX_F8E8M0 = 24,
    OX_U2 = 25,
    OX_I2 = 26
} ox_type;

// Types of attributes; the numbers are ONNX's AttributeType.
typedef enum ox_attr_type {
    OX_ATTR_NONE = 0,
    OX_ATTR_FLOAT = 1,
    OX_ATTR_INT = 2,
    OX_ATTR_STRING = 3,
    OX_ATTR_TENSOR = 4,
    OX_ATTR_GRAPH = 5,
    OX_ATTR_FLOATS = 6,
    OX_ATTR_INTS = 7,
    OX_ATTR_STRINGS = 8,
    OX_ATTR_TENSORS = 9,
    OX_ATTR_GRAPHS = 10
} ox_attr_type;

const char *ox_type_name(int type); // "float32", "int64", ...; "type 17" style text for others
unsigned ox_type_bits(int type);    // 0 for types without a fixed size
qrn_dtype ox_type_dtype(int type);  // SQ4, UQ4: 4-bit integers; COUNT: no plain numbers

// Encoding of a quantized value: real = scale * (q - zero).
typedef struct ox_enc {
    uint32_t n;     // 1: per tensor; else one pair per index of axis (or per block)
    int32_t axis;   // n > 1
    uint32_t block; // > 0: blocks of this length along `axis`, pairs in row-major order
    const float *scales;
    const int32_t *zeros; // NULL: all 0
} ox_enc;

// A constant: data dense, little-endian, 4-bit types two per byte (low nibble first). Large floats
// may lie unaligned in the file; all else is aligned.
typedef struct ox_tensor {
    const char *name;
    int type;
    uint32_t rank;
    uint64_t dims[OX_MAX_RANK];
    const void *data;
    size_t bytes;
    const ox_enc *enc; // of a quantized constant, where the format says so; NULL: its nodes do
} ox_tensor;

typedef struct ox_attr {
    const char *name;
    const char *ref; // inside a function: the function's attribute that gives the value
    int type;        // an ox_attr_type; of those behind OX_ATTR_STRINGS only the type is kept
    float f;
    int64_t i;
    const char *s; // also terminated; may hold NULs: length s_len
    size_t s_len;
    const ox_tensor *t;
    struct ox_graph *g;
    const float *floats;
    const int64_t *ints;
    const char *const *strings;
    uint32_t n; // of floats, ints or strings
} ox_attr;

typedef struct ox_node {
    const char *name; // as in the file, or made from its position when empty
    const char *op;
    const char *domain;   // "" for the standard
    const char *overload; // which of several functions of that name; NULL or "": the plain one
    const char **in;      // "" = absent
    const char **out;     // "" = not wanted
    uint32_t n_in, n_out;
    const ox_attr *attrs;
    uint32_t n_attrs;
} ox_node;

// Declared type and shape of a value.
typedef struct ox_info {
    const char *name;
    int type; // OX_NONE: not a tensor, or unknown
    bool has_shape;
    uint32_t rank;
    int64_t dims[OX_MAX_RANK];        // -1: symbolic or unknown
    bool given;                       // ox_bind_shape: names that it shares do not change it
    const char *symbols[OX_MAX_RANK]; // name of a symbolic dimension, or NULL
    const ox_enc *enc;                // as in ox_tensor
} ox_info;

typedef struct ox_graph {
    const char *name;
    const ox_node *nodes;
    const ox_tensor *constants; // initializers
    const ox_info *inputs, *outputs, *infos;
    uint32_t n_nodes, n_constants, n_inputs, n_outputs, n_infos;
} ox_graph;

typedef struct ox_opset {
    const char *domain;
    int64_t version;
} ox_opset;

// A function of the model itself; calls to it are expanded while importing.
typedef struct ox_function {
    const char *name, *domain, *overload;
    const struct ox_function *next; // of the same name
    const char **in, **out, **attrs;
    uint32_t n_in, n_out, n_attrs;
    const ox_attr *defaults; // attributes that have a default value, besides attrs
    uint32_t n_defaults;
    const ox_node *nodes;
    uint32_t n_nodes;
} ox_function;

// An entry of the model's metadata, as the file has it.
typedef struct ox_fact {
    const void *message; // StringStringEntryProto
    size_t bytes;
} ox_fact;

struct ox_import; // import.h

typedef struct ox_model {
    qrn_arena *arena;            // everything but the mappings
    struct ox_mapping *mappings; // the file and its external data
    const char *path, *producer;
    int64_t ir_version;
    const ox_opset *opsets;
    uint32_t n_opsets;
    const ox_fact *facts; // not interpreted, for writers of models
    uint32_t n_facts;
    const ox_function *functions;
    uint32_t n_functions;
    qrn_strmap functions_by_name; // the first of each name
    ox_graph *graph;
    // (optional) A model of another format that poses as one of ONNX: nodes of this very domain
    // (by its address) are imported by this function.
    const char *foreign_domain;
    qrn_status (*import_foreign)(struct ox_import *im, const ox_node *n);
} ox_model;

// Reads a model; the message of a failure names file, offset and what was expected.
qrn_status ox_model_open(const char *path, ox_model **out);
// The same from memory that outlives the model; external data is refused.
qrn_status ox_model_parse(const void *data, size_t size, const char *name, ox_model **out);
void ox_model_close(ox_model *m); // NULL is fine
// What a file is that begins with these bytes, if that is not an ONNX model: "a NumPy array", maybe
// with "; " and advice on models behind it. NULL: not known.
const char *ox_foreign_format(const void *data, size_t size);
// Are the model's files as they were when they were opened? Ask after their weights were read.
qrn_status ox_model_check(const ox_model *m);

// bind.c
// Sizes (at least 1) for dynamic dimensions of the main graph's inputs: of every one with this
// name (*found: how many), of one dimension, or of all dimensions of an input, which may have
// declared none. A fixed dimension of another size is QRN_E_SHAPE. The array of inputs is replaced.
qrn_status ox_bind_symbol(ox_model *m, const char *symbol, int64_t size, uint32_t *found);
qrn_status ox_bind_dim(ox_model *m, uint32_t input, uint32_t d, int64_t size);
qrn_status ox_bind_shape(ox_model *m, uint32_t input, uint32_t rank, const int64_t *dims);
// Which of these inputs still have dynamic shapes, as one sentence, with the command line's flags
// that set them or without; cut where it does not fit. Returns how many; 0: none, and buf is empty.
uint32_t ox_describe_dynamic(const ox_info *const *inputs, uint32_t n, bool flags, char *buf,
                             size_t size);
// QRN_E_DYNAMIC_SHAPE with that sentence where an input that is no constant has a dynamic shape.
qrn_status ox_check_static(const ox_model *m, bool flags);

// NULL: the model has no such function.
const ox_function *ox_model_function(const ox_model *m, const char *domain, const char *name,
                                     const char *overload);

// Version of a domain that the model imports; 0 when it does not.
int64_t ox_model_opset(const ox_model *m, const char *domain);

// Attribute by name; NULL when absent. The typed ones return the fallback when absent.
const ox_attr *ox_attr_find(const ox_node *n, const char *name);
int64_t ox_attr_int(const ox_node *n, const char *name, int64_t fallback);
float ox_attr_float(const ox_node *n, const char *name, float fallback);
const char *ox_attr_string(const ox_node *n, const char *name, const char *fallback);
// Copies an integer list into dst[max]; returns its length, 0 when absent.
uint32_t ox_attr_ints(const ox_node *n, const char *name, int64_t *dst, uint32_t max);

#endif
