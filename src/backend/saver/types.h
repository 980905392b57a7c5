// SPDX-License-Identifier: MIT
//
// Descriptions of the public structs, from which one function writes them all: a row for each
// member says where it lies, what it is and, for members of unions, when it is the one that counts.
#ifndef QRN_BACKEND_SAVER_TYPES_H
#define QRN_BACKEND_SAVER_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum qrn_saved_kind {
    QRN_SAVED_U8, // numbers; bool is one, too
    QRN_SAVED_U16,
    QRN_SAVED_U32,
    QRN_SAVED_I8,
    QRN_SAVED_I16,
    QRN_SAVED_I32,
    QRN_SAVED_U64,
    QRN_SAVED_I64,
    QRN_SAVED_F32,
    QRN_SAVED_F64,
    QRN_SAVED_ENUM,   // `values` names them
    QRN_SAVED_STRING, // const char *
    QRN_SAVED_STRUCT, // of `type`, by value
    QRN_SAVED_ONE,    // pointer to one of `type`
    // Pointers to several; the first and the last of them stand for the range.
    QRN_SAVED_STRINGS,  // pointer to strings: `count` of them, or up to a NULL
    QRN_SAVED_MANY,     // pointer to `count` of `type`
    QRN_SAVED_POINTERS, // pointer to `count` pointers to one of `type`
    QRN_SAVED_LIST,     // the same up to a NULL: options, of which custom ones may be left out
    QRN_SAVED_NUMBERS,  // pointer to `count` numbers of kind `element`
    QRN_SAVED_BYTES,    // pointer to `count` bytes, which go to the data file
    QRN_SAVED_ROOM,     // pointer to `count` bytes to be written to
    QRN_SAVED_HANDLES,  // pointer to `count` handles
    QRN_SAVED_HANDLE,   // a handle of kind `object`
    QRN_SAVED_NEW,      // pointer to a handle that the call makes
    QRN_SAVED_FRESH,    // pointer to a value of C type `word` that the call writes
    QRN_SAVED_WORD,     // `word` unless it is NULL: functions
    QRN_SAVED_ALWAYS,   // `word`, whatever the client gave
    QRN_SAVED_ID,       // number of a tensor
    QRN_SAVED_TENSOR,   // a tensor that the call makes
    QRN_SAVED_OUTPUTS,  // pointer to `count` tensors that the call writes to
    QRN_SAVED_MEMS,     // pointer to `count` descriptors of memory, whose handles come next
    QRN_SAVED_CUSTOM,   // option of the backend, of component `object`
    QRN_SAVED_FD,       // file descriptor of memory that is being registered
    QRN_SAVED_MEM_INFO, // the backend's own descriptor of it
    QRN_SAVED_RAW,      // data that a callback gave
    QRN_SAVED_PROVIDER, // callback that gives the bytes of the argument after it
} qrn_saved_kind;

typedef struct qrn_saved_value {
    const char *name;
    uint32_t value;
} qrn_saved_value;

typedef struct qrn_saved_enum {
    const char *name; // of the C type
    const qrn_saved_value *values;
    size_t n_values;
} qrn_saved_enum;

struct qrn_saver_writer;
typedef struct qrn_saved_type qrn_saved_type;

typedef struct qrn_saved_field {
    const char *name;
    size_t offset;
    const qrn_saved_type *type;
    const qrn_saved_enum *values;
    const char *word;
    size_t count_at; // offset of the count + 1; 0: `count` or none
    uint64_t (*count)(const struct qrn_saver_writer *w, const void *base);
    size_t when_at; // offset of the selector + 1; 0: the member always counts
    uint32_t when;  // value that selects the member
    qrn_saved_kind kind, element;
    int object;
    bool plain;    // POINTERS, LIST: what they lead to is not const; ONE: it is written to
    bool is_64bit; // the count has 64 bits
} qrn_saved_field;

struct qrn_saved_type {
    const char *name;
    size_t size;
    const qrn_saved_field *fields;
    size_t n_fields;
    bool is_plain;  // holds no pointers: many of them may go to the data file
    bool is_tensor; // one of the two versions
};

// Types that calls name.
extern const qrn_saved_type qrn_type_tensor, qrn_type_op_config, qrn_type_backend_config,
    qrn_type_context_config, qrn_type_graph_config, qrn_type_device_config, qrn_type_profile_config,
    qrn_type_signal_config, qrn_type_global_config, qrn_type_buffer, qrn_type_scalar, qrn_type_mem,
    qrn_type_environment, qrn_type_backend_property, qrn_type_context_property,
    qrn_type_graph_property, qrn_type_validate_config, qrn_type_power, qrn_type_memory_config;
extern const qrn_saved_enum qrn_enum_log_level, qrn_enum_section;

// Whose option it is.
typedef enum qrn_saved_component {
    QRN_OPTION_BACKEND,
    QRN_OPTION_DEVICE,
    QRN_OPTION_CONTEXT,
    QRN_OPTION_GRAPH,
    QRN_OPTION_MEM,
    QRN_OPTION_INFO, // of a device
    QRN_OPTION_OTHER
} qrn_saved_component;

// Struct behind a custom option of a backend; NULL when it is not known, or when its own selector
// names something that is not in our tables.
const qrn_saved_type *qrn_saved_custom(uint32_t backend_id, int component, const void *custom);
// The struct as today's headers have it: itself, or a copy in `room` (QRN_SAVED_COPY_BYTES) when
// clients built with older headers send another form.
#define QRN_SAVED_COPY_BYTES 64
const void *qrn_saved_settle(const qrn_saved_type *t, const void *custom, void *room);
// Is it one of Quern/QuernBackend.h? Those are about this machine and no part of a recording.
bool qrn_saved_is_ours(int component, const void *custom);

#endif
