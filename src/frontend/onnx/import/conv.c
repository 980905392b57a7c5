// SPDX-License-Identifier: MIT
//
// Importers: convolution. Images are taken and made channel last.
#include "frontend/onnx/driver/internal.h"
#include "frontend/onnx/emit/filter.h"
#include "frontend/onnx/import/activation.h"
#include "frontend/onnx/import/exact.h"
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/import/window.h"

#include <string.h>

qrn_status ox_conv_read(ox_import *im, const ox_node *n, uint32_t filter, ox_conv *c) {
    const ox_val *x = ox_input(im, n, 0), *f = ox_input(im, n, filter);
    if (!x || !f)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input %u is missing", x ? filter : 0);
    if (f->rank != x->rank)
        return ox_fail(im, n, QRN_E_SHAPE, "input of rank %u, filter of rank %u", x->rank, f->rank);
    QRN_TRY(ox_window_read(im, n, x, f->dims + 2, &c->w));
    int64_t group = ox_attr_int(n, "group", 1);
    if (group <= 0 || group > INT32_MAX || x->dims[1] % group || f->dims[0] % group ||
        f->dims[1] * group != x->dims[1])
        return ox_fail(im, n, QRN_E_SHAPE,
                       "%lld groups of %u input channels with filters [%u, %u, ...]",
                       (long long)group, x->dims[1], f->dims[0], f->dims[1]);
    c->group = (uint32_t)group;
    c->dims[0] = x->dims[0];
    c->dims[1] = f->dims[0];
    QRN_TRY(ox_window_dims(im, n, &c->w, x->dims + 2, c->dims + 2));
    ox_window_widen(&c->w);
    return QRN_OK;
}

void ox_filter_perm(uint32_t rank, uint32_t *perm) {
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = i + 2 < rank ? i + 2 : rank - 1 - i;
}

// A filter of 4 bits, one scale for each output, that meets floats: the HTP has it beside float16
// activations. NULL: it is none, or becomes floats.
static const ox_val *narrow_filter(const ox_expr *e, const ox_conv *c) {
    const ox_val *v = ox_input(e->im, e->n, 1), *q = v && !v->data ? v->quantized : NULL;
    bool fits = q && q->data && q->enc && q->type == OX_I4 && q->rank == 4 && c->group == 1 &&
                q->enc->n == q->dims[0] && q->enc->axis == 0 && !q->enc->block;
    return fits && e->im->graph->client->is_htp ? q : NULL;
}

static qrn_status conv_narrow(ox_expr *e, const ox_conv *c, const ox_val *q, const uint32_t *perm) {
    qc_tensor *x = ox_as(e, ox_in_real(e, 0, OX_LAST), QNN_DATATYPE_FLOAT_16), *filter = NULL;
    if (e->s == QRN_OK)
        e->s = ox_static_moved(e->im, q, perm, &filter);
    qc_tensor *bias = ox_bias(e, 2, x, filter, c->dims[1]), *y = ox_out_real(e, 0, OX_LAST);
    if (!x || !y || e->s != QRN_OK)
        return e->s;
    if (e->im->graph->client->floats == QC_FLOAT32 && ox_type_of(y) != QNN_DATATYPE_FLOAT_16)
        ox_note(e->im, e->n, "are computed in float16",
                "the HTP multiplies quantized weights by float16 activations");
    qc_tensor *sum = ox_result_like(e, x, y->rank, y->dims);
    ox_convolve(e, &c->w, c->group, x, filter, bias, sum);
    ox_into(e, y);
    ox_as(e, sum, ox_type_of(y));
    return ox_end_real(e, 0, OX_LAST, y);
}

static qrn_status import_conv(ox_import *im, const ox_node *n) {
    ox_conv c;
    uint32_t perm[OX_MAX_RANK], rank;
    QRN_TRY(ox_conv_read(im, n, 1, &c));
    rank = ox_input(im, n, 0)->rank;
    QRN_TRY(ox_set_output(im, n, 0, ox_input(im, n, 0)->type, rank, c.dims));
    ox_filter_perm(rank, perm);
    ox_expr e = ox_begin(im, n);
    bool real = !ox_filter_fits(&e, 1, 0);
    const ox_val *narrow = real && rank == 4 ? narrow_filter(&e, &c) : NULL;
    if (narrow)
        return conv_narrow(&e, &c, narrow, perm);
    qc_tensor *x = ox_image_in(&e, real ? ox_in_real(&e, 0, OX_LAST) : ox_fixed_in(&e, 0, OX_LAST));
    qc_tensor *filter = ox_filter(&e, 1, perm, c.w.n + 2, real);
    qc_tensor *bias = ox_bias(&e, 2, x, filter, c.dims[1]);
    qc_tensor *y = real ? ox_out_real(&e, 0, OX_LAST) : ox_fixed_out(&e, 0, OX_LAST);
    qc_tensor *image = ox_image_out(&e, y);
    ox_convolve(&e, &c.w, c.group, x, filter, bias, image);
    ox_image_end(&e, image, y);
    return real ? ox_end_real(&e, 0, OX_LAST, y) : ox_fixed_end(&e, 0, OX_LAST, y);
}

// Conv, then input 3 added, then an activation.
static qrn_status import_fused_conv(ox_import *im, const ox_node *n) {
    ox_conv c;
    uint32_t perm[OX_MAX_RANK], rank;
    QRN_TRY(ox_conv_read(im, n, 1, &c));
    rank = ox_input(im, n, 0)->rank;
    QRN_TRY(ox_set_output(im, n, 0, ox_input(im, n, 0)->type, rank, c.dims));
    ox_filter_perm(rank, perm);
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_image_in(&e, ox_in_real(&e, 0, OX_LAST));
    qc_tensor *filter = ox_filter(&e, 1, perm, c.w.n + 2, true);
    qc_tensor *bias = ox_bias(&e, 2, x, filter, c.dims[1]);
    qc_tensor *y = ox_out_real(&e, 0, OX_LAST);
    if (!x || !y)
        return ox_done(&e);
    qc_tensor *sum = ox_result_like(&e, y, y->rank, y->dims), *image = ox_image_out(&e, sum);
    ox_convolve(&e, &c.w, c.group, x, filter, bias, image);
    ox_image_end(&e, image, sum);
    if (ox_input(im, n, 3))
        sum = ox_binary(&e, QNN_OP_ELEMENT_WISE_ADD, sum, ox_in_real(&e, 3, OX_LAST));
    ox_into(&e, y);
    ox_activate(&e, sum);
    return ox_end_real(&e, 0, OX_LAST, y);
}

// --- ConvInteger

static qc_tensor *convolve_part(ox_expr *e, const void *ctx, qc_tensor *x, qc_tensor *w) {
    const ox_conv *c = ctx;
    uint32_t dims[OX_MAX_RANK], rank = c->w.n + 2;
    if (!x || !w)
        return NULL;
    dims[0] = x->dims[0];
    for (uint32_t i = 0; i < c->w.n; i++)
        dims[1 + i] = c->dims[2 + i];
    dims[rank - 1] = c->dims[1];
    qc_tensor *y = ox_result_like(e, x, rank, dims);
    ox_convolve(e, &c->w, c->group, x, w, NULL, y);
    return y;
}

static qrn_status import_conv_integer(ox_import *im, const ox_node *n) {
    ox_conv c;
    uint32_t perm[OX_MAX_RANK];
    QRN_TRY(ox_conv_read(im, n, 1, &c));
    const ox_val *f = ox_input(im, n, 1);
    uint32_t rank = f->rank, depth = f->dims[1];
    for (uint32_t i = 2; i < rank; i++)
        depth *= f->dims[i];
    QRN_TRY(ox_set_output(im, n, 0, OX_I32, rank, c.dims));
    ox_filter_perm(rank, perm);
    if (rank == 3) // as an image: the output's dimensions too
        c.dims[3] = c.dims[2], c.dims[2] = 1;
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_image_in(&e, ox_in_minus(&e, 0, OX_LAST, 2, 0));
    qc_tensor *w = ox_transpose(&e, ox_in_minus(&e, 1, OX_ONNX, 3, 0), perm), *y = NULL;
    if (w && rank == 3)
        w = ox_reshape(&e, w, 4, (const uint32_t[]){1, w->dims[0], w->dims[1], w->dims[2]});
    qc_tensor *sum = ox_exact_product(&e, x, w, depth, convolve_part, &c);
    if (e.s == QRN_OK)
        e.s = ox_out(im, n, 0, OX_LAST, &y);
    ox_into(&e, y);
    ox_reshape(&e, sum, y ? y->rank : 0, y ? y->dims : NULL);
    return ox_done(&e);
}

const ox_importer ox_import_conv[] = {
    {"Conv", "", import_conv},
    {"FusedConv", "com.microsoft", import_fused_conv},
    {"ConvInteger", "", import_conv_integer},
    {0},
};
