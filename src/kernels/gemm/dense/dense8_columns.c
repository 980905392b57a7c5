// SPDX-License-Identifier: MIT
//
// Terms and multipliers of columns, from the operands of a call.
#include "kernels/gemm/dense/dense8_columns.h"

size_t qrn_dense8_columns_bytes(size_t units) {
    return units * QRN_PANEL * (sizeof(double) + sizeof(float) + sizeof(int32_t));
}

qrn_dense8_columns qrn_dense8_columns_at(void *at, size_t units) {
    qrn_dense8_columns c = {.exact = at};
    c.m = (float *)(c.exact + units * QRN_PANEL);
    c.add = (int32_t *)(c.m + units * QRN_PANEL);
    return c;
}

// Columns of a unit; u_offset: of activations. Returns the largest |bias|.
static int64_t make_unit(const qrn_dense8_columns *c, const qrn_kcall *k, int32_t u_offset,
                         size_t unit) {
    const qrn_dense8_args *a = k->args;
    const qrn_dense_args *d = &a->dense;
    size_t panels = qrn_panels(d->cols), col = unit % panels * QRN_PANEL, left = d->cols - col;
    size_t first = unit / panels * d->cols + col, n = left < QRN_PANEL ? left : QRN_PANEL;
    const int32_t *sums = (const int32_t *)k->in[2]->data + first;
    const float *scales = (const float *)k->in[3]->data + first;
    const int32_t *bias = k->n_in > 4 && k->in[4] ? (int32_t *)k->in[4]->data + first : NULL;
    double sx = (double)k->in[0]->quant->scale, sy = (double)k->out[0]->quant->scale;
    double *exact = c->exact + unit * QRN_PANEL;
    float *m = c->m + unit * QRN_PANEL;
    int32_t *add = c->add + unit * QRN_PANEL;
    uint32_t both = (uint32_t)d->depth * (uint32_t)u_offset * (uint32_t)a->w_offset;
    int64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        exact[i] = sx * (double)scales[i] / sy;
        m[i] = (float)exact[i];
        add[i] = (int32_t)(both + (uint32_t)u_offset * (uint32_t)sums[i]); // may wrap
    }
    for (size_t i = 0; bias && i < n; i++) {
        int64_t b = bias[i] < 0 ? -(int64_t)bias[i] : bias[i];
        most = b > most ? b : most;
        add[i] = (int32_t)((uint32_t)add[i] + (uint32_t)bias[i]);
    }
    for (size_t i = n; i < QRN_PANEL; i++) {
        exact[i] = m[i] = 0;
        add[i] = 0;
    }
    return most;
}

void qrn_dense8_columns_make(qrn_dense8_columns *c, const qrn_kcall *k, int32_t shift, size_t u0,
                             size_t u1) {
    const qrn_dense8_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    bool is_signed = x->dtype == QRN_DTYPE_SQ8;
    int32_t u_offset = x->quant->offset - (is_signed ? 128 : 0) + shift;
    int64_t lo, hi, most = 0;
    qrn_quant_range(y->dtype, y->quant->bits, &lo, &hi);
    for (size_t u = u0; u < u1; u++) {
        int64_t bias = make_unit(c, k, u_offset, u);
        most = bias > most ? bias : most;
    }
    c->requant =
        qrn_requant8_of(c->m, c->exact, 0.5 - (double)y->quant->offset, (int32_t)lo, (int32_t)hi);
    // Stored weights lie between -128 and 127.
    most += (int64_t)a->dense.depth * qrn_dense8_largest(is_signed, x->quant->offset) *
            qrn_dense8_largest(true, a->w_offset);
    qrn_requant8_widen(&c->requant, u0 * QRN_PANEL, u1 * QRN_PANEL, most);
}
