// SPDX-License-Identifier: MIT
//
// What a backend is published to support: one row per op and configuration, with the data types of
// each operand. Tables are written as src/backend/<name>/supported.def.
#ifndef QRN_IR_SUPPORT_H
#define QRN_IR_SUPPORT_H

#include "ir/op.h"

// X(name, text). What a row says about its op and configuration.
#define QRN_ANSWER_LIST(X)                                                                         \
    X(NO, "no")                                                                                    \
    X(LISTED_NO, "listed-no") /* types are printed, but the overview says no */                    \
    X(YES, "yes")                                                                                  \
    X(DELTA, "delta-yes")   /* added by a later release; widens the other rows of the op */        \
    X(UNKNOWN, "unknown")   /* not listed, but a client relies on it */                            \
    X(OBSERVED, "observed") /* not listed, but the original library accepts it */

typedef enum qrn_answer {
#define X(name, text) QRN_ANSWER_##name,
    QRN_ANSWER_LIST(X)
#undef X
} qrn_answer;

#define QRN_SUPPORT_LAST 255 // `last` of a variadic range

// Types of one operand, or of a run of operands.
typedef struct qrn_support_operand {
    bool is_output;
    uint8_t first, last; // positions, inclusive
    qrn_dtype_mask types;
} qrn_support_operand;

// One combination of types that works together. Operands that are not named are free.
typedef struct qrn_support_alt {
    const qrn_support_operand *operands;
    size_t n_operands;
} qrn_support_alt;

typedef struct qrn_support_row {
    const char *op;
    const char *config; // "fp32", "int8", ...
    uint8_t answer;     // qrn_answer
    const qrn_support_alt *alts;
    size_t n_alts;           // 0 with YES or UNKNOWN: every type of the op table
    const char *note;        // words about the types that are not in alts, or ""
    const char *params;      // "axis=u32 keep_dims=b8": types of parameters, or ""
    const char *constraints; // further limits in words, separated by " ; ", or ""
} qrn_support_row;

typedef enum qrn_support_mode {
    QRN_SUPPORT_SUPERSET, // whatever the op table allows; rows are documentation
    QRN_SUPPORT_UNION,    // types are published per operand: any mix of an op's rows works
    QRN_SUPPORT_EXACT     // one alternative of one row must fit all operands
} qrn_support_mode;

typedef struct qrn_support_table {
    const char *backend; // "CPU", for messages
    qrn_support_mode mode;
    const qrn_support_row *rows; // in any order
    size_t n_rows;
    bool (*all)(void);        // (optional) true: for now, whatever the op table allows
    const char *no_quantized; // (optional) UNION: said when a quantized type is rejected
} qrn_support_table;

// Does the backend have the op at all?
bool qrn_support_has(const qrn_support_table *t, const char *op);

// Is the row one that counts for the call: of its op, and with an alternative that fits its types?
bool qrn_support_row_fits(const qrn_support_row *r, const qrn_op_call *c);

// Are the call's operand types supported? The call must have passed qrn_op_validate. Fails with
// QRN_E_OP_UNKNOWN for an op the backend lacks and QRN_E_DTYPE for types, saying what would do.
qrn_status qrn_support_check(const qrn_support_table *t, const qrn_op_call *c);

#endif
