// SPDX-License-Identifier: MIT
//
// Importer: Einsum. Operands are contracted two at a time, from the left: repeated subscripts of
// one operand are diagonals, subscripts that nobody needs any more are summed, and what is left is
// a batch of matmuls.
#include "frontend/onnx/import/matmul.h"
#include "frontend/onnx/import/table.h"

#include <string.h>

#define MAX_OPERANDS 16
#define LETTERS 52
#define LABELS (LETTERS + OX_MAX_RANK) // letters, then dimensions of the ellipsis from the right

// Subscripts of a tensor, one a dimension.
typedef struct labels {
    uint32_t n;
    uint8_t at[OX_MAX_RANK];
} labels;

typedef struct term {
    qc_tensor *t;
    labels l;
} term;

static int letter_of(char c) {
    return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

static bool contains(const labels *l, uint8_t label, uint32_t *position) {
    for (uint32_t i = 0; i < l->n; i++)
        if (l->at[i] == label) {
            if (position)
                *position = i;
            return true;
        }
    return false;
}

// --- the equation

// Reads the subscripts from s to the end of the term; the ellipsis has `hidden` dimensions.
static qrn_status read_labels(ox_import *im, const ox_node *n, const char *s, size_t length,
                              uint32_t hidden, labels *l) {
    *l = (labels){0};
    for (size_t i = 0; i < length; i++) {
        bool dots = length - i >= 3 && strncmp(s + i, "...", 3) == 0;
        uint32_t count = dots ? hidden : 1;
        if (s[i] == ' ')
            continue;
        if ((!dots && letter_of(s[i]) < 0) || l->n + count > OX_MAX_RANK)
            return ox_fail(im, n, QRN_E_PARAM, "equation: cannot read '%.*s'", (int)length, s);
        for (uint32_t k = 0; k < count; k++)
            l->at[l->n++] = dots ? (uint8_t)(LETTERS + hidden - 1 - k) : (uint8_t)letter_of(s[i]);
        i += dots ? 2 : 0;
    }
    return QRN_OK;
}

static uint32_t letters_in(const char *s, size_t length) {
    uint32_t n = 0;
    for (size_t i = 0; i < length; i++)
        n += letter_of(s[i]) >= 0;
    return n;
}

// Without an arrow: the ellipsis, then the letters that occur once, in alphabetical order.
static qrn_status implied_output(ox_import *im, const ox_node *n, const term *terms, uint32_t count,
                                 uint32_t hidden, labels *out) {
    uint32_t times[LABELS] = {0};
    *out = (labels){0};
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < terms[i].l.n; k++)
            times[terms[i].l.at[k]]++;
    for (uint32_t k = 0; k < hidden; k++)
        out->at[out->n++] = (uint8_t)(LETTERS + hidden - 1 - k);
    for (uint32_t i = 0; i < LETTERS; i++) {
        uint8_t label = (uint8_t)((i + 26) % LETTERS); // capitals come first
        if (times[label] != 1)
            continue;
        if (out->n == OX_MAX_RANK)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "a result of more than %d dimensions",
                           OX_MAX_RANK);
        out->at[out->n++] = label;
    }
    return QRN_OK;
}

static qrn_status read_equation(ox_import *im, const ox_node *n, term *terms, labels *out) {
    const char *s = ox_attr_string(n, "equation", ""), *arrow = strstr(s, "->");
    size_t left = arrow ? (size_t)(arrow - s) : strlen(s), from = 0;
    uint32_t hidden = 0, i = 0;
    for (; i < n->n_in; i++) {
        const ox_val *v = ox_input(im, n, i);
        size_t length = strcspn(s + from, ",");
        length = from + length > left ? left - from : length;
        uint32_t letters = letters_in(s + from, length);
        bool dots = false;
        for (size_t k = 0; k + 3 <= length; k++)
            dots |= strncmp(s + from + k, "...", 3) == 0;
        if (!v || letters > v->rank || (!dots && letters != v->rank))
            return ox_fail(im, n, QRN_E_SHAPE, "equation: operand %u does not fit its subscripts",
                           i);
        QRN_TRY(read_labels(im, n, s + from, length, v->rank - letters, &terms[i].l));
        hidden = dots && v->rank - letters > hidden ? v->rank - letters : hidden;
        from += length + 1;
        if (from > left && i + 1 < n->n_in)
            return ox_fail(im, n, QRN_E_SHAPE, "equation: fewer terms than operands");
    }
    if (from <= left)
        return ox_fail(im, n, QRN_E_SHAPE, "equation: more terms than operands");
    if (arrow)
        return read_labels(im, n, arrow + 2, strlen(arrow + 2), hidden, out);
    return implied_output(im, n, terms, n->n_in, hidden, out);
}

// Sizes of all subscripts; of the ellipsis 1 may meet another size.
static qrn_status read_sizes(ox_import *im, const ox_node *n, const term *terms, const labels *out,
                             uint32_t *sizes, uint32_t *dims) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        const ox_val *v = ox_input(im, n, i);
        for (uint32_t k = 0; k < terms[i].l.n; k++) {
            uint32_t *size = &sizes[terms[i].l.at[k]];
            if (*size > 1 && v->dims[k] > 1 && *size != v->dims[k])
                return ox_fail(im, n, QRN_E_SHAPE, "equation: one subscript has sizes %u and %u",
                               *size, v->dims[k]);
            *size = v->dims[k] > *size ? v->dims[k] : *size;
        }
    }
    for (uint32_t k = 0; k < out->n; k++) {
        labels before = *out;
        before.n = k;
        if (sizes[out->at[k]] == 0 || contains(&before, out->at[k], NULL))
            return ox_fail(im, n, QRN_E_PARAM,
                           "equation: the result has an unknown or repeated "
                           "subscript");
        dims[k] = sizes[out->at[k]];
    }
    return QRN_OK;
}

// --- one operand

// The dimensions of t in this order of labels, all of which it has.
static void reorder(ox_expr *e, term *t, const labels *order) {
    uint32_t perm[OX_MAX_RANK];
    bool moves = false;
    for (uint32_t i = 0; i < order->n; i++) {
        contains(&t->l, order->at[i], &perm[i]);
        moves |= perm[i] != i;
    }
    if (moves)
        t->t = ox_transpose(e, t->t, perm);
    t->l = *order;
}

// Of a subscript that occurs twice only equal indices count: every (n+1)-th element of n*n.
static void take_diagonals(ox_expr *e, term *t) {
    for (uint32_t i = 0; t->t && i < t->l.n; i++)
        for (uint32_t k = i + 1; t->t && k < t->l.n; k++) {
            if (t->l.at[i] != t->l.at[k])
                continue;
            uint32_t perm[OX_MAX_RANK], dims[OX_MAX_RANK], n = 0, size = t->t->dims[i];
            labels left = {0};
            for (uint32_t d = 0; d < t->l.n; d++)
                if (d != i && d != k) {
                    dims[n] = t->t->dims[d];
                    left.at[n] = t->l.at[d];
                    perm[n++] = d;
                }
            perm[n] = i;
            perm[n + 1] = k;
            left.at[n] = t->l.at[i];
            left.n = n + 1;
            dims[n] = size * size;
            qc_tensor *flat = ox_reshape(e, ox_transpose(e, t->t, perm), n + 1, dims);
            t->t = ox_slice(e, flat, n, 0, size, (int32_t)size + 1);
            t->l = left;
            k = i; // once more from here
        }
}

// Sums the dimensions whose labels are not needed.
static void sum_out(ox_expr *e, term *t, const bool *needed) {
    uint32_t axes[OX_MAX_RANK], n = 0;
    labels left = {0};
    for (uint32_t i = 0; i < t->l.n; i++) {
        if (needed[t->l.at[i]])
            left.at[left.n++] = t->l.at[i];
        else
            axes[n++] = i;
    }
    if (n == 0)
        return;
    t->t = ox_reduce(e, QNN_OP_REDUCE_SUM, t->t, axes, n, false);
    t->l = left;
}

// --- two operands

static void add_label(labels *l, uint8_t label) {
    if (l->n < OX_MAX_RANK)
        l->at[l->n++] = label;
}

static void append(labels *l, const labels *more) {
    for (uint32_t i = 0; i < more->n; i++)
        add_label(l, more->at[i]);
}

static uint32_t product_of(const uint32_t *dims, uint32_t from, uint32_t n) {
    uint32_t p = 1;
    for (uint32_t i = 0; i < n; i++)
        p *= dims[from + i];
    return p;
}

// [batch..., rows..., columns...] as [batch..., rows, columns].
static qc_tensor *as_matrices(ox_expr *e, qc_tensor *t, uint32_t batch, uint32_t rows,
                              uint32_t columns) {
    uint32_t dims[OX_MAX_RANK];
    if (!t)
        return NULL;
    memcpy(dims, t->dims, sizeof dims);
    dims[batch] = product_of(t->dims, batch, rows);
    dims[batch + 1] = product_of(t->dims, batch + rows, columns);
    return ox_reshape(e, t, batch + 2, dims);
}

// The batched matmul over the labels that both have and nobody needs.
static void contract(ox_expr *e, term *a, term *b, const bool *needed, bool ints) {
    labels batch = {0}, sum = {0}, rows = {0}, columns = {0}, order;
    if (!a->t || !b->t)
        return;
    for (uint32_t i = 0; i < a->l.n; i++) {
        uint32_t at;
        bool both = contains(&b->l, a->l.at[i], &at);
        add_label(!both ? &rows : needed[a->l.at[i]] ? &batch : &sum, a->l.at[i]);
        if (both && !needed[a->l.at[i]] && a->t->dims[i] != b->t->dims[at]) {
            e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED, "a summed subscript that is broadcast");
            return;
        }
    }
    for (uint32_t i = 0; i < b->l.n; i++)
        if (!contains(&a->l, b->l.at[i], NULL))
            add_label(&columns, b->l.at[i]);
    if (batch.n + 2 > OX_MAX_RANK || batch.n + rows.n + columns.n > OX_MAX_RANK) {
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED, "a matmul of more than %d dimensions",
                       OX_MAX_RANK);
        return;
    }
    order = batch;
    append(&order, &rows);
    append(&order, &sum);
    reorder(e, a, &order);
    order = batch;
    append(&order, &sum);
    append(&order, &columns);
    reorder(e, b, &order);
    if (!a->t || !b->t)
        return;
    uint32_t dims[OX_MAX_RANK], n = 0;
    for (uint32_t i = 0; i < batch.n; i++, n++)
        dims[n] = a->t->dims[i] > b->t->dims[i] ? a->t->dims[i] : b->t->dims[i];
    for (uint32_t i = 0; i < rows.n; i++)
        dims[n++] = a->t->dims[batch.n + i];
    for (uint32_t i = 0; i < columns.n; i++)
        dims[n++] = b->t->dims[batch.n + sum.n + i];
    qc_tensor *x = as_matrices(e, a->t, batch.n, rows.n, sum.n);
    qc_tensor *y = as_matrices(e, b->t, batch.n, sum.n, columns.n);
    x = ints ? ox_matmul_ints(e, x, y) : ox_matmul(e, x, y, false, false);
    if (n == 0)
        dims[n++] = 1; // a single number
    a->t = ox_reshape(e, x, n, dims);
    a->l = batch;
    append(&a->l, &rows);
    append(&a->l, &columns);
}

// --- the importer

static void mark(bool *needed, const labels *l) {
    for (uint32_t i = 0; i < l->n; i++)
        needed[l->at[i]] = true;
}

static void evaluate(ox_expr *e, term *terms, uint32_t count, const labels *out, bool ints) {
    for (uint32_t i = 0; i < count; i++)
        take_diagonals(e, &terms[i]);
    for (uint32_t i = 0; i < count && e->s == QRN_OK; i++) {
        bool needed[LABELS] = {false};
        mark(needed, out);
        for (uint32_t k = i + 1; k < count; k++)
            mark(needed, &terms[k].l);
        if (i == 0) {
            sum_out(e, &terms[0], needed);
            continue;
        }
        // What this operand alone has and nobody needs goes first.
        bool own[LABELS];
        memcpy(own, needed, sizeof own);
        mark(own, &terms[0].l);
        sum_out(e, &terms[i], own);
        contract(e, &terms[0], &terms[i], needed, ints);
        sum_out(e, &terms[0], needed);
    }
}

static qrn_status import_einsum(ox_import *im, const ox_node *n) {
    term terms[MAX_OPERANDS];
    labels out;
    uint32_t sizes[LABELS] = {0}, dims[OX_MAX_RANK];
    if (n->n_in == 0 || n->n_in > MAX_OPERANDS)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "%u operands", n->n_in);
    QRN_TRY(read_equation(im, n, terms, &out));
    QRN_TRY(read_sizes(im, n, terms, &out, sizes, dims));
    int type = ox_input(im, n, 0)->type;
    QRN_TRY(ox_set_output(im, n, 0, type, out.n, dims));
    ox_expr e = ox_begin(im, n);
    bool ints = ox_is_integer(type);
    Qnn_DataType_t in = ints ? QNN_DATATYPE_INT_32 : ox_real_type(&e);
    for (uint32_t i = 0; i < n->n_in; i++)
        QRN_TRY(ox_in_as(im, n, i, OX_ONNX, in, &terms[i].t));
    qc_tensor *y;
    QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, in, &y));
    evaluate(&e, terms, n->n_in, &out, ints);
    QRN_TRY(ox_done(&e));
    if (terms[0].l.n != out.n)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "a result with a dimension that is broadcast");
    reorder(&e, &terms[0], &out);
    ox_into(&e, y);
    ox_reshape(&e, terms[0].t, y->rank, y->dims);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_ONNX, y);
}

const ox_importer ox_import_einsum[] = {
    {"Einsum", "", import_einsum},
    {0},
};
