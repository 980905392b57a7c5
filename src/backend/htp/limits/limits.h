// SPDX-License-Identifier: MIT
//
// Limits of the HTP beyond data types. supported.def states them in words, "in[0]: rank<=4 ;
// keep_dims: only 0": clauses of a subject (operand, parameter, or none for the op) and a text.
// limits.def gives each text its rules; limits.c walks the clauses, limits_shape.c and
// limits_quant.c hold the rules.
#ifndef QRN_BACKEND_HTP_LIMITS_H
#define QRN_BACKEND_HTP_LIMITS_H

#include "backend/htp/htp.h"

struct qrn_htp_limit;

// One clause applied to one call.
typedef struct qrn_htp_site {
    const qrn_htp_device *device;
    const qrn_op_call *call;
    const qrn_support_row *row;
    const struct qrn_htp_limit *limit;
    const char *text;         // of the clause, without its subject
    size_t text_length;       // bytes of it that belong to the clause
    const qrn_tensor *tensor; // operand; NULL: the clause is not about an operand
    bool is_output;
    uint32_t index;      // of the operand
    const char *param;   // name of the parameter; NULL: the clause is not about one
    uint32_t rank_limit; // largest rank that a later release allows for the op, 0: none
} qrn_htp_site;

typedef qrn_status (*qrn_htp_rule)(const qrn_htp_site *s);

#define QRN_HTP_RULES 6

// What a text means. Rules must all hold; a text without rules restricts nothing.
typedef struct qrn_htp_limit {
    const char *text; // "*" at the end stands for the rest
    qrn_htp_rule rules[QRN_HTP_RULES];
    // What the rules read; 0 where they do not.
    uint32_t arch;        // oldest architecture
    uint32_t rank;        // raises the rank limit, of the whole op in a later release's row
    int32_t offset;       // of a fixed encoding
    float scale;          // of a fixed encoding
    qrn_dtype_mask types; // data types it is about
    const char *values;   // names or numbers a parameter may have, separated by spaces
    const char *param;    // for a text without subject: the parameter it is about
    const char *why;      // why there are no rules
    uint32_t input;       // for a text without subject: 1 + the input it is about
} qrn_htp_limit;

// Do the published limits allow the call on this device? Types were found good before.
qrn_status qrn_htp_limits_check(const qrn_htp_device *d, const qrn_op_call *call);

// The meaning of a clause without its subject; NULL: none is known. n bytes.
const qrn_htp_limit *qrn_htp_limit_find(const char *text, size_t n);

// The i-th row of limits.def; NULL behind the last one.
const qrn_htp_limit *qrn_htp_limit_at(size_t i);

// Fails with "input 1: <what>, HTP ..." and the clause that says so.
qrn_status qrn_htp_refuse(const qrn_htp_site *s, qrn_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// Fails on a device that is older than the limit's architecture.
qrn_status qrn_htp_needs_arch(const qrn_htp_site *s, const char *what);

// Name of the value of an enumerated parameter; "" when it has none.
const char *qrn_htp_enumerator(const qrn_op_call *c, const char *param);

// --- rules (limits_shape.c)
qrn_status qrn_htp_rank_within(const qrn_htp_site *s);
qrn_status qrn_htp_rank_of_instance_norm(const qrn_htp_site *s);
qrn_status qrn_htp_rank5_types(const qrn_htp_site *s);
qrn_status qrn_htp_static_dims(const qrn_htp_site *s);
qrn_status qrn_htp_absent(const qrn_htp_site *s);
qrn_status qrn_htp_absent_or_zero(const qrn_htp_site *s);
qrn_status qrn_htp_operation_types(const qrn_htp_site *s);
qrn_status qrn_htp_not_negative(const qrn_htp_site *s);
qrn_status qrn_htp_fits_i32(const qrn_htp_site *s);
qrn_status qrn_htp_value_in(const qrn_htp_site *s);
qrn_status qrn_htp_value_listed(const qrn_htp_site *s);
qrn_status qrn_htp_axis_last(const qrn_htp_site *s);
qrn_status qrn_htp_axis_within(const qrn_htp_site *s);
qrn_status qrn_htp_axes_last(const qrn_htp_site *s);
qrn_status qrn_htp_dilation_unstrided(const qrn_htp_site *s);
qrn_status qrn_htp_dilation_unstrided_or_2x2(const qrn_htp_site *s);
qrn_status qrn_htp_dilation_depth_1(const qrn_htp_site *s);
qrn_status qrn_htp_lrn_area(const qrn_htp_site *s);
qrn_status qrn_htp_min_arch(const qrn_htp_site *s);

// --- rules (limits_quant.c)
qrn_status qrn_htp_encoding_of_input0(const qrn_htp_site *s);
qrn_status qrn_htp_encoding_fixed(const qrn_htp_site *s);
qrn_status qrn_htp_symmetric(const qrn_htp_site *s);
qrn_status qrn_htp_axis_is_channel(const qrn_htp_site *s);
qrn_status qrn_htp_groups_signed_symmetric(const qrn_htp_site *s);
qrn_status qrn_htp_bw_axis_static(const qrn_htp_site *s);
qrn_status qrn_htp_axis_constant(const qrn_htp_site *s);
qrn_status qrn_htp_weight16(const qrn_htp_site *s);
qrn_status qrn_htp_expansion(const qrn_htp_site *s);
qrn_status qrn_htp_expansion_untransposed(const qrn_htp_site *s);
qrn_status qrn_htp_float_activation(const qrn_htp_site *s);
qrn_status qrn_htp_float_blocks(const qrn_htp_site *s);
qrn_status qrn_htp_bits_8_or_4(const qrn_htp_site *s);
qrn_status qrn_htp_axis_bits_2(const qrn_htp_site *s);

#endif
