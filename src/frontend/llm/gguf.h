// SPDX-License-Identifier: MIT
//
// GGUF files, version 2 and 3: a language model's metadata, tokenizer and weights, as llama.cpp
// keeps them. The file is mapped and checked whole when it is opened: every length, count, type and
// place, so that whatever these functions return afterwards lies inside the file. Failures name the
// file and the key or tensor.
#ifndef QRN_FRONTEND_LLM_GGUF_H
#define QRN_FRONTEND_LLM_GGUF_H

#include "base/arena.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// X(NAME, number in the file, bytes (0: it varies), in words)
#define QL_GGUF_KINDS(X)                                                                           \
    X(U8, 0, 1, "uint8")                                                                           \
    X(I8, 1, 1, "int8")                                                                            \
    X(U16, 2, 2, "uint16")                                                                         \
    X(I16, 3, 2, "int16")                                                                          \
    X(U32, 4, 4, "uint32")                                                                         \
    X(I32, 5, 4, "int32")                                                                          \
    X(F32, 6, 4, "float32")                                                                        \
    X(BOOL, 7, 1, "bool")                                                                          \
    X(STRING, 8, 0, "string")                                                                      \
    X(ARRAY, 9, 0, "array")                                                                        \
    X(U64, 10, 8, "uint64")                                                                        \
    X(I64, 11, 8, "int64")                                                                         \
    X(F64, 12, 8, "float64")

typedef enum ql_gguf_kind {
#define X(name, number, bytes, text) QL_GGUF_##name = number,
    QL_GGUF_KINDS(X)
#undef X
} ql_gguf_kind;

// Types of tensors; ql_gguf_type_name names them.
typedef enum ql_ggml_type {
#define X(name, number, block, bytes) QL_GGML_##name = number,
#include "frontend/llm/gguf_types.def"
#undef X
} ql_ggml_type;

// Text in the file: UTF-8 by convention, which nobody checked; no zero behind it, maybe some in it.
typedef struct ql_text {
    const char *data;
    size_t n;
} ql_text;

// A value of the metadata, or an element of an array. Not aligned: read it by ql_gguf_as_*.
typedef struct ql_gguf_value {
    ql_gguf_kind kind, element; // element: of an array
    uint64_t n;                 // elements of an array; bytes of a string
    const uint8_t *at;          // the number, text or first element
} ql_gguf_value;

typedef struct ql_gguf_key {
    const char *name;
    ql_gguf_value value;
} ql_gguf_key;

#define QL_GGUF_RANK 4
typedef struct ql_gguf_tensor {
    const char *name;
    ql_ggml_type type;
    uint32_t rank;               // 1 to 4
    uint64_t dims[QL_GGUF_RANK]; // the innermost first, all at least 1; 1 behind the rank
    uint64_t n_values;           // product of dims
    size_t bytes;                // of data
    const uint8_t *data;         // in the file, aligned as the file says (32 unless it says more)
} ql_gguf_tensor;

typedef struct ql_gguf {
    const char *path; // or another name, for messages
    uint32_t version;
    const ql_gguf_key *keys; // as the file orders them
    uint32_t n_keys;
    const ql_gguf_tensor *tensors; // as the file orders them
    uint32_t n_tensors;
} ql_gguf;

// By the first four bytes.
bool ql_gguf_is_file(const char *path);
qrn_status ql_gguf_open(const char *path, ql_gguf **out);
// The same of memory that outlives it.
qrn_status ql_gguf_parse(const void *data, size_t size, const char *name, ql_gguf **out);
void ql_gguf_close(ql_gguf *g); // NULL is fine
// Is the file still as it was when it was opened?
qrn_status ql_gguf_check(const ql_gguf *g);

// NULL where there is none of that name.
const ql_gguf_value *ql_gguf_find(const ql_gguf *g, const char *key);
const ql_gguf_tensor *ql_gguf_tensor_of(const ql_gguf *g, const char *name);

// A value of a key that must be there, of any type that has it: integers of every width, floats of
// both. `most`: the largest that the caller can use. Texts and lists point into the file; a list's
// array is in the arena.
qrn_status ql_gguf_uint(const ql_gguf *g, const char *key, uint64_t most, uint64_t *out);
qrn_status ql_gguf_float(const ql_gguf *g, const char *key, double *out);
qrn_status ql_gguf_bool(const ql_gguf *g, const char *key, bool *out);
qrn_status ql_gguf_text(const ql_gguf *g, const char *key, ql_text *out);
qrn_status ql_gguf_texts(const ql_gguf *g, const char *key, qrn_arena *arena, ql_text **out,
                         uint32_t *n);
qrn_status ql_gguf_ints(const ql_gguf *g, const char *key, qrn_arena *arena, int64_t **out,
                        uint32_t *n);

// One number of any type, as a double (a bool is 0 or 1).
double ql_gguf_number(const ql_gguf_value *v);
// Takes the first element off an array: *rest is what is left. False at the end.
bool ql_gguf_next(ql_gguf_value *rest, ql_gguf_value *out);

const char *ql_gguf_kind_name(ql_gguf_kind kind);
const char *ql_gguf_type_name(ql_ggml_type type);
// Values and bytes of a block.
uint32_t ql_gguf_block(ql_ggml_type type, uint32_t *bytes);

#endif
