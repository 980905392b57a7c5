// SPDX-License-Identifier: MIT
//
// Checks the operand types of a call against a backend's table of supported combinations.
#include "ir/support.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool row_counts(const qrn_support_row *r, const char *op) {
    return r->answer != QRN_ANSWER_NO && r->answer != QRN_ANSWER_LISTED_NO &&
           strcmp(r->op, op) == 0;
}

// A row without alternatives stands for every type, except that later releases also publish rows
// that only lift some other limit, and such rows are observed.
static bool row_is_open(const qrn_support_row *r) {
    return r->n_alts == 0 && r->answer != QRN_ANSWER_DELTA && r->answer != QRN_ANSWER_OBSERVED;
}

bool qrn_support_has(const qrn_support_table *t, const char *op) {
    if (t->mode == QRN_SUPPORT_SUPERSET)
        return qrn_op_find(op) != NULL;
    for (size_t i = 0; i < t->n_rows; i++)
        if (row_counts(&t->rows[i], op))
            return true;
    return false;
}

static bool covers(const qrn_support_operand *o, bool is_output, uint32_t i) {
    return o->is_output == is_output && i >= o->first &&
           (i <= o->last || o->last == QRN_SUPPORT_LAST);
}

static bool alt_fits_side(const qrn_support_alt *a, bool is_output,
                          const qrn_tensor *const *tensors, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!tensors[i])
            continue;
        qrn_dtype_mask have = (qrn_dtype_mask)1 << tensors[i]->dtype;
        for (size_t k = 0; k < a->n_operands; k++)
            if (covers(&a->operands[k], is_output, i) && !(a->operands[k].types & have))
                return false;
    }
    return true;
}

static bool alt_fits(const qrn_support_alt *a, const qrn_op_call *c) {
    return alt_fits_side(a, false, c->in, c->n_in) && alt_fits_side(a, true, c->out, c->n_out);
}

bool qrn_support_row_fits(const qrn_support_row *r, const qrn_op_call *c) {
    if (!row_counts(r, c->op->name))
        return false;
    for (size_t k = 0; k < r->n_alts; k++)
        if (alt_fits(&r->alts[k], c))
            return true;
    return row_is_open(r);
}

// A line that grows until it is full.
typedef struct line {
    char text[QRN_MESSAGE_MAX / 2];
    size_t used;
} line;

static void append(line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void append(line *l, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(l->text + l->used, sizeof l->text - l->used, fmt, ap);
    va_end(ap);
    if (n > 0 && l->used + (size_t)n < sizeof l->text)
        l->used += (size_t)n;
    l->text[l->used] = '\0'; // a piece that does not fit is left out
}

static void append_types(line *l, const char *what, uint32_t i, bool to_last,
                         qrn_dtype_mask types) {
    char list[192];
    append(l, "%s%s[%u%s]=%s", l->used ? " " : "", what, i, to_last ? ".." : "",
           qrn_dtype_mask_text(types, list, sizeof list));
}

static void append_call(line *l, const qrn_op_call *c) {
    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i])
            append_types(l, "in", i, false, (qrn_dtype_mask)1 << c->in[i]->dtype);
    for (uint32_t i = 0; i < c->n_out; i++)
        if (c->out[i])
            append_types(l, "out", i, false, (qrn_dtype_mask)1 << c->out[i]->dtype);
}

static void append_alt(line *l, const qrn_support_alt *a) {
    if (l->used)
        append(l, " ;");
    for (size_t k = 0; k < a->n_operands; k++) {
        const qrn_support_operand *o = &a->operands[k];
        append_types(l, o->is_output ? "out" : "in", o->first, o->last != o->first, o->types);
    }
}

static qrn_status check_exact(const qrn_support_table *t, const qrn_op_call *c) {
    line have = {0}, allowed = {0};
    for (size_t i = 0; i < t->n_rows; i++) {
        const qrn_support_row *r = &t->rows[i];
        if (!row_counts(r, c->op->name))
            continue;
        if (qrn_support_row_fits(r, c))
            return QRN_OK;
        for (size_t k = 0; k < r->n_alts; k++)
            append_alt(&allowed, &r->alts[k]);
    }
    append_call(&have, c);
    return qrn_op_fail(c, QRN_E_DTYPE, "data types %s not supported by %s, allowed %s", have.text,
                       t->backend, allowed.text);
}

// What all rows of the op together allow for one operand; everything when none names it.
static qrn_dtype_mask union_types(const qrn_support_table *t, const char *op, bool is_output,
                                  uint32_t i) {
    qrn_dtype_mask types = 0;
    for (size_t n = 0; n < t->n_rows; n++) {
        const qrn_support_row *r = &t->rows[n];
        if (!row_counts(r, op))
            continue;
        if (row_is_open(r))
            return ~(qrn_dtype_mask)0;
        for (size_t k = 0; k < r->n_alts; k++)
            for (size_t j = 0; j < r->alts[k].n_operands; j++)
                if (covers(&r->alts[k].operands[j], is_output, i))
                    types |= r->alts[k].operands[j].types;
    }
    return types ? types : ~(qrn_dtype_mask)0;
}

static qrn_status check_union(const qrn_support_table *t, const qrn_op_call *c, bool is_output) {
    const qrn_tensor *const *tensors = is_output ? c->out : c->in;
    uint32_t n = is_output ? c->n_out : c->n_in;
    for (uint32_t i = 0; i < n; i++) {
        if (!tensors[i])
            continue;
        qrn_dtype_mask types = union_types(t, c->op->name, is_output, i);
        if (types & ((qrn_dtype_mask)1 << tensors[i]->dtype))
            continue;
        char list[192];
        if (t->no_quantized && qrn_dtype_is_fixed(tensors[i]->dtype))
            return qrn_op_fail(c, QRN_E_DTYPE, "%s %u (%s): %s", is_output ? "output" : "input", i,
                               qrn_dtypes[tensors[i]->dtype].token, t->no_quantized);
        return qrn_op_fail(c, QRN_E_DTYPE, "%s %u: data type %s not supported by %s, allowed %s",
                           is_output ? "output" : "input", i, qrn_dtypes[tensors[i]->dtype].token,
                           t->backend, qrn_dtype_mask_text(types, list, sizeof list));
    }
    return QRN_OK;
}

qrn_status qrn_support_check(const qrn_support_table *t, const qrn_op_call *c) {
    if (t->all && t->all())
        return QRN_OK;
    if (!qrn_support_has(t, c->op->name))
        return qrn_op_fail(c, QRN_E_OP_UNKNOWN, "op not supported by %s", t->backend);
    switch (t->mode) {
    case QRN_SUPPORT_SUPERSET:
        return QRN_OK;
    case QRN_SUPPORT_UNION:
        QRN_TRY(check_union(t, c, false));
        return check_union(t, c, true);
    case QRN_SUPPORT_EXACT:
        break;
    }
    return check_exact(t, c);
}
