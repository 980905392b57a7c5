// SPDX-License-Identifier: MIT
//
// Memory objects of a plan that are no plain buffers: images, and memory of the host. Only ops of
// packages ask for them.
#include "bind/gpu/plan.h"

#include "base/mem.h"

#define TEXEL_LANES 4u

static cl_uint channel_type(qrn_dtype t) {
    switch (t) {
    case QRN_DTYPE_F32:
        return CL_FLOAT;
    case QRN_DTYPE_F16:
        return CL_HALF_FLOAT;
    case QRN_DTYPE_I8:
        return CL_SIGNED_INT8;
    case QRN_DTYPE_I16:
        return CL_SIGNED_INT16;
    case QRN_DTYPE_I32:
        return CL_SIGNED_INT32;
    case QRN_DTYPE_U8:
    case QRN_DTYPE_B8:
        return CL_UNSIGNED_INT8;
    case QRN_DTYPE_U16:
        return CL_UNSIGNED_INT16;
    case QRN_DTYPE_U32:
        return CL_UNSIGNED_INT32;
    default:
        return 0;
    }
}

bool qrn_gpu_is_texel(qrn_dtype t) { return channel_type(t) != 0; }

uint64_t qrn_gpu_object_bytes(const qrn_gpu_object *o) {
    uint64_t n =
        (uint64_t)o->width * o->height * o->slices * ((qrn_dtypes[o->type].bits + 7u) / 8u);
    return o->kind == QRN_GPU_OBJECT_HOST ? n : n * TEXEL_LANES;
}

static cl_uint image_type(uint8_t kind) {
    return kind == QRN_GPU_OBJECT_IMAGE2D         ? CL_MEM_OBJECT_IMAGE2D
           : kind == QRN_GPU_OBJECT_IMAGE2D_ARRAY ? CL_MEM_OBJECT_IMAGE2D_ARRAY
                                                  : CL_MEM_OBJECT_IMAGE1D_BUFFER;
}

static cl_int make(const qrn_gpu_plan *p, qrn_gpu_object *o) {
    cl_context context = p->device->context;
    cl_int err = CL_SUCCESS;
    if (o->kind == QRN_GPU_OBJECT_HOST || o->kind == QRN_GPU_OBJECT_IMAGE1D_BUFFER) {
        bool host = o->kind == QRN_GPU_OBJECT_HOST;
        cl_mem m =
            qrn_cl.clCreateBuffer(context, CL_MEM_READ_WRITE | (host ? CL_MEM_ALLOC_HOST_PTR : 0),
                                  (size_t)qrn_gpu_object_bytes(o), NULL, &err);
        *(host ? &o->memory : &o->below) = m;
    }
    if (err != CL_SUCCESS || o->kind == QRN_GPU_OBJECT_HOST)
        return err;
    cl_image_format format = {CL_RGBA, channel_type(o->type)};
    cl_image_desc desc = {.image_type = image_type(o->kind),
                          .image_width = o->width,
                          .image_height = o->kind == QRN_GPU_OBJECT_IMAGE1D_BUFFER ? 0 : o->height,
                          .image_array_size =
                              o->kind == QRN_GPU_OBJECT_IMAGE2D_ARRAY ? o->slices : 0,
                          .buffer = o->below};
    o->memory = qrn_cl.clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &err);
    return err;
}

qrn_status qrn_gpu_objects_make(qrn_gpu_plan *p) {
    for (uint32_t i = 0; i < p->n_objects; i++) {
        qrn_gpu_object *o = &p->objects[i];
        cl_int err = make(p, o);
        if (err != CL_SUCCESS)
            return QRN_FAIL(err == CL_MEM_OBJECT_ALLOCATION_FAILURE ? QRN_E_MEM : QRN_E_OPTIMIZE,
                            "graph '%s': '%s' cannot make an object of a package's op (%s, %zu x "
                            "%zu x %zu of %s): %s",
                            p->cg->name, p->device->info->name,
                            o->kind == QRN_GPU_OBJECT_HOST ? "host memory" : "image", o->width,
                            o->height, o->slices, qrn_dtypes[o->type].token, qrn_cl_error(err));
    }
    return QRN_OK;
}

static void drop(cl_mem *m) {
    if (*m)
        qrn_cl.clReleaseMemObject(*m);
    *m = NULL;
}

void qrn_gpu_objects_drop(qrn_gpu_plan *p) {
    for (uint32_t i = 0; i < p->n_objects; i++) {
        drop(&p->objects[i].memory);
        drop(&p->objects[i].below);
    }
}
