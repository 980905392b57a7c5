// SPDX-License-Identifier: MIT
//
// Importers: pooling, resizing, blocks of pixels, normalization over channels.
#include "frontend/tflite/import.h"
#include "frontend/tflite/window.h"

#include <string.h>

static qrn_status check_image(const tl *t) {
    const ox_val *x = tl_val(t, 0);
    return x->rank == 4 ? QRN_OK
                        : tl_fail(t, QRN_E_SHAPE, "'%s' has rank %u, expected 4", x->name, x->rank);
}

// An op with one input, one output and parameters that the caller adds.
static bool begin(tl *t, qc_op *o, const char *type, qc_tensor **y) {
    qc_tensor *x = tl_in(t, 0);
    *y = tl_out(t, 0);
    if (t->e.s != QRN_OK)
        return false;
    ox_op(t->e.im, o, t->e.n, type);
    qc_in(o, x);
    qc_out(o, *y);
    return true;
}

static qrn_status end(tl *t, qc_op *o, qc_tensor *y) {
    tl_emit(t, o);
    return tl_end(t, 0, y);
}

qrn_status tl_pool(tl *t) {
    const ox_val *x = tl_val(t, 0);
    int64_t kernel[2] = {tl_int(t, "filter_height"), tl_int(t, "filter_width")};
    tl_window w;
    qc_op o;
    qc_tensor *y;
    QRN_TRY(check_image(t));
    QRN_TRY(tl_read_strides(t, &w));
    for (int i = 0; i < 2; i++) {
        if (kernel[i] < 1 || kernel[i] > INT32_MAX)
            return tl_fail(t, QRN_E_PARAM, "a window of %lld", (long long)kernel[i]);
        w.kernel[i] = (uint32_t)kernel[i];
    }
    QRN_TRY(tl_place_window(t, x->dims + 1, &w));
    QRN_TRY(tl_set(t, 0, 4, (const uint32_t[]){x->dims[0], w.out[0], w.out[1], x->dims[3]}));
    if (!begin(t, &o, t->op->qnn, &y))
        return t->e.s;
    qc_u32s(&o, QNN_OP_POOL_AVG_2D_PARAM_FILTER_SIZE, w.kernel, 2);
    qc_u32s(&o, QNN_OP_POOL_AVG_2D_PARAM_STRIDE, w.stride, 2);
    qc_u32s_2d(&o, QNN_OP_POOL_AVG_2D_PARAM_PAD_AMOUNT, w.pad, 2, 2);
    if (strcmp(t->op->qnn, QNN_OP_POOL_AVG_2D) == 0)
        qc_bool(&o, QNN_OP_POOL_AVG_2D_PARAM_COUNT_PAD_FOR_EDGES, false);
    return end(t, &o, y);
}

qrn_status tl_resize(tl *t) {
    const ox_val *x = tl_val(t, 0);
    int64_t size[2];
    uint32_t n;
    qc_op o;
    qc_tensor *y;
    QRN_TRY(check_image(t));
    QRN_TRY(tl_ints(t, 1, size, 2, &n));
    if (n != 2 || size[0] < 1 || size[1] < 1 || size[0] > INT32_MAX || size[1] > INT32_MAX)
        return tl_fail(t, QRN_E_SHAPE, "its size must be two numbers from 1 on");
    QRN_TRY(tl_set(
        t, 0, 4, (const uint32_t[]){x->dims[0], (uint32_t)size[0], (uint32_t)size[1], x->dims[3]}));
    if (!begin(t, &o, t->op->qnn, &y))
        return t->e.s;
    qc_bool(&o, QNN_OP_RESIZE_BILINEAR_PARAM_ALIGN_CORNERS, tl_int(t, "align_corners") != 0);
    qc_bool(&o, QNN_OP_RESIZE_BILINEAR_PARAM_HALF_PIXEL_CENTERS,
            tl_int(t, "half_pixel_centers") != 0);
    return end(t, &o, y);
}

// DEPTH_TO_SPACE and SPACE_TO_DEPTH.
qrn_status tl_blocks(tl *t) {
    const ox_val *x = tl_val(t, 0);
    int64_t b = tl_int(t, "block_size");
    bool up = strcmp(t->op->qnn, QNN_OP_DEPTH_TO_SPACE) == 0;
    qc_op o;
    qc_tensor *y;
    QRN_TRY(check_image(t));
    if (b < 1 || b > 65535)
        return tl_fail(t, QRN_E_PARAM, "blocks of %lld", (long long)b);
    uint32_t size = (uint32_t)b, cells = size * size;
    if (up ? x->dims[3] % cells != 0 : x->dims[1] % size != 0 || x->dims[2] % size != 0)
        return tl_fail(t, QRN_E_SHAPE, "blocks of %u do not divide its input", size);
    QRN_TRY(tl_set(t, 0, 4,
                   (const uint32_t[]){x->dims[0], up ? x->dims[1] * size : x->dims[1] / size,
                                      up ? x->dims[2] * size : x->dims[2] / size,
                                      up ? x->dims[3] / cells : x->dims[3] * cells}));
    if (!begin(t, &o, t->op->qnn, &y))
        return t->e.s;
    qc_u32s(&o, QNN_OP_DEPTH_TO_SPACE_PARAM_BLOCK_SIZE, (const uint32_t[]){size, size}, 2);
    return end(t, &o, y);
}

// BATCH_TO_SPACE_ND and SPACE_TO_BATCH_ND over height and width.
qrn_status tl_batch_space(tl *t) {
    const ox_val *x = tl_val(t, 0);
    bool join = strcmp(t->op->qnn, QNN_OP_BATCH_TO_SPACE) == 0;
    int64_t block[2], edges[4], dims[4];
    uint32_t n, n_edges, size[2], amounts[4], out[4];
    qc_op o;
    qc_tensor *y;
    QRN_TRY(check_image(t));
    QRN_TRY(tl_ints(t, 1, block, 2, &n));
    QRN_TRY(tl_ints(t, 2, edges, 4, &n_edges));
    if (n != 2 || n_edges != 4)
        return tl_fail(t, QRN_E_UNSUPPORTED, "it is supported over two dimensions only");
    for (int i = 0; i < 4; i++) {
        if (edges[i] < 0 || edges[i] > INT32_MAX || block[i / 2] < 1 || block[i / 2] > 65535)
            return tl_fail(t, QRN_E_PARAM, "a block of %lld, an edge of %lld",
                           (long long)block[i / 2], (long long)edges[i]);
        amounts[i] = (uint32_t)edges[i];
    }
    dims[0] = join ? x->dims[0] / (block[0] * block[1]) : x->dims[0] * block[0] * block[1];
    dims[3] = x->dims[3];
    for (int i = 0; i < 2; i++) {
        int64_t sum = edges[2 * i] + edges[2 * i + 1];
        size[i] = (uint32_t)block[i];
        dims[1 + i] = join ? x->dims[1 + i] * block[i] - sum : (x->dims[1 + i] + sum) / block[i];
    }
    for (int i = 0; i < 4; i++) {
        if (dims[i] < 1 || dims[i] > INT32_MAX)
            return tl_fail(t, QRN_E_SHAPE, "dimension %d of its output is %lld", i,
                           (long long)dims[i]);
        out[i] = (uint32_t)dims[i];
    }
    QRN_TRY(tl_set(t, 0, 4, out));
    if (!begin(t, &o, t->op->qnn, &y))
        return t->e.s;
    qc_u32s(&o, QNN_OP_BATCH_TO_SPACE_PARAM_BLOCK_SIZE, size, 2);
    qc_u32s_2d(&o,
               join ? QNN_OP_BATCH_TO_SPACE_PARAM_CROPS : QNN_OP_SPACE_TO_BATCH_PARAM_PAD_AMOUNT,
               amounts, 2, 2);
    return end(t, &o, y);
}

qrn_status tl_l2_norm(tl *t) {
    const ox_val *x = tl_val(t, 0);
    qc_op o;
    qc_tensor *y;
    if (x->rank == 0)
        return tl_fail(t, QRN_E_SHAPE, "its input has no dimension");
    QRN_TRY(tl_set(t, 0, x->rank, x->dims));
    if (!begin(t, &o, QNN_OP_L2_NORM, &y))
        return t->e.s;
    qc_u32(&o, QNN_OP_L2_NORM_PARAM_AXIS, x->rank - 1);
    qc_f32(&o, QNN_OP_L2_NORM_PARAM_EPSILON, 1e-6f);
    return end(t, &o, y);
}

qrn_status tl_lrn(tl *t) {
    const ox_val *x = tl_val(t, 0);
    int64_t radius = tl_int(t, "radius");
    qc_op o;
    qc_tensor *y;
    QRN_TRY(check_image(t));
    if (radius < 0 || radius > 65535)
        return tl_fail(t, QRN_E_PARAM, "radius %lld", (long long)radius);
    QRN_TRY(tl_set(t, 0, 4, x->dims));
    if (!begin(t, &o, QNN_OP_LRN, &y))
        return t->e.s;
    // QNN's alpha counts for the sum of the window as a whole, the format's for each value.
    qc_f32(&o, QNN_OP_LRN_PARAM_ALPHA, ox_attr_float(t->e.n, "alpha", 0));
    qc_f32(&o, QNN_OP_LRN_PARAM_BETA, ox_attr_float(t->e.n, "beta", 0));
    qc_f32(&o, QNN_OP_LRN_PARAM_BIAS, ox_attr_float(t->e.n, "bias", 0));
    qc_i32(&o, QNN_OP_LRN_PARAM_RADIUS, (int32_t)radius);
    return end(t, &o, y);
}
