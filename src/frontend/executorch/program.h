// SPDX-License-Identifier: MIT
//
// ExecuTorch programs (.pte files) as read: methods with their values, chains of instructions and
// delegates. Constants and the data of delegates stay where they lie in the file. Everything that
// can be wrong with a file is found here: indices of values, operators and delegates are in range,
// constants and planned tensors lie inside their segments and buffers.
#ifndef QRN_FRONTEND_EXECUTORCH_PROGRAM_H
#define QRN_FRONTEND_EXECUTORCH_PROGRAM_H

#include "base/arena.h"
#include "base/dtype.h"
#include "base/file.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ET_MAX_RANK 16

// Numbers of the format.
enum {
    ET_BYTE = 0,
    ET_CHAR = 1,
    ET_SHORT = 2,
    ET_INT = 3,
    ET_LONG = 4,
    ET_HALF = 5,
    ET_FLOAT = 6,
    ET_DOUBLE = 7,
    ET_BOOL = 11,
    ET_QINT8 = 12,
    ET_QUINT8 = 13,
    ET_QINT32 = 14,
    ET_BFLOAT16 = 15,
    ET_BITS16 = 22,
    ET_UINT16 = 27,
    ET_UINT32 = 28,
    ET_UINT64 = 29
};

typedef enum et_kind {
    ET_KIND_NULL = 1,
    ET_KIND_INT,
    ET_KIND_BOOL,
    ET_KIND_DOUBLE,
    ET_KIND_TENSOR,
    ET_KIND_STRING,
    ET_KIND_INTS, // a list of values that hold integers
    ET_KIND_DOUBLES,
    ET_KIND_BOOLS,
    ET_KIND_TENSORS, // a list of values that hold tensors
    ET_KIND_OPTIONAL_TENSORS
} et_kind;

typedef enum et_place {
    ET_GIVEN,    // the caller brings the memory
    ET_PLANNED,  // in a buffer of the method
    ET_CONSTANT, // in the file
    ET_EXTERNAL  // in another file
} et_place;

typedef struct et_tensor_def {
    uint8_t type;
    uint8_t rank;
    uint8_t place;    // et_place
    bool may_shrink;  // its shape is an upper bound
    const char *name; // of data that is external or can be changed; "" otherwise
    const void *data; // CONSTANT; PLANNED: what it begins with, or NULL
    uint32_t buffer;  // PLANNED: which one
    uint64_t offset;  // PLANNED: in the buffer
    size_t bytes;     // of the largest shape
    int32_t sizes[ET_MAX_RANK];
    uint8_t order[ET_MAX_RANK]; // dimensions from the outermost to the innermost in memory
} et_tensor_def;

typedef struct et_list {
    const int64_t *items; // indices of values (-1: none), or bools
    const double *doubles;
    uint32_t n;
} et_list;

typedef struct et_value {
    uint8_t kind; // et_kind
    union {
        int64_t i; // INT, BOOL
        double d;
        const char *text;
        et_list list;
        et_tensor_def *tensor;
    };
} et_value;

typedef enum et_code { ET_KERNEL = 1, ET_DELEGATE, ET_MOVE, ET_JUMP_FALSE, ET_FREE } et_code;

typedef struct et_instruction {
    uint8_t code;        // et_code
    uint32_t a, b;       // operator or delegate; from, to; condition, destination; value
    const int32_t *args; // indices of values, KERNEL and DELEGATE
    uint32_t n_args;
} et_instruction;

typedef struct et_chain {
    const et_instruction *instructions;
    uint32_t n;
} et_chain;

typedef struct et_operator {
    const char *name, *overload;
} et_operator;

typedef struct et_spec {
    const char *key;
    const void *data;
    uint32_t bytes;
} et_spec;

typedef struct et_delegate_def {
    const char *id;
    const void *data;
    size_t bytes;
    const et_spec *specs;
    uint32_t n_specs;
} et_delegate_def;

typedef struct et_method_def {
    const char *name;
    const et_value *values;
    const int32_t *inputs, *outputs; // indices of values
    const et_chain *chains;
    const et_operator *operators;
    const et_delegate_def *delegates;
    const uint64_t *buffers; // sizes
    uint32_t n_values, n_inputs, n_outputs, n_chains, n_operators, n_delegates, n_buffers;
} et_method_def;

typedef struct et_program {
    const char *path; // for messages
    qrn_arena *arena;
    qrn_file file; // mapped by et_program_open
    uint32_t version;
    const et_method_def *methods;
    uint32_t n_methods, n_segments;
} et_program;

// Do the bytes begin as a program does?
bool et_is_program(const void *data, size_t size);
// The bytes must stay as long as the program. Messages begin with `path`. QRN_E_BINARY: the file is
// broken; QRN_E_UNSUPPORTED: it is of another version.
qrn_status et_program_parse(const void *data, size_t size, const char *path, et_program **out);
qrn_status et_program_open(const char *path, et_program **out);
void et_program_close(et_program *p); // NULL is fine

// Bytes of an element; 0 for types that are not known.
size_t et_type_bytes(unsigned type);
qrn_dtype et_type_dtype(unsigned type);  // COUNT for the same
const char *et_type_name(unsigned type); // "float", "uint16"

#endif
