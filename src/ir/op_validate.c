// SPDX-License-Identifier: MIT
//
// Generic validation of one op against its table row: counts, presence, ranks, types, formats,
// parameters; then the op's rule; then declared against implied output shapes. Every failure says
// what was found and what is allowed. Allocates nothing and trusts no size of the call.
#include "ir/op.h"

#include <stdio.h>
#include <string.h>

// One input or output while it is being checked.
typedef struct operand {
    const qrn_operand_def *def;
    const qrn_tensor *tensor;
    uint32_t index;
    bool is_output;
} operand;

// "input 1 'filter' (tensor 'w0')"
static const char *operand_text(const operand *o, char *buf, size_t size) {
    const char *name = o->tensor && o->tensor->name ? o->tensor->name : "";
    snprintf(buf, size, "%s %u '%s'%s%.80s%s", o->is_output ? "output" : "input", o->index,
             o->def->name, *name ? " (tensor '" : "", name, *name ? "')" : "");
    return buf;
}

static qrn_status operand_fail(const qrn_op_call *c, const operand *o, qrn_status s,
                               const char *what) {
    char who[192];
    return qrn_op_fail(c, s, "%s: %s", operand_text(o, who, sizeof who), what);
}

static void range_text(uint32_t lo, uint32_t hi, char *buf, size_t size) {
    if (lo == hi)
        snprintf(buf, size, "%u", lo);
    else if (hi == QRN_MAX_RANK)
        snprintf(buf, size, "at least %u and at most %u", lo, hi);
    else
        snprintf(buf, size, "%u to %u", lo, hi);
}

static bool is_variadic(const qrn_operand_def *d) {
    return d->presence == QRN_VARIADIC || d->presence == QRN_VARIADIC_ANY;
}

// Positions: how many operands there may be, and whether the required ones are there.
static qrn_status check_counts(const qrn_op_call *c, const qrn_operand_def *defs, uint32_t n_defs,
                               const qrn_tensor *const *have, uint32_t n_have, bool is_output) {
    const char *what = is_output ? "output" : "input";
    bool open_ended = n_defs && is_variadic(&defs[n_defs - 1]);
    if (n_have > n_defs && !open_ended)
        return qrn_op_fail(c, QRN_E_OP_CONFIG, "%u %ss given, at most %u allowed", n_have, what,
                           n_defs);
    uint32_t n = n_have > n_defs ? n_have : n_defs;
    for (uint32_t i = 0; i < n; i++) {
        const qrn_operand_def *d = &defs[i < n_defs ? i : n_defs - 1];
        bool present = i < n_have && have[i];
        bool needed = d->presence == QRN_REQUIRED || d->presence == QRN_VARIADIC ||
                      (d->presence == QRN_VARIADIC_ANY && i < n_have);
        if (needed && !present)
            return qrn_op_fail(c, QRN_E_OP_CONFIG, "%s %u '%s': missing", what, i, d->name);
    }
    return QRN_OK;
}

static qrn_status check_dims(const qrn_op_call *c, const operand *o) {
    const qrn_tensor *t = o->tensor;
    char text[160];
    for (uint32_t i = 0; i < t->shape.rank; i++) {
        if (t->shape.dims[i] != 0 || t->has_dynamic)
            continue;
        snprintf(text, sizeof text, "dimension %u is 0, expected at least 1", i);
        return operand_fail(c, o, QRN_E_SHAPE, text);
    }
    size_t count, bytes;
    if (!qrn_shape_count(&t->shape, &count) || !qrn_dtype_bytes(t->dtype, count, &bytes)) {
        char shape[128];
        snprintf(text, sizeof text, "shape %s has more bytes than can be addressed",
                 qrn_shape_text(&t->shape, shape, sizeof shape));
        return operand_fail(c, o, QRN_E_SHAPE, text);
    }
    return QRN_OK;
}

static qrn_status check_properties(const qrn_op_call *c, const operand *o) {
    const qrn_tensor *t = o->tensor;
    uint32_t flags = c->op->flags;
    bool may_vary = (flags & QRN_OP_DYNAMIC) || (o->is_output && (flags & QRN_OP_OUT_MAX));
    if (t->has_dynamic && !may_vary)
        return operand_fail(c, o, QRN_E_TENSOR_UNSUPPORTED,
                            "dynamic dimensions, the op allows fixed ones only");
    if (t->format == QRN_FORMAT_SPARSE && !(flags & QRN_OP_SPARSE))
        return operand_fail(c, o, QRN_E_TENSOR_UNSUPPORTED,
                            "sparse format, the op allows dense tensors only");
    if (o->is_output && (t->role == QRN_ROLE_STATIC || t->role == QRN_ROLE_INPUT))
        return operand_fail(c, o, QRN_E_OP_CONFIG,
                            t->role == QRN_ROLE_STATIC
                                ? "is a static tensor, which no op may write"
                                : "is written by the application, which no op may write");
    return QRN_OK;
}

static qrn_status check_operand(const qrn_op_call *c, const operand *o) {
    const qrn_tensor *t = o->tensor;
    char text[320], list[192];
    if (t->shape.rank < o->def->rank_min || t->shape.rank > o->def->rank_max) {
        range_text(o->def->rank_min, o->def->rank_max, list, sizeof list);
        snprintf(text, sizeof text, "rank %u, expected %s", t->shape.rank, list);
        return operand_fail(c, o, QRN_E_SHAPE, text);
    }
    if ((unsigned)t->dtype >= QRN_DTYPE_COUNT)
        return operand_fail(c, o, QRN_E_DTYPE, "unknown data type");
    if (!(o->def->types & ((qrn_dtype_mask)1 << t->dtype))) {
        snprintf(text, sizeof text, "data type %s, allowed %s", qrn_dtypes[t->dtype].token,
                 qrn_dtype_mask_text(o->def->types, list, sizeof list));
        return operand_fail(c, o, QRN_E_DTYPE, text);
    }
    QRN_TRY(check_dims(c, o));
    return check_properties(c, o);
}

static qrn_status check_operands(const qrn_op_call *c, bool is_output) {
    const qrn_operand_def *defs = is_output ? c->op->outs : c->op->ins;
    uint32_t n_defs = is_output ? c->op->n_outs : c->op->n_ins;
    const qrn_tensor *const *have = is_output ? c->out : c->in;
    uint32_t n_have = is_output ? c->n_out : c->n_in;
    QRN_TRY(check_counts(c, defs, n_defs, have, n_have, is_output));
    for (uint32_t i = 0; i < n_have; i++) {
        operand o = {&defs[i < n_defs ? i : n_defs - 1], have[i], i, is_output};
        if (have[i])
            QRN_TRY(check_operand(c, &o));
    }
    return QRN_OK;
}

// Clients write i32 where u32 is asked for and the other way round: fine while the value fits.
static bool scalar_type_fits(const qrn_param_def *d, const qrn_param *p) {
    qrn_dtype_mask have = (qrn_dtype_mask)1 << p->dtype;
    if (d->types & have)
        return true;
    if (p->dtype == QRN_DTYPE_I32 && (d->types & QRN_T(U32)))
        return p->value.i >= 0;
    if (p->dtype == QRN_DTYPE_U32 && (d->types & QRN_T(I32)))
        return p->value.u <= INT32_MAX;
    return p->dtype == QRN_DTYPE_U8 && (d->types & QRN_T(B8));
}

static qrn_status check_enumerator(const qrn_op_call *c, const qrn_param_def *d, int64_t value) {
    char list[640];
    size_t used = 0;
    list[0] = '\0';
    for (const qrn_enumerator *e = d->enums; e->name; e++) {
        if (e->value == value)
            return QRN_OK;
        int n = snprintf(list + used, sizeof list - used, "%s%s=%u", used ? ", " : "", e->name,
                         e->value);
        if (n > 0 && used + (size_t)n < sizeof list)
            used += (size_t)n;
    }
    list[used] = '\0';
    return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': unknown enumerator value %lld, allowed %s",
                       d->name, (long long)value, list);
}

static qrn_status check_scalar(const qrn_op_call *c, const qrn_param_def *d, const qrn_param *p) {
    char list[192];
    if ((unsigned)p->dtype >= QRN_DTYPE_COUNT)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': unknown data type", d->name);
    if (!scalar_type_fits(d, p)) {
        bool number = qrn_dtypes[p->dtype].cls == QRN_CLASS_SINT;
        bool swapped = number ? (d->types & QRN_T(U32)) && p->dtype == QRN_DTYPE_I32
                              : (d->types & QRN_T(I32)) && p->dtype == QRN_DTYPE_U32;
        qrn_dtype_mask_text(d->types, list, sizeof list);
        if (swapped)
            return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': value %lld does not fit %s",
                               d->name, (long long)p->value.i, list);
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': data type %s, allowed %s", d->name,
                           qrn_dtypes[p->dtype].token, list);
    }
    if (p->dtype == QRN_DTYPE_STR && !p->value.s)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': no string given", d->name);
    if (d->enums)
        return check_enumerator(c, d, p->value.i); // 32 bits: i and u agree
    return QRN_OK;
}

// A tensor of i32 for u32 (or the other way round) is fine as long as no value changes its meaning.
static bool tensor_type_fits(const qrn_param_def *d, const qrn_tensor *t, size_t count) {
    if (d->types & ((qrn_dtype_mask)1 << t->dtype))
        return true;
    bool swapped = (t->dtype == QRN_DTYPE_I32 && (d->types & QRN_T(U32))) ||
                   (t->dtype == QRN_DTYPE_U32 && (d->types & QRN_T(I32)));
    if (!swapped)
        return false;
    const int32_t *v = t->data;
    for (size_t i = 0; v && i < count; i++)
        if (v[i] < 0)
            return false;
    return true;
}

static qrn_status check_param_tensor(const qrn_op_call *c, const qrn_param_def *d,
                                     const qrn_tensor *t) {
    char list[192];
    size_t count, bytes;
    if (!t)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': no tensor given", d->name);
    if (t->shape.rank < d->rank_min || t->shape.rank > d->rank_max) {
        range_text(d->rank_min, d->rank_max, list, sizeof list);
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': rank %u, expected %s", d->name,
                           t->shape.rank, list);
    }
    if ((unsigned)t->dtype >= QRN_DTYPE_COUNT)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': unknown data type", d->name);
    if (!qrn_shape_count(&t->shape, &count) || !qrn_dtype_bytes(t->dtype, count, &bytes))
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': shape %s is too large", d->name,
                           qrn_shape_text(&t->shape, list, sizeof list));
    if (t->data && t->size_bytes < bytes)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': %zu bytes of data, expected %zu",
                           d->name, t->size_bytes, bytes);
    if (!tensor_type_fits(d, t, count))
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': data type %s, allowed %s", d->name,
                           qrn_dtypes[t->dtype].token,
                           qrn_dtype_mask_text(d->types, list, sizeof list));
    if (t->role != QRN_ROLE_STATIC)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': tensor is not static", d->name);
    return QRN_OK;
}

static qrn_status check_params(const qrn_op_call *c) {
    for (uint32_t i = 0; i < c->op->n_params; i++) {
        const qrn_param_def *d = &c->op->params[i];
        const qrn_param *p = &c->params[i];
        if (!p->present) {
            if (d->presence == QRN_REQUIRED)
                return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': missing", d->name);
            continue;
        }
        if (p->is_tensor != d->is_tensor)
            return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': given as a %s, expected a %s",
                               d->name, p->is_tensor ? "tensor" : "scalar",
                               d->is_tensor ? "tensor" : "scalar");
        QRN_TRY(d->is_tensor ? check_param_tensor(c, d, p->tensor) : check_scalar(c, d, p));
    }
    return QRN_OK;
}

// May the declared shape stand although the inputs imply another one?
static bool shape_fits(const qrn_op_call *c, const qrn_tensor *t, const qrn_shape *implied) {
    const qrn_shape *declared = &t->shape;
    if (declared->rank != implied->rank) // a single value: 0-D and [1] are the same to clients
        return declared->rank + implied->rank == 1 &&
               (declared->rank ? declared->dims[0] : implied->dims[0]) == 1;
    for (uint32_t i = 0; i < declared->rank; i++) {
        if (declared->dims[i] == implied->dims[i])
            continue;
        bool is_limit = (i == 0 && (c->op->flags & QRN_OP_OUT_MAX)) ||
                        (t->dynamic[i] && implied->dims[i] <= declared->dims[i]);
        if (!is_limit)
            return false;
    }
    return true;
}

static qrn_status check_shapes(const qrn_op_call *c) {
    for (uint32_t i = 0; i < c->n_out; i++) {
        const qrn_tensor *t = c->out[i];
        if (!t || shape_fits(c, t, &c->out_shape[i]))
            continue;
        char have[128], want[128], text[320];
        operand o = {&c->op->outs[i < c->op->n_outs ? i : c->op->n_outs - 1u], t, i, true};
        snprintf(text, sizeof text, "shape %s, expected %s",
                 qrn_shape_text(&t->shape, have, sizeof have),
                 qrn_shape_text(&c->out_shape[i], want, sizeof want));
        return operand_fail(c, &o, QRN_E_SHAPE, text);
    }
    return QRN_OK;
}

// A dimension of 0 stands for one that is not known before the execution.
static bool any_unknown(const qrn_tensor *const *t, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; t[i] && k < t[i]->shape.rank; k++)
            if (t[i]->shape.dims[k] == 0)
                return true;
    return false;
}

qrn_status qrn_op_validate(const qrn_op_call *c) {
    QRN_TRY(check_operands(c, false));
    QRN_TRY(check_operands(c, true));
    QRN_TRY(check_params(c));
    if (any_unknown(c->in, c->n_in) || any_unknown(c->out, c->n_out))
        return QRN_OK; // the rule runs when the dimensions are known
    QRN_TRY(c->op->rule(c));
    QRN_TRY(check_shapes(c));
    bool mixed = (c->op->flags & QRN_OP_SPARSE) && strcmp(c->op->category, "sparse") != 0;
    return mixed ? qrn_op_check_sparse(c) : QRN_OK;
}
