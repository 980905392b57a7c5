// SPDX-License-Identifier: MIT
//
// Rules of the HTP's limits about ranks, values and parameters. Values that are not known while an
// op is only described are taken to be good.
#include "backend/htp/limits/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Is `word` an item of a list "A, B, C)" within n bytes?
static bool listed(const char *word, const char *list, size_t n) {
    size_t length = strlen(word);
    for (size_t i = 0; length && i + length <= n; i++) {
        bool starts = i == 0 || list[i - 1] == ' ' || list[i - 1] == '{';
        bool ends = i + length == n || strchr(",)=} ", list[i + length]) != NULL;
        if (starts && ends && memcmp(list + i, word, length) == 0)
            return true;
    }
    return false;
}

// "<=4", "=5", " 1..5"
static void read_range(const char *text, uint32_t *min, uint32_t *max) {
    *min = 0;
    if (sscanf(text, "<=%u", max) == 1 || sscanf(text, "%u..%u", min, max) == 2)
        return;
    if (sscanf(text, "=%u", min) == 1)
        *max = *min;
}

// "rank<=4", "rank=5", "rank 1..5", each perhaps with " (<=5 for RELU, ABS)". A single number
// counts as a vector of one: clients send constants either way.
qrn_status qrn_htp_rank_within(const qrn_htp_site *s) {
    uint32_t rank = s->tensor->shape.rank ? s->tensor->shape.rank : 1, min = 0, max = 0;
    const char *range = s->text + strlen("rank");
    read_range(range + (*range == ' '), &min, &max);
    const char *other = memchr(s->text, '(', s->text_length);
    const char *list = other ? strstr(other, " for ") : NULL, *end = s->text + s->text_length;
    if (list && list < end &&
        listed(qrn_htp_enumerator(s->call, "operation"), list + 5, (size_t)(end - list - 5)))
        read_range(other + 1, &min, &max);
    uint32_t wider = s->limit->rank > s->rank_limit ? s->limit->rank : s->rank_limit;
    const char *later = wider > max ? ", as widened" : "";
    max = wider > max ? wider : max;
    if (rank >= min && rank <= max)
        return QRN_OK;
    if (min == max)
        return qrn_htp_refuse(s, QRN_E_SHAPE, "rank %u, HTP supports %u", rank, max);
    return qrn_htp_refuse(s, QRN_E_SHAPE, "rank %u, HTP supports %s %u%s", rank,
                          rank > max ? "at most" : "at least", rank > max ? max : min,
                          rank > max ? later : "");
}

qrn_status qrn_htp_rank_of_instance_norm(const qrn_htp_site *s) {
    const qrn_shape *h = &s->tensor->shape;
    if (h->rank == 4 || (h->rank == 3 && h->dims[0] == 1))
        return QRN_OK;
    char text[96];
    return qrn_htp_refuse(s, QRN_E_SHAPE, "shape %s, HTP supports rank 4, or rank 3 with batch 1",
                          qrn_shape_text(h, text, sizeof text));
}

qrn_status qrn_htp_rank5_types(const qrn_htp_site *s) {
    char list[96];
    if (s->tensor->shape.rank < 5 ||
        (s->limit->types & ((qrn_dtype_mask)1 << s->tensor->dtype)) != 0)
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_DTYPE, "data type %s at rank 5, HTP supports %s",
                          qrn_dtypes[s->tensor->dtype].token,
                          qrn_dtype_mask_text(s->limit->types, list, sizeof list));
}

qrn_status qrn_htp_static_dims(const qrn_htp_site *s) {
    if (!s->tensor->has_dynamic)
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_SHAPE, "dynamic dimensions, HTP supports fixed ones");
}

qrn_status qrn_htp_absent(const qrn_htp_site *s) {
    return qrn_htp_refuse(s, QRN_E_OP_CONFIG, "given, HTP supports the op without it");
}

qrn_status qrn_htp_absent_or_zero(const qrn_htp_site *s) {
    const uint8_t *value = s->tensor->data;
    if (qrn_tensor_is_static(s->tensor) && (!value || *value == 0))
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_OP_CONFIG,
                          "given, HTP supports the op without it or with a "
                          "constant 0");
}

// Operations that clients use although the table says no; any type of the row goes.
static bool used_by_clients(const char *operation) {
    return strcmp(operation, "RECIPROCAL") == 0 || strcmp(operation, "SOFTPLUS") == 0;
}

// "per-operation dtypes {ADD=f16|f32, AND=no, ...}"
qrn_status qrn_htp_operation_types(const qrn_htp_site *s) {
    const char *name = qrn_htp_enumerator(s->call, "operation");
    char key[48], types[96] = "";
    snprintf(key, sizeof key, "%s=", name);
    const char *end = s->text + s->text_length;
    for (const char *at = s->text; (at = strstr(at, key)) != NULL && at < end; at++)
        if (at[-1] == ' ' || at[-1] == '{') {
            size_t n = strcspn(at + strlen(key), ",}");
            snprintf(types, sizeof types, "%.*s", (int)n, at + strlen(key));
            break;
        }
    if (strcmp(types, "no") == 0 && used_by_clients(name))
        return QRN_OK;
    const char *have = qrn_dtypes[s->tensor->dtype].token;
    for (const char *t = types; *t; t += strcspn(t, "|"), t += *t == '|')
        if (strcspn(t, "|") == strlen(have) && strncmp(t, have, strlen(have)) == 0)
            return QRN_OK;
    if (!*types || strcmp(types, "no") == 0)
        return qrn_htp_refuse(s, QRN_E_PARAM, "HTP has no operation %s for data type %s", name,
                              have);
    return qrn_htp_refuse(s, QRN_E_DTYPE, "data type %s, HTP supports %s for operation %s", have,
                          types, name);
}

// Constant 32-bit integers whose top bit is set are too small (signed) or too large (unsigned).
static bool has_top_bit(const qrn_tensor *t, uint32_t *value) {
    const uint32_t *v = t->data;
    for (size_t i = 0; v && i < t->size_bytes / sizeof *v; i++)
        if (v[i] >> 31) {
            *value = v[i];
            return true;
        }
    return false;
}

qrn_status qrn_htp_not_negative(const qrn_htp_site *s) {
    uint32_t v;
    if (s->tensor->dtype != QRN_DTYPE_I32 || !has_top_bit(s->tensor, &v))
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_OP_CONFIG, "index %d, HTP supports indices from 0", (int)v);
}

qrn_status qrn_htp_fits_i32(const qrn_htp_site *s) {
    uint32_t v;
    if (s->tensor->dtype != QRN_DTYPE_U32 || !has_top_bit(s->tensor, &v))
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_OP_CONFIG, "value %u, HTP supports at most %d", v, INT32_MAX);
}

// --- parameters

qrn_status qrn_htp_value_in(const qrn_htp_site *s) {
    const qrn_tensor *x = s->call->in[0];
    if (s->limit->types && x && !(s->limit->types & ((qrn_dtype_mask)1 << x->dtype)))
        return QRN_OK;
    uint32_t i = qrn_op_param_index(s->call->op, s->param);
    const qrn_param_def *def = &s->call->op->params[i];
    const qrn_param *p = &s->call->params[i];
    char number[24];
    const char *have = qrn_htp_enumerator(s->call, s->param);
    if (!def->enums) {
        snprintf(number, sizeof number, "%llu",
                 p->present ? (unsigned long long)p->value.u
                            : strtoull(def->default_text, NULL, 10));
        have = number;
    }
    if (listed(have, s->limit->values, strlen(s->limit->values)))
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_PARAM, "value %s, HTP supports %s", have, s->limit->values);
}

// "one of A, B": the list is in the words themselves.
qrn_status qrn_htp_value_listed(const qrn_htp_site *s) {
    const char *have = qrn_htp_enumerator(s->call, s->param);
    const size_t start = strlen("one of ");
    if (listed(have, s->text + start, s->text_length - start))
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_PARAM, "value %s, HTP supports %.*s for these types", have,
                          (int)(s->text_length - start), s->text + start);
}

static uint32_t rank_of_input0(const qrn_htp_site *s) {
    return s->call->in[0] ? s->call->in[0]->shape.rank : 0;
}

qrn_status qrn_htp_axis_last(const qrn_htp_site *s) {
    uint32_t last = rank_of_input0(s) - 1, axis = qrn_op_u32(s->call, s->param, last);
    if (axis == last)
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_PARAM, "axis %u, HTP supports the last one, %u", axis, last);
}

qrn_status qrn_htp_axis_within(const qrn_htp_site *s) {
    uint32_t rank = rank_of_input0(s), axis = qrn_op_u32(s->call, s->param, 0);
    if (axis < rank)
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_PARAM, "axis %u of rank %u", axis, rank);
}

qrn_status qrn_htp_axes_last(const qrn_htp_site *s) {
    size_t n = 0;
    const uint32_t *axes = qrn_op_u32s(s->call, s->param, &n);
    uint32_t last = rank_of_input0(s) - 1;
    if (!axes || (n == 1 && axes[0] == last))
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_PARAM, "%zu axes from %u, HTP supports the last one alone, %u",
                          n, n ? axes[0] : 0, last);
}

// Dilation and stride of height and width, the last two entries of both.
static bool height_width(const qrn_htp_site *s, const uint32_t **dilation,
                         const uint32_t **stride) {
    size_t n = 0, m = 0;
    const uint32_t *d = qrn_op_u32s(s->call, "dilation", &n);
    const uint32_t *t = qrn_op_u32s(s->call, "stride", &m);
    if (!d || !t || n < 2 || m < 2)
        return false;
    *dilation = d + n - 2;
    *stride = t + m - 2;
    return true;
}

qrn_status qrn_htp_dilation_unstrided(const qrn_htp_site *s) {
    const uint32_t *d, *t;
    if (!height_width(s, &d, &t) || (d[0] == 1 && d[1] == 1) || (t[0] == 1 && t[1] == 1))
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_PARAM,
                          "dilation [%u,%u] with stride [%u,%u], HTP supports it with stride [1,1]",
                          d[0], d[1], t[0], t[1]);
}

qrn_status qrn_htp_dilation_unstrided_or_2x2(const qrn_htp_site *s) {
    const uint32_t *d, *t;
    const qrn_shape *k = &s->call->in[1]->shape;
    if (height_width(s, &d, &t) && d[0] == 2 && d[1] == 2 && t[0] == 2 && t[1] == 2 &&
        k->dims[0] == 3 && k->dims[1] == 3)
        return QRN_OK;
    return qrn_htp_dilation_unstrided(s);
}

qrn_status qrn_htp_dilation_depth_1(const qrn_htp_site *s) {
    size_t n = 0;
    const uint32_t *d = qrn_op_u32s(s->call, "dilation", &n);
    if (!d || n < 3 || d[0] == 1)
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_PARAM, "dilation %u of the depth, HTP supports 1", d[0]);
}

qrn_status qrn_htp_lrn_area(const qrn_htp_site *s) {
    const qrn_shape *h = &s->call->in[0]->shape;
    if (strcmp(qrn_htp_enumerator(s->call, s->param), "WITHIN_CHANNEL") != 0 || h->rank != 4 ||
        (uint64_t)h->dims[1] * h->dims[2] < 1024)
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_SHAPE,
                          "WITHIN_CHANNEL of %ux%u pixels, HTP supports fewer than 1024",
                          h->dims[1], h->dims[2]);
}

// The first chip of the table with the architecture, as advice.
static const char *chip_of(uint32_t arch) {
    const qrn_soc *soc;
    for (uint32_t i = 0; (soc = qrn_soc_at(i)) != NULL; i++)
        if (soc->arch == arch)
            return soc->name;
    return "a newer one";
}

qrn_status qrn_htp_needs_arch(const qrn_htp_site *s, const char *what) {
    if (s->device->soc.arch >= s->limit->arch)
        return QRN_OK;
    return qrn_htp_refuse(
        s, QRN_E_OP_CONFIG, "%s needs an HTP of v%u or later, %s is v%u; choose a SoC such as %s",
        what, s->limit->arch, s->device->chosen ? "this device" : "the default device",
        s->device->soc.arch, chip_of(s->limit->arch));
}

qrn_status qrn_htp_min_arch(const qrn_htp_site *s) {
    return qrn_htp_needs_arch(s, qrn_dtypes[s->call->in[0]->dtype].token);
}
