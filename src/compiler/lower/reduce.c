// SPDX-License-Identifier: MIT
//
// Lowering rows of the reduce group: reductions, scans, sorting, softmax and normalization.
#include "compiler/lower/groups.h"
#include "compiler/lower/kept.h"
#include "compiler/lowering.h"
#include "kernels/element_io.h"
#include "kernels/norm/norm.h"
#include "kernels/reduce/along.h"
#include "kernels/reduce/reduce_q.h"
#include "kernels/softmax/masked.h"
#include "kernels/softmax/softmax.h"

#include <string.h>

static uint32_t rank_of(const qrn_node *n) { return n->in[0]->shape.rank; }

static qrn_status softmax_args(const qrn_node *n, void *args) {
    qrn_softmax_args *a = args;
    a->axis = qrn_node_u32(n, "axis", rank_of(n) - 1);
    a->beta = qrn_node_f32(n, "beta", 1.0f);
    a->log = strcmp(n->type, "LogSoftmax") == 0;
    return QRN_OK;
}

static qrn_view view_of(const qrn_tensor *t) {
    qrn_view v = {.quant = &t->quant, .dtype = t->dtype, .rank = t->shape.rank};
    memcpy(v.dims, t->shape.dims, sizeof v.dims);
    return v;
}

// Quantized values of 8 or 16 bits with one scale.
static bool is_quantized(const qrn_tensor *t) {
    qrn_view v = view_of(t);
    return t->format == QRN_FORMAT_DENSE && qrn_dtype_is_fixed(t->dtype) && qrn_io_supports(&v);
}

// y = s where `kept`, else 0.
static qrn_status clear_others(qrn_lowering *lo, const qrn_tensor *kept, const qrn_tensor *out,
                               qrn_val s) {
    qrn_val ins[3] = {0, s, 0}, y;
    void *zero;
    const qrn_shape one = {.rank = 1, .dims = {1}};
    QRN_TRY(qrn_lo_tensor(lo, kept, &ins[0]));
    QRN_TRY(qrn_lo_tensor(lo, out, &y));
    QRN_TRY(qrn_lo_const(lo, out->dtype, &one, &out->quant, &ins[2], &zero));
    if (out->dtype == QRN_DTYPE_UQ8)
        *(uint8_t *)zero = (uint8_t)-out->quant.offset;
    else
        *(uint16_t *)zero = (uint16_t)-out->quant.offset;
    return qrn_lo_step(lo, &qrn_cop_select, QRN_DOMAIN_RAW, NULL, ins, 3, &y, 1, 0);
}

// Quantized values are computed on as they are.
static qrn_status lower_softmax(qrn_lowering *lo, const qrn_node *n) {
    qrn_softmax_args args = {0};
    qrn_val x, y;
    if (!is_quantized(n->in[0]) || !is_quantized(n->out[0]))
        return QRN_E_UNSUPPORTED;
    const qrn_tensor *out = n->out[0], *kept = lo->opt->masked_softmax ? qrn_lo_kept(n) : NULL;
    QRN_TRY(softmax_args(n, &args));
    QRN_TRY(qrn_lo_tensor(lo, n->in[0], &x));
    if (kept)
        QRN_TRY(qrn_lo_temp(lo, out->dtype, &out->shape, &out->quant, &y));
    else
        QRN_TRY(qrn_lo_tensor(lo, out, &y));
    QRN_TRY(qrn_lo_step(lo, &qrn_cop_softmax, QRN_DOMAIN_RAW, &args, &x, 1, &y, 1, 0));
    return kept ? clear_others(lo, kept, out, y) : QRN_OK;
}

// The lengths of a compressed mask are read as they are.
static qrn_status lower_masked_softmax(qrn_lowering *lo, const qrn_node *n) {
    static const qrn_lower_row added = {.emits = &qrn_cop_masked_softmax, .in = "rr", .out = "r"};
    static const qrn_lower_row lengths = {.emits = &qrn_cop_masked_softmax, .in = "rx", .out = "r"};
    enum { COMPRESSED = 1 };
    qrn_masked_softmax_args args = {qrn_node_u32(n, "mode", 0) == COMPRESSED};
    return qrn_lo_generic(lo, args.compressed ? &lengths : &added, n, &args);
}

// The `axes` parameter, negative entries counted from the end; returns how many.
static uint32_t read_axes(const qrn_node *n, uint32_t *axes) {
    uint32_t count = qrn_node_u32s(n, "axes", axes, QRN_MAX_RANK);
    for (uint32_t i = 0; i < count; i++)
        axes[i] += (int32_t)axes[i] < 0 ? rank_of(n) : 0;
    return count;
}

static const struct {
    const char *op;
    uint32_t code;
} reductions[] = {
    {"ReduceMax", QRN_REDUCE_MAX}, {"ReduceMean", QRN_REDUCE_MEAN},
    {"ReduceMin", QRN_REDUCE_MIN}, {"ReduceProd", QRN_REDUCE_PROD},
    {"ReduceSum", QRN_REDUCE_SUM}, {"ReduceSumSquare", QRN_REDUCE_SUM_SQUARE},
};

static qrn_status reduce_args(const qrn_node *n, void *args) {
    qrn_reduce_args *a = args;
    uint32_t axes[QRN_MAX_RANK], count = rank_of(n) ? read_axes(n, axes) : 0;
    for (uint32_t i = 0; i < count; i++)
        a->axes |= 1u << axes[i];
    for (size_t i = 0; i < sizeof(reductions) / sizeof(reductions[0]); i++)
        if (strcmp(n->type, reductions[i].op) == 0)
            a->op = reductions[i].code;
    return QRN_OK;
}

// Quantized values are reduced as they are, with the results of reals in double.
static qrn_status lower_reduce(qrn_lowering *lo, const qrn_node *n) {
    const qrn_tensor *x = n->in[0], *y = n->out[0];
    qrn_view from = {.dtype = x->dtype, .quant = &x->quant};
    qrn_view to = {.dtype = y->dtype, .quant = &y->quant};
    qrn_reduce_args args = {0};
    qrn_val in, out;
    double count = 1;
    QRN_TRY(reduce_args(n, &args));
    for (uint32_t d = 0; d < x->shape.rank; d++)
        count *= args.axes >> d & 1 ? (double)x->shape.dims[d] : 1;
    if (x->format == QRN_FORMAT_SPARSE || y->format == QRN_FORMAT_SPARSE || x->updateable ||
        y->updateable || !qrn_reduce_q_work(args.op, &from, &to, count))
        return QRN_E_UNSUPPORTED;
    QRN_TRY(qrn_lo_tensor(lo, x, &in));
    QRN_TRY(qrn_lo_tensor(lo, y, &out));
    return qrn_lo_step(lo, &qrn_cop_reduce, QRN_DOMAIN_RAW, &args, &in, 1, &out, 1, 0);
}

static qrn_status arg_args(const qrn_node *n, void *args) {
    qrn_arg_args *a = args;
    a->axis = qrn_node_u32(n, "axis", 0);
    a->min = strcmp(n->type, "Argmin") == 0;
    return QRN_OK;
}

static qrn_status cumsum_args(const qrn_node *n, void *args) {
    qrn_cumsum_args *a = args;
    a->axis = qrn_node_u32(n, "axis", 0);
    a->exclusive = qrn_node_bool(n, "exclusive", false);
    a->reverse = qrn_node_bool(n, "reverse", false);
    return QRN_OK;
}

static qrn_status lower_topk(qrn_lowering *lo, const qrn_node *n) {
    static const qrn_lower_row row = {.emits = &qrn_cop_topk, .in = "r", .out = "rx"};
    qrn_topk_args args = {!qrn_node_bool(n, "largest", true), lo->opt->low_ties};
    return qrn_lo_generic(lo, &row, n, &args);
}

static qrn_status axes_norm_args(const qrn_node *n, void *args) {
    qrn_norm_args *a = args;
    bool rms = strcmp(n->type, "RmsNorm") == 0;
    a->kind = rms ? QRN_NORM_RMS : QRN_NORM_MEAN_VARIANCE;
    a->epsilon = qrn_node_f32(n, "epsilon", rms ? 1e-6f : 1e-3f);
    a->n_axes = read_axes(n, a->axes);
    return QRN_OK;
}

// Quantized values are computed on as they are, gamma and beta as doubles.
static qrn_status lower_axes_norm(qrn_lowering *lo, const qrn_node *n) {
    qrn_norm_args args = {0};
    qrn_val ins[3] = {QRN_VAL_NONE, QRN_VAL_NONE, QRN_VAL_NONE}, y;
    if (n->n_in > 3 || !is_quantized(n->in[0]) || !is_quantized(n->out[0]))
        return QRN_E_UNSUPPORTED;
    QRN_TRY(axes_norm_args(n, &args));
    qrn_view from = view_of(n->in[0]), to = view_of(n->out[0]);
    if (!qrn_norm_supports_q(&args, &from, &to))
        return QRN_E_UNSUPPORTED;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i]) {
            QRN_TRY(qrn_lo_tensor(lo, n->in[i], &ins[i]));
            if (i > 0)
                QRN_TRY(qrn_lo_as(lo, ins[i], QRN_DTYPE_F64, NULL, &ins[i]));
        }
    QRN_TRY(qrn_lo_tensor(lo, n->out[0], &y));
    return qrn_lo_step(lo, &qrn_cop_norm, QRN_DOMAIN_RAW, &args, ins, n->n_in, &y, 1, 0);
}

static void norm_axes(qrn_norm_args *a, uint32_t from, uint32_t to) {
    for (uint32_t d = from; d < to; d++)
        a->axes[a->n_axes++] = d;
}

// The first dimension is the batch unless it is the only one.
static qrn_status group_norm_args(const qrn_node *n, void *args) {
    qrn_norm_args *a = args;
    a->kind = QRN_NORM_MEAN_VARIANCE;
    a->epsilon = qrn_node_f32(n, "epsilon", 0.0f);
    a->group = qrn_node_u32(n, "group", 1);
    a->per_channel = true;
    norm_axes(a, rank_of(n) > 1, rank_of(n));
    return QRN_OK;
}

static qrn_status instance_norm_args(const qrn_node *n, void *args) {
    enum { RMS = 1 };
    enum { ACROSS_SPATIAL = 0, ACROSS_CHANNEL = 1 };
    qrn_norm_args *a = args;
    uint32_t region = qrn_node_u32(n, "region", ACROSS_SPATIAL), last = rank_of(n) - 1;
    if (qrn_node_u32(n, "mode", 0) == RMS)
        a->kind = QRN_NORM_ROOT_SUM;
    else
        a->kind =
            qrn_node_bool(n, "normalize_variance", true) ? QRN_NORM_MEAN_VARIANCE : QRN_NORM_CENTER;
    a->epsilon = qrn_node_f32(n, "epsilon", 1e-12f);
    a->per_channel = true;
    norm_axes(a, region == ACROSS_CHANNEL ? last : 1, region == ACROSS_SPATIAL ? last : last + 1);
    return QRN_OK;
}

static qrn_status l2_norm_args(const qrn_node *n, void *args) {
    qrn_norm_args *a = args;
    a->kind = QRN_NORM_L2;
    a->epsilon = qrn_node_f32(n, "epsilon", 1e-12f);
    a->n_axes = read_axes(n, a->axes);
    if (!a->n_axes)
        a->axes[a->n_axes++] = qrn_node_u32(n, "axis", 0);
    return QRN_OK;
}

static qrn_status lrn_args(const qrn_node *n, void *args) {
    qrn_lrn_args *a = args;
    enum { WITHIN_CHANNEL = 1 };
    a->alpha = qrn_node_f32(n, "alpha", 1.0f);
    a->beta = qrn_node_f32(n, "beta", 0.5f);
    a->bias = qrn_node_f32(n, "bias", 1.0f);
    a->radius = qrn_node_i32(n, "radius", 0);
    a->within_channel = qrn_node_u32(n, "region", 0) == WITHIN_CHANNEL;
    return QRN_OK;
}

// clang-format off
#define REAL(name, fam, fill) {.op = name, .emits = &fam, .in = "r", .out = "r", .args = fill}
#define QUANTIZED(name, fam, fill)                                                                 \
    {.op = name, .emits = &fam, .in = "r", .out = "r", .args = fill, .custom = lower_reduce}
const qrn_lower_row qrn_lower_reduce[] = {
    {.op = "Argmax", .emits = &qrn_cop_arg, .in = "r", .out = "x", .args = arg_args},
    {.op = "Argmin", .emits = &qrn_cop_arg, .in = "r", .out = "x", .args = arg_args},
    REAL("Batchnorm", qrn_cop_affine, NULL),
    REAL("CumulativeSum", qrn_cop_cumsum, cumsum_args),
    REAL("GroupNorm", qrn_cop_norm, group_norm_args),
    REAL("InstanceNorm", qrn_cop_norm, instance_norm_args),
    REAL("L2Norm", qrn_cop_norm, l2_norm_args),
    {.op = "LayerNorm", .emits = &qrn_cop_norm, .in = "r", .out = "r", .args = axes_norm_args,
     .custom = lower_axes_norm},
    REAL("LogSoftmax", qrn_cop_softmax, softmax_args),
    REAL("Lrn", qrn_cop_lrn, lrn_args),
    {.op = "MaskedSoftmax", .custom = lower_masked_softmax},
    REAL("Moments", qrn_cop_moments, reduce_args),
    QUANTIZED("ReduceMax", qrn_cop_reduce, reduce_args),
    QUANTIZED("ReduceMean", qrn_cop_reduce, reduce_args),
    QUANTIZED("ReduceMin", qrn_cop_reduce, reduce_args),
    QUANTIZED("ReduceProd", qrn_cop_reduce, reduce_args),
    QUANTIZED("ReduceSum", qrn_cop_reduce, reduce_args),
    QUANTIZED("ReduceSumSquare", qrn_cop_reduce, reduce_args),
    {.op = "RmsNorm", .emits = &qrn_cop_norm, .in = "r", .out = "r", .args = axes_norm_args,
     .custom = lower_axes_norm},
    {.op = "Softmax", .emits = &qrn_cop_softmax, .in = "r", .out = "r", .args = softmax_args,
     .custom = lower_softmax},
    {.op = "TopK", .custom = lower_topk},
    {0},
};
// clang-format on
