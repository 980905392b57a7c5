// SPDX-License-Identifier: MIT
//
// The ops of a compiled graph. An op is what a step means; the reference row of its kernel family
// is the definition, and its parameter struct holds the attributes. A table describes the
// attributes, so that a step can be printed, stored and read back, and a check says whether
// operands and attributes fit each other.
#ifndef QRN_COMPILER_OP_H
#define QRN_COMPILER_OP_H

#include "kernels/kernel.h"

typedef enum qrn_attr_kind {
    QRN_ATTR_BOOL,
    QRN_ATTR_U8,
    QRN_ATTR_U32,
    QRN_ATTR_I32,
    QRN_ATTR_I64,
    QRN_ATTR_F32,
    QRN_ATTR_F64
} qrn_attr_kind;

// A member of a parameter struct, or `count` of them, `stride` bytes apart.
typedef struct qrn_attr {
    const char *name;
    uint32_t offset, stride;
    uint16_t count;
    uint8_t kind; // qrn_attr_kind
} qrn_attr;

// Why a step must not run; NULL: it may. Given are operands of valid type, shape and encoding (at
// least 1 in every dimension, byte size below SIZE_MAX, groups of an encoding as many as its axis
// or blocks need), as many as the op has, `data` set for constants and NULL for everything else,
// and `args` of the family's size with any content (bools are 0 or 1). A step that passes makes
// every row of the family that can be selected stay inside the operands, its scratch memory and
// defined behaviour whatever the data is, in a time bounded by the sizes of the operands; a row
// may still return an error for what it finds in the data.
typedef const char *(*qrn_cop_check)(const qrn_kcall *k, qrn_domain domain);

#define QRN_COP_MANY 0xffff // any number of operands

typedef struct qrn_cop {
    uint32_t id; // in context binaries; 0: cannot be stored (ops of user packages)
    const char *name;
    const qrn_family *family; // its definition, and what runs it on the CPU
    const qrn_attr *attrs;    // every member of the parameter struct
    uint32_t n_attrs;
    uint16_t min_in, max_in, min_out, max_out; // operands, absent ones included
    // Bits of the inputs and outputs that must be there; those from number 32 on always must.
    uint32_t needs_in, needs_out;
    qrn_cop_check check; // NULL: a stored step of this op is not accepted
    // (optional) Bytes that its rows keep from one execution to the next, at least; asked after
    // check was content. NULL: none.
    size_t (*state)(const qrn_kcall *k);
} qrn_cop;

enum {
#define QRN_COP(number, op) QRN_COP_ID_##op = number,
#include "compiler/ops.def"
#undef QRN_COP
};
#define QRN_COP(number, op) extern const qrn_cop qrn_cop_##op;
#include "compiler/ops.def"
#undef QRN_COP

// By number; NULL when there is none.
const qrn_cop *qrn_cop_by_id(uint32_t id);

// Words of 4 bytes that the attributes of an op take when they are stored.
uint32_t qrn_cop_attr_words(const qrn_cop *op);
// Element `i` of an attribute as bits, and back; false: a bool that is neither 0 nor 1.
uint64_t qrn_attr_get(const void *args, const qrn_attr *a, uint32_t i);
bool qrn_attr_set(void *args, const qrn_attr *a, uint32_t i, uint64_t bits);

// --- for the tables of ops

#define QRN_COP_HEAD(op) .id = QRN_COP_ID_##op, .name = #op, .family = &qrn_family_##op
#define QRN_COP_ATTRS(list) .attrs = list, .n_attrs = sizeof(list) / sizeof((list)[0])
// Numbers of operands, and the bits of those that must be there.
#define QRN_COP_IN(least, most, needed) .min_in = least, .max_in = most, .needs_in = needed
#define QRN_COP_OUT(least, most, needed) .min_out = least, .max_out = most, .needs_out = needed

#define QRN_ATTR_KIND_OF(x)                                                                        \
    _Generic((x), bool                                                                             \
             : QRN_ATTR_BOOL, uint8_t                                                              \
             : QRN_ATTR_U8, uint32_t                                                               \
             : QRN_ATTR_U32, int32_t                                                               \
             : QRN_ATTR_I32, int64_t                                                               \
             : QRN_ATTR_I64, float                                                                 \
             : QRN_ATTR_F32, double                                                                \
             : QRN_ATTR_F64)
// A member.
#define QRN_ATTR(T, member)                                                                        \
    {                                                                                              \
        .name = #member, .offset = offsetof(T, member), .stride = sizeof(((T *)0)->member),        \
        .count = 1, .kind = QRN_ATTR_KIND_OF(((T *)0)->member)                                     \
    }
// An array of numbers.
#define QRN_ATTR_ARRAY(T, member)                                                                  \
    {                                                                                              \
        .name = #member, .offset = offsetof(T, member), .stride = sizeof(((T *)0)->member[0]),     \
        .count = sizeof(((T *)0)->member) / sizeof(((T *)0)->member[0]),                           \
        .kind = QRN_ATTR_KIND_OF(((T *)0)->member[0])                                              \
    }
// A member of an array of structs.
#define QRN_ATTR_OF_EACH(T, array, member)                                                         \
    {                                                                                              \
        .name = #member, .offset = offsetof(T, array[0].member),                                   \
        .stride = sizeof(((T *)0)->array[0]),                                                      \
        .count = sizeof(((T *)0)->array) / sizeof(((T *)0)->array[0]),                             \
        .kind = QRN_ATTR_KIND_OF(((T *)0)->array[0].member)                                        \
    }

// The element type that real operands have in a domain; QRN_DTYPE_COUNT in RAW: any.
static inline qrn_dtype qrn_domain_dtype(qrn_domain d) {
    return d == QRN_DOMAIN_F32   ? QRN_DTYPE_F32
           : d == QRN_DOMAIN_F64 ? QRN_DTYPE_F64
           : d == QRN_DOMAIN_I64 ? QRN_DTYPE_I64
                                 : QRN_DTYPE_COUNT;
}

#endif
