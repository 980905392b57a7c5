// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group gemm: attributes, and what makes a step safe to run.
#include "compiler/ops/check.h"

#include "kernels/columns/columns.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/epilogue/requant.h"
#include "kernels/gemm/matmul/matmul.h"
#include "kernels/hadamard/hadamard.h"
#include "kernels/pooling/pooling.h"

#define FAR (UINT64_C(1) << 34)       // cells from the first one; padding may reach that far
#define FAR_BYTES (UINT64_C(1) << 58) // in elements, where pointers are moved
#define RAW_DEPTH (UINT64_C(1) << 27) // products of 18 bits by 18 bits whose sum fits 64 bits

// --- windows

// One dimension of a window that moves over `n` positions.
typedef struct window {
    uint32_t n, stride, size, dilation, before, after;
} window;

// No coordinate of a cell overflows, nor its place in a tensor of so many channels.
static const char *check_window(const window *w, uint32_t channels) {
    QRN_NEED(w->stride && w->size && w->dilation, "a stride, dilation or window size is 0");
    uint64_t moved = (uint64_t)(w->n - 1) * w->stride;
    uint64_t reach = (uint64_t)(w->size - 1) * w->dilation;
    QRN_NEED(moved < FAR && reach < FAR && (moved + reach + w->before + w->after) < FAR,
             "a window reaches too far");
    QRN_NEED((moved + reach + w->before) * channels < FAR_BYTES, "a window reaches too far");
    return NULL;
}

// --- quantized convolutions and matmuls

#define QUANTIZED_8_16 (QRN_T(UQ8) | QRN_T(SQ8) | QRN_T(UQ16) | QRN_T(SQ16))

static bool positive(float scale) { return isfinite(scale) && scale > 0; }

static bool near(int32_t offset) {
    return offset >= -QRN_REQUANT_OFFSET_MAX && offset <= QRN_REQUANT_OFFSET_MAX;
}

static bool whole_bits(const qrn_view *v) {
    return v->quant->bits == 0 || v->quant->bits >= qrn_dtypes[v->dtype].bits;
}

// 8 or 16 bits with one scale and no shift.
static bool one_scale_of(const qrn_view *v, qrn_dtype_mask types) {
    return qrn_chk_type(v, types) && qrn_chk_per_tensor(v) && v->quant->shift == 0.0f &&
           positive(v->quant->scale);
}
static bool one_scale(const qrn_view *v) { return one_scale_of(v, QUANTIZED_8_16); }

static const char *check_weights(const qrn_view *w, uint32_t channel_axis) {
    const qrn_quant *q = w->quant;
    QRN_NEED(qrn_chk_type(w, QUANTIZED_8_16 | QRN_T(UQ4) | QRN_T(SQ4)),
             "in[1] is not of 4, 8 or 16 bits");
    QRN_NEED(!qrn_chk_plain(w) && q->shift == 0.0f, "in[1] has no encoding, or a shifted one");
    QRN_NEED(q->kind != QRN_QUANT_AXIS || q->axis == channel_axis,
             "the scales of in[1] are not those of its output channels");
    QRN_NEED(!q->real_offsets, "in[1] has real offsets");
    uint32_t groups = q->kind == QRN_QUANT_TENSOR ? 1 : q->n_groups;
    for (uint32_t g = 0; g < groups; g++)
        QRN_NEED(isfinite(qrn_group_scale(q, g)) && qrn_group_scale(q, g) > 0 &&
                     near(qrn_group_offset(q, g)),
                 "a scale or offset of in[1] is out of range");
    return NULL;
}

static bool is_16_bits(const qrn_view *v) { return qrn_dtypes[v->dtype].bits == 16; }

// Types and encodings of requant.h.
static const char *check_quantized(const qrn_kcall *k, uint32_t channel_axis, uint64_t depth,
                                   qrn_dtype_mask results) {
    const qrn_view *x = k->in[0], *w = k->in[1], *bias = qrn_chk_in(k, 2), *y = k->out[0];
    QRN_NEED(one_scale(x) && whole_bits(x) && near(x->quant->offset),
             "in[0] is not of 8 or 16 bits with one scale and a near offset");
    QRN_NEED_ALSO(check_weights(w, channel_axis));
    QRN_NEED(one_scale_of(y, results), "out[0] is not of 8 or 16 bits with one scale");
    QRN_NEED(depth <= RAW_DEPTH, "so many multiply-adds may overflow");
    bool blocks = w->quant->kind == QRN_QUANT_BLOCK;
    bool may_be_real = blocks || is_16_bits(x) || is_16_bits(w);
    qrn_dtype_mask types = (blocks ? 0 : QRN_T(I32) | QRN_T(SQ32)) | (may_be_real ? QRN_T(F64) : 0);
    QRN_NEED(qrn_chk_type(bias, types), "in[2] is not of a type that fits in[0] and in[1]");
    return NULL;
}

static const char *check_gemm(const qrn_kcall *k, qrn_domain domain, uint32_t channel_axis,
                              uint64_t depth, size_t channels, qrn_dtype_mask results) {
    const qrn_view *bias = qrn_chk_in(k, 2);
    QRN_NEED(!bias || qrn_chk_vector(bias, channels), "in[2] has not one number per channel");
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    return domain == QRN_DOMAIN_RAW ? check_quantized(k, channel_axis, depth, results)
                                    : qrn_chk_all_real(k, domain);
}

// --- convolutions

static const qrn_attr conv_attrs[] = {
    QRN_ATTR(qrn_conv_args, n_spatial),    QRN_ATTR(qrn_conv_args, group),
    QRN_ATTR_ARRAY(qrn_conv_args, stride), QRN_ATTR_ARRAY(qrn_conv_args, dilation),
    QRN_ATTR_ARRAY(qrn_conv_args, before), QRN_ATTR(qrn_conv_args, transposed),
    QRN_ATTR(qrn_conv_args, clamp.on),     QRN_ATTR(qrn_conv_args, clamp.low),
    QRN_ATTR(qrn_conv_args, clamp.high),
};

static const char *check_channels(const qrn_conv_args *a, const qrn_view *x, const qrn_view *w,
                                  const qrn_view *y) {
    uint32_t last = a->n_spatial + 1, cin = x->dims[last], cout = y->dims[last];
    QRN_NEED(a->group && cin % a->group == 0 && cout % a->group == 0,
             "the groups do not divide the channels");
    QRN_NEED(w->dims[last - 1] == (a->transposed ? cin : cin / a->group),
             "in[0] and in[1] differ in input channels");
    QRN_NEED(w->dims[last] == (a->transposed ? cout / a->group : cout),
             "in[1] and out[0] differ in output channels");
    return NULL;
}

static const char *check_conv(const qrn_kcall *k, qrn_domain domain) {
    const qrn_conv_args *a = k->args;
    const qrn_view *x = k->in[0], *w = k->in[1], *y = k->out[0];
    QRN_NEED(a->n_spatial >= 1 && a->n_spatial <= 3, "not 1 to 3 spatial dimensions");
    uint32_t last = a->n_spatial + 1;
    QRN_NEED(x->rank == last + 1 && w->rank == last + 1 && y->rank == last + 1,
             "the rank of an operand is not that of the spatial dimensions plus 2");
    QRN_NEED(x->dims[0] == y->dims[0], "in[0] and out[0] differ in batch size");
    QRN_NEED_ALSO(check_channels(a, x, w, y));
    for (uint32_t i = 0; i < a->n_spatial; i++) {
        const qrn_view *moves = a->transposed ? x : y;
        const window one = {.n = moves->dims[1 + i],
                            .stride = a->stride[i],
                            .size = w->dims[i],
                            .dilation = a->dilation[i],
                            .before = a->before[i]};
        QRN_NEED_ALSO(check_window(&one, x->dims[last]));
    }
    QRN_NEED(domain != QRN_DOMAIN_RAW || !a->clamp.on, "a clamp of quantized values");
    uint64_t depth = qrn_view_span(w, 0, last - 1) * (x->dims[last] / a->group);
    return check_gemm(k, domain, last, depth, y->dims[last], QUANTIZED_8_16);
}

const qrn_cop qrn_cop_conv = {
    QRN_COP_HEAD(conv),   QRN_COP_ATTRS(conv_attrs), QRN_COP_IN(2, 3, 3),
    QRN_COP_OUT(1, 1, 1), .check = check_conv,
};

// --- matmul

static const qrn_attr matmul_attrs[] = {
    QRN_ATTR(qrn_matmul_args, transpose_a), QRN_ATTR(qrn_matmul_args, transpose_b),
    QRN_ATTR(qrn_matmul_args, flat),        QRN_ATTR(qrn_matmul_args, clamp.on),
    QRN_ATTR(qrn_matmul_args, clamp.low),   QRN_ATTR(qrn_matmul_args, clamp.high),
};

// Leading dimensions broadcast to those of c.
static bool leads_broadcast(const qrn_view *v, const qrn_view *c) {
    qrn_view lead = *v, out = *c;
    lead.rank -= 2;
    out.rank -= 2;
    return qrn_chk_broadcasts(&lead, &out);
}

static const char *check_matrices(const qrn_matmul_args *m, const qrn_view *a, const qrn_view *b,
                                  const qrn_view *c, uint32_t depth) {
    QRN_NEED(a->rank >= 2 && c->rank >= 2, "a matrix of rank below 2");
    QRN_NEED(a->dims[a->rank - (m->transpose_a ? 2 : 1)] == depth,
             "in[0] and in[1] differ in the dimension summed over");
    QRN_NEED(a->dims[a->rank - (m->transpose_a ? 1 : 2)] == c->dims[c->rank - 2],
             "in[0] and out[0] differ in rows");
    QRN_NEED(leads_broadcast(a, c) && leads_broadcast(b, c),
             "leading dimensions do not broadcast to those of out[0]");
    return NULL;
}

static const char *check_flat(const qrn_matmul_args *m, const qrn_view *a, const qrn_view *b,
                              const qrn_view *c, uint32_t depth) {
    size_t rows = qrn_view_count(a) / depth;
    QRN_NEED(!m->transpose_a && b->rank == 2, "in[0] is transposed or in[1] not of rank 2");
    QRN_NEED(qrn_view_count(a) % depth == 0, "in[0] is not made of whole rows");
    QRN_NEED(qrn_chk_product(rows, c->dims[c->rank - 1], qrn_view_count(c)),
             "in[0] and out[0] differ in rows");
    return NULL;
}

static const char *check_matmul(const qrn_kcall *k, qrn_domain domain) {
    const qrn_matmul_args *m = k->args;
    const qrn_view *a = k->in[0], *b = k->in[1], *c = k->out[0];
    QRN_NEED(a->rank >= 1 && b->rank >= 2 && c->rank >= 1, "a matrix of rank below 2");
    uint32_t channel_axis = b->rank - (m->transpose_b ? 2 : 1);
    uint32_t depth = b->dims[b->rank - (m->transpose_b ? 1 : 2)], cols = b->dims[channel_axis];
    QRN_NEED(c->dims[c->rank - 1] == cols, "in[1] and out[0] differ in columns");
    QRN_NEED(domain != QRN_DOMAIN_RAW || !m->clamp.on, "a clamp of quantized values");
    QRN_NEED_ALSO(m->flat ? check_flat(m, a, b, c, depth) : check_matrices(m, a, b, c, depth));
    return check_gemm(k, domain, channel_axis, depth, cols, QUANTIZED_8_16 | QRN_T(SQ32));
}

const qrn_cop qrn_cop_matmul = {
    QRN_COP_HEAD(matmul), QRN_COP_ATTRS(matmul_attrs), QRN_COP_IN(2, 3, 3),
    QRN_COP_OUT(1, 1, 1), .check = check_matmul,
};

// --- columns

static const qrn_attr columns_attrs[] = {
    QRN_ATTR_ARRAY(qrn_columns_args, kernel),   QRN_ATTR_ARRAY(qrn_columns_args, stride),
    QRN_ATTR_ARRAY(qrn_columns_args, dilation), QRN_ATTR_ARRAY(qrn_columns_args, before),
    QRN_ATTR_ARRAY(qrn_columns_args, after),
};

static const char *check_columns(const qrn_columns_args *a, const qrn_view *image,
                                 const qrn_view *columns) {
    size_t positions = 1;
    QRN_NEED(image->rank == 4 && columns->rank == 3, "the image is not of rank 4 or the columns 3");
    QRN_NEED(image->dims[0] == columns->dims[0], "image and columns differ in batch size");
    for (uint32_t i = 0; i < 2; i++) {
        const window one = {.n = image->dims[1 + i],
                            .stride = 1,
                            .size = a->kernel[i],
                            .dilation = a->dilation[i],
                            .before = a->before[i],
                            .after = a->after[i]};
        QRN_NEED_ALSO(check_window(&one, image->dims[3]));
        QRN_NEED(a->stride[i], "a stride is 0");
        uint64_t padded = (uint64_t)a->before[i] + image->dims[1 + i] + a->after[i];
        uint64_t extent = (uint64_t)(a->kernel[i] - 1) * a->dilation[i] + 1;
        QRN_NEED(extent <= padded, "a window is larger than the padded image");
        QRN_NEED(qrn_mul_size(positions, (padded - extent) / a->stride[i] + 1, &positions),
                 "too many columns");
    }
    QRN_NEED(positions == columns->dims[2], "the columns are not as many as window positions");
    size_t cells = (size_t)a->kernel[0] * a->kernel[1];
    QRN_NEED(qrn_chk_product(cells, image->dims[3], columns->dims[1]),
             "a column has not the cells of a window");
    return NULL;
}

static const char *check_im2col(const qrn_kcall *k, qrn_domain domain) {
    QRN_NEED_ALSO(check_columns(k->args, k->in[0], k->out[0]));
    return qrn_chk_all_real(k, domain);
}

static const char *check_col2im(const qrn_kcall *k, qrn_domain domain) {
    QRN_NEED_ALSO(check_columns(k->args, k->out[0], k->in[0]));
    return qrn_chk_all_real(k, domain);
}

const qrn_cop qrn_cop_im2col = {
    QRN_COP_HEAD(im2col), QRN_COP_ATTRS(columns_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1), .check = check_im2col,
};
const qrn_cop qrn_cop_col2im = {
    QRN_COP_HEAD(col2im), QRN_COP_ATTRS(columns_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1), .check = check_col2im,
};

static const qrn_attr hadamard_attrs[] = {QRN_ATTR(qrn_hadamard_args, scale)};

static const char *check_hadamard(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0];
    QRN_NEED(x->rank >= 1, "in[0] has no dimension");
    uint32_t n = x->dims[x->rank - 1];
    QRN_NEED((n & (n - 1)) == 0, "the last dimension is not a power of two");
    QRN_NEED(qrn_chk_same_shape(x, k->out[0]), "in[0] and out[0] differ in shape");
    return qrn_chk_all_real(k, domain);
}

const qrn_cop qrn_cop_hadamard = {
    QRN_COP_HEAD(hadamard), QRN_COP_ATTRS(hadamard_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1),   .check = check_hadamard,
};

// --- pooling

static const qrn_attr pooling_attrs[] = {
    QRN_ATTR(qrn_pooling_args, n_spatial),    QRN_ATTR_ARRAY(qrn_pooling_args, size),
    QRN_ATTR_ARRAY(qrn_pooling_args, stride), QRN_ATTR_ARRAY(qrn_pooling_args, before),
    QRN_ATTR_ARRAY(qrn_pooling_args, after),  QRN_ATTR(qrn_pooling_args, count_pad),
};

// Shapes, and in the domains of real numbers types.
static const char *check_pool(const qrn_kcall *k, qrn_domain domain) {
    const qrn_pooling_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    QRN_NEED(a->n_spatial >= 1 && a->n_spatial <= 3, "not 1 to 3 spatial dimensions");
    uint32_t last = a->n_spatial + 1;
    QRN_NEED(x->rank == last + 1 && y->rank == last + 1,
             "the rank of an operand is not that of the spatial dimensions plus 2");
    QRN_NEED(x->dims[0] == y->dims[0], "in[0] and out[0] differ in batch size");
    QRN_NEED(x->dims[last] == y->dims[last], "in[0] and out[0] differ in channels");
    for (uint32_t i = 0; i < a->n_spatial; i++) {
        const window one = {.n = y->dims[1 + i],
                            .stride = a->stride[i],
                            .size = a->size[i],
                            .dilation = 1,
                            .before = a->before[i],
                            .after = a->after[i]};
        QRN_NEED_ALSO(check_window(&one, x->dims[last]));
    }
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    return domain == QRN_DOMAIN_RAW ? NULL : qrn_chk_all_real(k, domain);
}

static const char *check_pool_max(const qrn_kcall *k, qrn_domain domain) {
    QRN_NEED_ALSO(check_pool(k, domain));
    QRN_NEED(domain != QRN_DOMAIN_RAW || qrn_chk_type(k->in[0], QUANTIZED_8_16),
             "in[0] is not of 8 or 16 bits");
    QRN_NEED(domain != QRN_DOMAIN_RAW || qrn_chk_same_format(k->in[0], k->out[0]),
             "in[0] and out[0] differ in type or encoding");
    return NULL;
}

static const char *check_pool_avg(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    QRN_NEED_ALSO(check_pool(k, domain));
    if (domain != QRN_DOMAIN_RAW)
        return NULL;
    QRN_NEED(one_scale(x) && whole_bits(x), "in[0] is not of 8 or 16 bits with one scale");
    QRN_NEED(x->quant->offset >= -UINT16_MAX && x->quant->offset <= UINT16_MAX,
             "the offset of in[0] is out of range");
    QRN_NEED(one_scale(y) && whole_bits(y), "out[0] is not of 8 or 16 bits with one scale");
    return NULL;
}

static const char *check_pool_l2(const qrn_kcall *k, qrn_domain domain) {
    QRN_NEED(domain != QRN_DOMAIN_RAW, "no such domain");
    return check_pool(k, domain);
}

const qrn_cop qrn_cop_pool_max = {
    QRN_COP_HEAD(pool_max), QRN_COP_ATTRS(pooling_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1),   .check = check_pool_max,
};
const qrn_cop qrn_cop_pool_avg = {
    QRN_COP_HEAD(pool_avg), QRN_COP_ATTRS(pooling_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1),   .check = check_pool_avg,
};
const qrn_cop qrn_cop_pool_l2 = {
    QRN_COP_HEAD(pool_l2), QRN_COP_ATTRS(pooling_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1),  .check = check_pool_l2,
};
