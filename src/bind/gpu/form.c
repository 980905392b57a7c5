// SPDX-License-Identifier: MIT
//
// Forms in which packages store tensors: their memory, and the way back to plain buffers.
#include "bind/gpu/binder.h"
#include "bind/gpu/user.h"

static uint32_t slices(const qrn_gpu_user_form *f, const qrn_gpu_element *e) {
    return (e->dims[QRN_GPU_C] + f->lanes - 1u) / f->lanes;
}

uint64_t qrn_gpu_element_count(const qrn_gpu_user_form *f, const qrn_gpu_element *e) {
    uint64_t n = (uint64_t)slices(f, e) * f->lanes;
    for (uint32_t d = 0; d < QRN_GPU_C; d++)
        n = n > UINT32_MAX ? n : n * e->dims[d];
    return n;
}

// Texels of a row.
static uint32_t row(const qrn_gpu_user_form *f, const qrn_gpu_element *e) {
    return f->order == QRN_GPU_NCDHW ? e->dims[QRN_GPU_W] : e->dims[QRN_GPU_W] * slices(f, e);
}

static qrn_status make_element(qrn_gpu_binder *b, const qrn_gpu_user_form *f, qrn_gpu_element *e) {
    uint64_t n = qrn_gpu_element_count(f, e);
    if (f->kind == QRN_GPU_OBJECT_BUFFER)
        return qrn_gpu_scratch(b, f->type, (size_t)n, &e->item);
    qrn_gpu_object o = {
        .kind = f->kind, .type = f->type, .width = (size_t)n, .height = 1, .slices = 1};
    if (f->kind != QRN_GPU_OBJECT_HOST)
        o.width = (size_t)(n / f->lanes);
    if (f->kind == QRN_GPU_OBJECT_IMAGE2D || f->kind == QRN_GPU_OBJECT_IMAGE2D_ARRAY) {
        size_t rows = o.width / row(f, e);
        o.width = row(f, e);
        o.height = f->kind == QRN_GPU_OBJECT_IMAGE2D ? rows : e->dims[QRN_GPU_H];
        o.slices = rows / o.height;
    }
    return qrn_gpu_add_object(b, &o, &e->item);
}

qrn_status qrn_gpu_user_form_make(qrn_gpu_binder *b, qrn_gpu_user_form *f) {
    for (uint32_t i = 0; i < f->n_elements; i++)
        QRN_TRY(make_element(b, f, &f->elements[i]));
    return QRN_OK;
}

static qrn_status unpack(qrn_gpu_binder *b, const qrn_gpu_user_form *f, const qrn_gpu_element *e,
                         qrn_val y) {
    size_t n = 1;
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_unpack, "unpack");
    bool real = qrn_dtype_is_float(f->type);
    bool is_signed = qrn_dtypes[f->type].cls == QRN_CLASS_SINT;
    qrn_gpu_define(&k, "KIND", "%u", f->kind == QRN_GPU_OBJECT_BUFFER ? 0u : f->kind);
    qrn_gpu_define(&k, "ORDER", "%u", f->order);
    qrn_gpu_define(&k, "LANES", "%u", f->lanes);
    qrn_gpu_define(&k, "READ", "read_image%s", real ? "f" : is_signed ? "i" : "ui");
    qrn_gpu_define(&k, "TEXEL", "%s4", real ? "float" : is_signed ? "int" : "uint");
    if (f->kind == QRN_GPU_OBJECT_BUFFER)
        qrn_gpu_in(&k, "X", e->item);
    else
        qrn_gpu_object_in(&k, "X", e->item, f->type);
    qrn_gpu_out(&k, "Y", y);
    for (uint32_t d = 0; d < QRN_GPU_FORM_DIMS; d++) {
        n *= e->dims[d];
        qrn_gpu_ints(&k, (int64_t[]){e->dims[d], e->origin[d], f->dims[d]}, 3);
    }
    qrn_gpu_ints(&k, (int64_t[]){slices(f, e), row(f, e), (int64_t)n}, 3);
    return qrn_gpu_kernel_items(&k, n);
}

qrn_status qrn_gpu_user_form_unpack(qrn_gpu_binder *b, const qrn_gpu_user_form *f, qrn_val y) {
    for (uint32_t i = 0; i < f->n_elements; i++)
        QRN_TRY(unpack(b, f, &f->elements[i], y));
    return QRN_OK;
}
