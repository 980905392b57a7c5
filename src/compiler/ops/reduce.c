// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group reduce: attributes, and what makes a step safe to run.
#include "compiler/ops/check.h"

#include "kernels/norm/norm.h"
#include "kernels/reduce/along.h"
#include "kernels/reduce/reduce_q.h"
#include "kernels/softmax/masked.h"
#include "kernels/softmax/softmax.h"

// 8 or 16 bits with one scale.
static bool has_one_scale(const qrn_view *v) {
    return qrn_dtype_is_fixed(v->dtype) && qrn_io_supports(v);
}

// --- over a set of axes

static const qrn_attr reduce_attrs[] = {
    QRN_ATTR(qrn_reduce_args, op),
    QRN_ATTR(qrn_reduce_args, axes),
};

// Every output has one element for each index of the axes that stay.
static const char *check_axes(const qrn_kcall *k, uint32_t axes) {
    const qrn_view *x = k->in[0];
    size_t stay = 1;
    QRN_NEED(axes >> x->rank == 0, "an axis is not below the rank of in[0]");
    for (uint32_t d = 0; d < x->rank; d++)
        stay *= axes >> d & 1 ? 1 : x->dims[d];
    for (uint32_t i = 0; i < k->n_out; i++)
        QRN_NEED(qrn_view_count(k->out[i]) == stay, "an output has not one element per result");
    return NULL;
}

static const char *check_reduce(const qrn_kcall *k, qrn_domain domain) {
    const qrn_reduce_args *a = k->args;
    QRN_NEED(a->op <= QRN_REDUCE_SUM_SQUARE, "unknown operation");
    QRN_NEED_ALSO(check_axes(k, a->axes));
    if (domain != QRN_DOMAIN_RAW)
        return qrn_chk_all_real(k, domain);
    double count = (double)qrn_view_count(k->in[0]) / (double)qrn_view_count(k->out[0]);
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(
        qrn_reduce_q_work(a->op, k->in[0], k->out[0], count),
        "no reduction of quantized values with this operation, encoding or number of elements");
    return NULL;
}

const qrn_cop qrn_cop_reduce = {
    QRN_COP_HEAD(reduce), QRN_COP_ATTRS(reduce_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1), .check = check_reduce,
};

static const char *check_moments(const qrn_kcall *k, qrn_domain domain) {
    const qrn_reduce_args *a = k->args;
    QRN_NEED_ALSO(check_axes(k, a->axes));
    return qrn_chk_all_real(k, domain);
}

const qrn_cop qrn_cop_moments = {
    QRN_COP_HEAD(moments), QRN_COP_ATTRS(reduce_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(2, 2, 3),  .check = check_moments,
};

static const char *check_extremes(const qrn_kcall *k, qrn_domain domain) {
    QRN_NEED(qrn_view_count(k->in[0]) > 0, "in[0] has no element");
    for (uint32_t i = 0; i < k->n_out; i++)
        QRN_NEED(qrn_view_count(k->out[i]) == 1, "an output has not one element");
    return qrn_chk_all_real(k, domain);
}

const qrn_cop qrn_cop_extremes = {
    QRN_COP_HEAD(extremes),
    QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(2, 2, 3),
    .check = check_extremes,
};

// --- along one axis

static const qrn_attr arg_attrs[] = {
    QRN_ATTR(qrn_arg_args, axis),
    QRN_ATTR(qrn_arg_args, min),
};

static const char *check_arg(const qrn_kcall *k, qrn_domain domain) {
    const qrn_arg_args *a = k->args;
    QRN_NEED(a->axis < k->in[0]->rank, "axis is not below the rank of in[0]");
    QRN_NEED_ALSO(check_axes(k, 1u << a->axis));
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_real(k->in[0], domain), "in[0] is not of the domain's type");
    QRN_NEED(qrn_chk_type(k->out[0], QRN_T(I32) | QRN_T(U32) | QRN_T(F32) | QRN_T(F16)),
             "out[0] is not i32, u32, f32 or f16");
    return NULL;
}

const qrn_cop qrn_cop_arg = {
    QRN_COP_HEAD(arg),    QRN_COP_ATTRS(arg_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1), .check = check_arg,
};

static const qrn_attr cumsum_attrs[] = {
    QRN_ATTR(qrn_cumsum_args, axis),
    QRN_ATTR(qrn_cumsum_args, exclusive),
    QRN_ATTR(qrn_cumsum_args, reverse),
};

static const char *check_cumsum(const qrn_kcall *k, qrn_domain domain) {
    const qrn_cumsum_args *a = k->args;
    QRN_NEED(a->axis < k->in[0]->rank, "axis is not below the rank of in[0]");
    QRN_NEED(qrn_chk_same_shape(k->in[0], k->out[0]), "in[0] and out[0] differ in shape");
    return qrn_chk_all_real(k, domain);
}

const qrn_cop qrn_cop_cumsum = {
    QRN_COP_HEAD(cumsum), QRN_COP_ATTRS(cumsum_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1), .check = check_cumsum,
};

static const qrn_attr topk_attrs[] = {
    QRN_ATTR(qrn_topk_args, smallest),
    QRN_ATTR(qrn_topk_args, low_ties),
};

static const char *check_topk(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    QRN_NEED(x->rank >= 1, "in[0] has no axis");
    uint32_t last = x->rank - 1;
    QRN_NEED(qrn_chk_same_but(x, y, last) && y->dims[last] <= x->dims[last],
             "out[0] has not the first elements of the last axis of in[0]");
    QRN_NEED(qrn_chk_same_shape(y, k->out[1]), "the outputs differ in shape");
    QRN_NEED(x->dims[last] <= INT32_MAX, "the last axis is too long");
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_real(x, domain) && qrn_chk_real(y, domain),
             "in[0] or out[0] is not of the domain's type");
    QRN_NEED(qrn_chk_type(k->out[1], QRN_T(I32) | QRN_T(U32)), "out[1] is not i32 or u32");
    return NULL;
}

const qrn_cop qrn_cop_topk = {
    QRN_COP_HEAD(topk),   QRN_COP_ATTRS(topk_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(2, 2, 3), .check = check_topk,
};

// --- softmax

static const qrn_attr softmax_attrs[] = {
    QRN_ATTR(qrn_softmax_args, axis),
    QRN_ATTR(qrn_softmax_args, beta),
    QRN_ATTR(qrn_softmax_args, log),
};

static const char *check_softmax(const qrn_kcall *k, qrn_domain domain) {
    const qrn_softmax_args *a = k->args;
    QRN_NEED(a->axis < k->in[0]->rank, "axis is not below the rank of in[0]");
    QRN_NEED(qrn_chk_same_shape(k->in[0], k->out[0]), "in[0] and out[0] differ in shape");
    if (domain != QRN_DOMAIN_RAW)
        return qrn_chk_all_real(k, domain);
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(has_one_scale(k->in[0]) && has_one_scale(k->out[0]),
             "an operand is not of 8 or 16 bits with one scale");
    QRN_NEED(!a->log, "a logarithm of quantized values");
    return NULL;
}

const qrn_cop qrn_cop_softmax = {
    QRN_COP_HEAD(softmax), QRN_COP_ATTRS(softmax_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1),  .check = check_softmax,
};

static const qrn_attr masked_softmax_attrs[] = {QRN_ATTR(qrn_masked_softmax_args, compressed)};

static const char *check_masked_softmax(const qrn_kcall *k, qrn_domain domain) {
    const qrn_masked_softmax_args *a = k->args;
    const qrn_view *x = k->in[0], *mask = k->in[1];
    QRN_NEED(x->rank == 4, "in[0] is not of rank 4");
    QRN_NEED(qrn_chk_same_shape(x, k->out[0]), "in[0] and out[0] differ in shape");
    QRN_NEED(mask->rank == 2 && mask->dims[0] == x->dims[0],
             "in[1] has not one row for each batch of in[0]");
    QRN_NEED(a->compressed || mask->dims[1] == x->dims[3], "in[0] and in[1] differ in channels");
    QRN_NEED(!a->compressed || x->dims[2] == x->dims[3], "in[0] is not square");
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_real(x, domain) && qrn_chk_real(k->out[0], domain),
             "in[0] or out[0] is not of the domain's type");
    QRN_NEED(a->compressed ? mask->dtype != QRN_DTYPE_STR : qrn_chk_real(mask, domain),
             "in[1] is not of a type that fits");
    return NULL;
}

const qrn_cop qrn_cop_masked_softmax = {
    QRN_COP_HEAD(masked_softmax), QRN_COP_ATTRS(masked_softmax_attrs), QRN_COP_IN(2, 2, 3),
    QRN_COP_OUT(1, 1, 1),         .check = check_masked_softmax,
};

// --- normalization

static const qrn_attr norm_attrs[] = {
    QRN_ATTR(qrn_norm_args, kind),   QRN_ATTR(qrn_norm_args, epsilon),
    QRN_ATTR(qrn_norm_args, group),  QRN_ATTR(qrn_norm_args, per_channel),
    QRN_ATTR(qrn_norm_args, n_axes), QRN_ATTR_ARRAY(qrn_norm_args, axes),
};

// Axes and groups; *n_params: elements that gamma and beta have.
static const char *check_sets(const qrn_norm_args *a, const qrn_view *x, size_t *n_params) {
    uint32_t seen = 0;
    QRN_NEED(x->rank >= 1, "in[0] has no axis");
    QRN_NEED(a->n_axes <= x->rank, "more axes than in[0] has");
    *n_params = 1;
    for (uint32_t i = 0; i < a->n_axes; i++) {
        QRN_NEED(a->axes[i] < x->rank, "an axis is not below the rank of in[0]");
        QRN_NEED(!(seen >> a->axes[i] & 1), "an axis is given twice");
        seen |= 1u << a->axes[i];
        *n_params *= x->dims[a->axes[i]];
    }
    uint32_t channels = x->dims[x->rank - 1];
    QRN_NEED(a->group == 0 || channels % a->group == 0, "the groups do not divide the last axis");
    if (a->per_channel)
        *n_params = channels;
    return NULL;
}

static const char *check_norm(const qrn_kcall *k, qrn_domain domain) {
    const qrn_norm_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    bool raw = domain == QRN_DOMAIN_RAW;
    size_t n_params;
    QRN_NEED(a->kind <= QRN_NORM_L2, "unknown kind of norm");
    QRN_NEED_ALSO(check_sets(a, x, &n_params));
    QRN_NEED(qrn_chk_same_shape(x, y), "in[0] and out[0] differ in shape");
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    for (uint32_t i = 1; i < k->n_in; i++) {
        const qrn_view *param = k->in[i];
        QRN_NEED(!param || qrn_view_count(param) == n_params, "gamma or beta is not of the size");
        QRN_NEED(qrn_chk_real(param, raw ? QRN_DOMAIN_F64 : domain),
                 "gamma or beta is not of the type");
    }
    QRN_NEED(raw ? qrn_norm_supports_q(a, x, y)
                 : qrn_chk_real(x, domain) && qrn_chk_real(y, domain),
             "in[0] or out[0] is not of a type and encoding that fit");
    return NULL;
}

const qrn_cop qrn_cop_norm = {
    QRN_COP_HEAD(norm),   QRN_COP_ATTRS(norm_attrs), QRN_COP_IN(1, 3, 1),
    QRN_COP_OUT(1, 1, 1), .check = check_norm,
};

static const char *check_affine(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0];
    QRN_NEED(x->rank >= 1, "in[0] has no axis");
    QRN_NEED(qrn_chk_same_shape(x, k->out[0]), "in[0] and out[0] differ in shape");
    for (uint32_t i = 1; i < k->n_in; i++)
        QRN_NEED(!k->in[i] || (k->in[i]->rank >= 1 && k->in[i]->rank <= x->rank &&
                               k->in[i]->rank == k->in[1]->rank &&
                               qrn_view_count(k->in[i]) == x->dims[x->rank - k->in[1]->rank]),
                 "in[1] or in[2] has not one number per channel");
    return qrn_chk_all_real(k, domain);
}

const qrn_cop qrn_cop_affine = {
    QRN_COP_HEAD(affine),
    QRN_COP_IN(2, 3, 3),
    QRN_COP_OUT(1, 1, 1),
    .check = check_affine,
};

static const qrn_attr lrn_attrs[] = {
    QRN_ATTR(qrn_lrn_args, alpha),          QRN_ATTR(qrn_lrn_args, beta),
    QRN_ATTR(qrn_lrn_args, bias),           QRN_ATTR(qrn_lrn_args, radius),
    QRN_ATTR(qrn_lrn_args, within_channel),
};

static const char *check_lrn(const qrn_kcall *k, qrn_domain domain) {
    const qrn_lrn_args *a = k->args;
    const qrn_view *x = k->in[0];
    QRN_NEED(a->within_channel ? x->rank == 4 : x->rank >= 1, "in[0] is not of a rank that fits");
    QRN_NEED(a->radius >= 0, "the radius is negative");
    QRN_NEED(qrn_chk_same_shape(x, k->out[0]), "in[0] and out[0] differ in shape");
    return qrn_chk_all_real(k, domain);
}

const qrn_cop qrn_cop_lrn = {
    QRN_COP_HEAD(lrn),    QRN_COP_ATTRS(lrn_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1), .check = check_lrn,
};
