// SPDX-License-Identifier: MIT
//
// Lowering rows of the move group. The bytes of one working format are moved: as a rule that of
// out[0], which the generic path does (operand class 'm'). lower_move uses another one where this
// would lose values or time:
//   doubles       an encoding per axis or block does not survive a change of shape
//   that of in[0] several outputs may differ in encoding; a smaller output is cheaper to convert
#include "compiler/lower/groups.h"

#include "base/mem.h"
#include "compiler/lower/lookup.h"
#include "compiler/lowering.h"
#include "kernels/convert.h"
#include "kernels/move/gather.h"
#include "kernels/move/generate.h"
#include "kernels/move/join.h"
#include "kernels/move/layout.h"

#include <string.h>

typedef struct format {
    qrn_dtype dtype;
    const qrn_quant *quant;
} format;

static char class_at(const char *classes, uint32_t i) {
    size_t n = strlen(classes);
    return classes[i < n ? i : n - 1];
}

static bool is_grouped(const qrn_tensor *t) {
    return t && (t->quant.kind == QRN_QUANT_AXIS || t->quant.kind == QRN_QUANT_BLOCK);
}

// Does some moved operand have an encoding per axis or block?
static bool any_grouped(const qrn_node *n, const qrn_lower_row *row) {
    bool any = false;
    for (uint32_t i = 0; i < n->n_in; i++)
        any |= class_at(row->in, i) == 'm' && is_grouped(n->in[i]);
    for (uint32_t o = 0; o < n->n_out; o++)
        any |= class_at(row->out, o) == 'm' && is_grouped(n->out[o]);
    return any;
}

static bool convert_after(const qrn_node *n, const qrn_lower_row *row) {
    size_t in, out;
    bool one_source = class_at(row->in, 0) == 'm' && (n->n_in == 1 || class_at(row->in, 1) != 'm');
    if (!one_source)
        return false;
    return n->n_out > 1 ||
           (!qrn_tensor_is_static(n->in[0]) && qrn_shape_count(&n->in[0]->shape, &in) &&
            qrn_shape_count(&n->out[0]->shape, &out) && in > out);
}

static format format_of(const qrn_node *n) {
    const qrn_lower_row *row = qrn_lower_find(n->op->name);
    if (any_grouped(n, row))
        return (format){QRN_DTYPE_F64, NULL};
    const qrn_tensor *t = convert_after(n, row) ? n->in[0] : n->out[0];
    return (format){t->dtype, &t->quant};
}

static bool has_format(const qrn_tensor *t, format f) {
    return t->dtype == f.dtype && qrn_quant_equal(&t->quant, f.quant);
}

// Moves in format f: moved inputs are brought to it, outputs leave it.
static qrn_status move_in(qrn_lowering *lo, const qrn_lower_row *row, const qrn_node *n, format f,
                          const void *args) {
    qrn_val *vals =
        qrn_arena_alloc(lo->cg->arena, ((size_t)n->n_in + 2u * n->n_out) * sizeof *vals);
    if (!vals)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    qrn_val *outs = vals + n->n_in, *finals = outs + n->n_out;
    for (uint32_t i = 0; i < n->n_in; i++) {
        vals[i] = QRN_VAL_NONE;
        if (n->in[i])
            QRN_TRY(qrn_lo_tensor(lo, n->in[i], &vals[i]));
        if (n->in[i] && class_at(row->in, i) == 'm')
            QRN_TRY(qrn_lo_as(lo, vals[i], f.dtype, f.quant, &vals[i]));
    }
    for (uint32_t o = 0; o < n->n_out; o++) {
        QRN_TRY(qrn_lo_tensor(lo, n->out[o], &finals[o]));
        outs[o] = finals[o];
        if (has_format(n->out[o], f))
            continue;
        QRN_TRY(qrn_lo_temp(lo, f.dtype, &n->out[o]->shape, f.quant, &outs[o]));
        lo->cg->values[outs[o]].dynamic = lo->cg->values[finals[o]].dynamic;
    }
    QRN_TRY(qrn_lo_step(lo, row->emits, QRN_DOMAIN_RAW, args, vals, n->n_in, outs, n->n_out, 0));
    for (uint32_t o = 0; o < n->n_out; o++)
        if (outs[o] != finals[o])
            QRN_TRY(qrn_lo_step(lo, &qrn_cop_convert, QRN_DOMAIN_RAW, NULL, &outs[o], 1, &finals[o],
                                1, 0));
    return QRN_OK;
}

static qrn_status lower_move(qrn_lowering *lo, const qrn_node *n) {
    const qrn_lower_row *row = qrn_lower_find(n->op->name);
    format f = format_of(n);
    bool alike = true;
    for (uint32_t o = 0; o < n->n_out; o++)
        alike &= has_format(n->out[o], f);
    if (alike)
        return QRN_E_UNSUPPORTED; // the generic path does the same
    void *args = qrn_calloc(row->emits->family->args_bytes + 1);
    if (!args)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", n->graph->name);
    qrn_status s = row->args ? row->args(n, args) : QRN_OK;
    if (s == QRN_OK)
        s = move_in(lo, row, n, f, args);
    qrn_free(args);
    return s;
}

// One element of the working format from a scalar parameter; `fallback` when it is absent or name
// is NULL. A float is the real value; a whole number is the quantized value of a fixed-point
// tensor, else the value.
static void put_element(const qrn_node *n, const char *name, double fallback, uint8_t dst[8]) {
    format f = format_of(n);
    const qrn_param *p = name ? qrn_node_param(n, name) : NULL;
    bool whole = p && !qrn_dtype_is_float(p->dtype);
    bool is_quantized = whole && qrn_dtype_is_fixed(n->out[0]->dtype);
    double real = p && !whole ? p->value.f : fallback;
    int64_t number = whole ? p->value.i : 0; // unsigned ones share the bits
    qrn_view src = {.data = whole ? (void *)&number : (void *)&real,
                    .dtype = whole ? QRN_DTYPE_I64 : QRN_DTYPE_F64};
    uint64_t element = 0; // aligned for every type
    qrn_view out = {.data = &element, .dtype = f.dtype, .quant = f.quant};
    qrn_convert_range(&src, &out, 0, 1, is_quantized);
    memcpy(dst, &element, sizeof element);
}

static qrn_status transpose_args(const qrn_node *n, void *args) {
    qrn_transpose_args *a = args;
    qrn_node_u32s(n, "perm", a->perm, QRN_MAX_RANK);
    return QRN_OK;
}

static qrn_status to_depth_args(const qrn_node *n, void *args) {
    qrn_depth_space_args *a = args;
    qrn_node_u32s(n, "block_size", a->block, 2);
    a->crd = qrn_node_u32(n, "mode", 0) == 1;
    a->to_depth = true;
    return QRN_OK;
}

static qrn_status from_depth_args(const qrn_node *n, void *args) {
    QRN_TRY(to_depth_args(n, args));
    ((qrn_depth_space_args *)args)->to_depth = false;
    return QRN_OK;
}

static qrn_status to_batch_args(const qrn_node *n, void *args) {
    qrn_batch_space_args *a = args;
    uint32_t pad[4] = {0};
    qrn_node_u32s(n, "block_size", a->block, 2);
    qrn_node_u32s(n, "pad_amount", pad, 4);
    memcpy(a->pad, pad, sizeof pad);
    a->to_batch = true;
    put_element(n, NULL, 0.0, a->fill);
    return QRN_OK;
}

static qrn_status from_batch_args(const qrn_node *n, void *args) {
    qrn_batch_space_args *a = args;
    uint32_t crops[4] = {0};
    qrn_node_u32s(n, "block_size", a->block, 2);
    qrn_node_u32s(n, "crops", crops, 4);
    memcpy(a->pad, crops, sizeof crops);
    return QRN_OK;
}

static qrn_status shuffle_args(const qrn_node *n, void *args) {
    qrn_shuffle_args *a = args;
    a->axis = qrn_node_u32(n, "axis", n->in[0]->shape.rank - 1);
    a->groups = qrn_node_u32(n, "num_groups", 1);
    return QRN_OK;
}

static qrn_status slice_args(const qrn_node *n, void *args) {
    qrn_slice_args *a = args;
    int32_t ranges[QRN_MAX_RANK * 3];
    a->n_rows = qrn_node_i32s(n, "ranges", ranges, QRN_MAX_RANK * 3) / 3;
    uint32_t shrink = qrn_node_u32(n, "shrink_axes", 0);
    uint32_t added = qrn_node_u32(n, "new_axes_mask", 0);
    uint32_t open = qrn_node_u32(n, "begin_mask", 0);
    for (uint32_t i = 0; i < a->n_rows; i++) {
        a->rows[i].kind = added >> i & 1u    ? QRN_SLICE_NEW
                          : shrink >> i & 1u ? QRN_SLICE_SHRINK
                                             : QRN_SLICE_KEEP;
        a->rows[i].open = open >> i & 1u;
        a->rows[i].begin = ranges[3 * i];
        a->rows[i].step = ranges[3 * i + 2];
    }
    return QRN_OK;
}

static qrn_status join_args(const qrn_node *n, void *args) {
    ((qrn_join_args *)args)->axis = qrn_node_u32(n, "axis", n->in[0]->shape.rank - 1);
    return QRN_OK;
}

static qrn_status pad_args(const qrn_node *n, void *args) {
    qrn_pad_args *a = args;
    uint32_t amount[QRN_MAX_RANK * 2];
    uint32_t count = qrn_node_u32s(n, "pad_amount", amount, QRN_MAX_RANK * 2);
    a->scheme = qrn_node_u32(n, "scheme", QRN_PAD_CONSTANT);
    for (uint32_t d = 0; d < count / 2; d++)
        a->before[d] = amount[2 * d];
    put_element(n, "pad_constant_value", 0.0, a->fill);
    return QRN_OK;
}

// in[1] counts for outputs with dynamic dimensions alone.
static qrn_status reshape_args(const qrn_node *n, void *args) {
    qrn_reshape_args *a = args;
    a->read_shape = n->out[0]->has_dynamic && n->n_in > 1 && n->in[1];
    return QRN_OK;
}

static qrn_status axis_args(const qrn_node *n, void *args) {
    ((qrn_axis_args *)args)->axis = qrn_node_u32(n, "axis", 0);
    return QRN_OK;
}

static qrn_status gather_nd_args(const qrn_node *n, void *args) {
    ((qrn_gather_nd_args *)args)->batch_dims = qrn_node_u32(n, "batch_dims", 0);
    return QRN_OK;
}

static qrn_status scatter_args(const qrn_node *n, void *args) {
    qrn_scatter_args *a = args;
    a->axis = qrn_node_u32(n, "axis", 0); // ScatterNd has none
    a->reduction = qrn_node_u32(n, "reduction", QRN_REDUCE_NONE);
    return QRN_OK;
}

static qrn_status lower_gather(qrn_lowering *lo, const qrn_node *n) {
    qrn_status s = qrn_lower_lookup(lo, n);
    return s == QRN_E_UNSUPPORTED ? lower_move(lo, n) : s;
}

// Overwriting moves bytes; combining computes on real numbers.
static qrn_status lower_scatter(qrn_lowering *lo, const qrn_node *n) {
    qrn_scatter_args a;
    QRN_TRY(scatter_args(n, &a));
    if (a.reduction == QRN_REDUCE_NONE)
        return lower_move(lo, n);
    qrn_lower_row computed = *qrn_lower_find(n->op->name);
    computed.in = "rxr";
    computed.out = "r";
    return qrn_lo_generic(lo, &computed, n, &a);
}

static qrn_status one_hot_args(const qrn_node *n, void *args) {
    qrn_one_hot_args *a = args;
    a->axis = qrn_node_u32(n, "axis", n->in[0]->shape.rank);
    put_element(n, "on_value", 1.0, a->on);
    put_element(n, "off_value", 0.0, a->off);
    return QRN_OK;
}

static qrn_status fill_args(const qrn_node *n, void *args) {
    put_element(n, "value", 0.0, ((qrn_fill_args *)args)->value);
    return QRN_OK;
}

// Where the number of rows is not reported, those left over are filled with -1.
static qrn_status nonzero_args(const qrn_node *n, void *args) {
    ((qrn_nonzero_args *)args)->write_dims = qrn_lo_reports_rows(n, 0);
    return QRN_OK;
}

// Dimensions are known: a constant, copied where it is asked for.
static qrn_status lower_shape(qrn_lowering *lo, const qrn_node *n) {
    const qrn_shape *x = &n->in[0]->shape;
    uint32_t start = qrn_node_u32(n, "start", 0), end = qrn_node_u32(n, "end", x->rank);
    qrn_shape dims = {.rank = 1, .dims = {end - start}};
    qrn_val from, to;
    void *data;
    qrn_dtype type = n->out[0]->dtype;
    QRN_TRY(qrn_lo_const(lo, type, &dims, NULL, &from, &data));
    for (uint32_t i = start; i < end; i++)
        if (qrn_dtypes[type].bits == 64)
            ((int64_t *)data)[i - start] = x->dims[i];
        else
            ((uint32_t *)data)[i - start] = x->dims[i];
    QRN_TRY(qrn_lo_tensor(lo, n->out[0], &to));
    return qrn_lo_step(lo, &qrn_cop_copy, QRN_DOMAIN_RAW, NULL, &from, 1, &to, 1, 0);
}

#define MOVE(name, fam, fill)                                                                      \
    {                                                                                              \
        .op = name, .emits = &qrn_cop_##fam, .in = "m", .out = "m", .args = fill,                  \
        .custom = lower_move                                                                       \
    }
#define INDEXED(name, fam, fill)                                                                   \
    {                                                                                              \
        .op = name, .emits = &qrn_cop_##fam, .in = "mx", .out = "m", .args = fill,                 \
        .custom = lower_move                                                                       \
    }
#define SCATTER(name, fam)                                                                         \
    {                                                                                              \
        .op = name, .emits = &qrn_cop_##fam, .in = "mxm", .out = "m", .args = scatter_args,        \
        .custom = lower_scatter                                                                    \
    }
#define GENERATE(name, fam, fill)                                                                  \
    {                                                                                              \
        .op = name, .emits = &qrn_cop_##fam, .in = "x", .out = "m", .args = fill,                  \
        .custom = lower_move                                                                       \
    }

const qrn_lower_row qrn_lower_move[] = {
    INDEXED("BatchPermutation", batch_permutation, NULL),
    MOVE("BatchToSpace", batch_space, from_batch_args),
    MOVE("ChannelShuffle", shuffle, shuffle_args),
    MOVE("Concat", concat, join_args),
    GENERATE("ConstantOfShape", fill, fill_args),
    MOVE("DepthToSpace", depth_space, from_depth_args),
    MOVE("ExpandDims", copy, NULL),
    {.op = "Gather",
     .emits = &qrn_cop_gather,
     .in = "mx",
     .out = "m",
     .args = axis_args,
     .custom = lower_gather},
    INDEXED("GatherElements", gather_elements, axis_args),
    INDEXED("GatherNd", gather_nd, gather_nd_args),
    GENERATE("NonZero", nonzero, nonzero_args),
    GENERATE("OneHot", one_hot, one_hot_args),
    MOVE("Pack", concat, join_args),
    MOVE("Pad", pad, pad_args),
    INDEXED("Reshape", reshape, reshape_args),
    SCATTER("ScatterElements", scatter_elements),
    SCATTER("ScatterNd", scatter_nd),
    {.op = "Shape", .custom = lower_shape},
    MOVE("SpaceToBatch", batch_space, to_batch_args),
    MOVE("SpaceToDepth", depth_space, to_depth_args),
    MOVE("Split", split, join_args),
    MOVE("Squeeze", copy, NULL),
    MOVE("StridedSlice", slice, slice_args),
    MOVE("Tile", tile, NULL),
    MOVE("Transpose", transpose, transpose_args),
    MOVE("UnPack", split, join_args),
    {0},
};
