// SPDX-License-Identifier: MIT
//
// oneDNN, version 2 of its C interface: convolutions in single precision and of quantized values,
// and matmuls in single precision.
#include "peers.h"

#if defined(QB_DNNL)
#include <oneapi/dnnl/dnnl.h>
#endif

#if defined(QB_DNNL) && DNNL_VERSION_MAJOR == 2
#include <omp.h>
#include <stdlib.h>
#include <string.h>

typedef struct conv {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_memory_t memory[3]; // source, weights, result
} conv;

static const int roles[3] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};

static void run_conv(void *state) {
    const conv *s = state;
    dnnl_exec_arg_t args[3];
    for (int i = 0; i < 3; i++)
        args[i] = (dnnl_exec_arg_t){roles[i], s->memory[i]};
    dnnl_primitive_execute(s->primitive, s->stream, 3, args);
    dnnl_stream_wait(s->stream);
}

static void free_conv(void *state) {
    conv *s = state;
    for (int i = 0; i < 3; i++)
        dnnl_memory_destroy(s->memory[i]);
    dnnl_primitive_destroy(s->primitive);
    dnnl_primitive_desc_destroy(s->desc);
    dnnl_primitive_attr_destroy(s->attr);
    dnnl_stream_destroy(s->stream);
    dnnl_engine_destroy(s->engine);
    free(s);
}

// Small numbers: no denormals, no infinities.
static void fill(dnnl_memory_t m, size_t bytes, bool quantized) {
    void *data = NULL;
    if (dnnl_memory_get_data_handle(m, &data) != dnnl_success || !data)
        return;
    if (quantized) {
        memset(data, 3, bytes);
        return;
    }
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        ((float *)data)[i] = (float)(i * 7919 % 2048) / 1024.0f - 1.0f;
}

static bool describe(const qb_conv *c, conv *s) {
    dnnl_memory_desc_t src, weights, dst;
    dnnl_dims_t x = {1, c->cin, c->size, c->size}, y = {1, c->cout, c->out, c->out};
    dnnl_dims_t grouped = {c->group, c->cout / c->group, c->cin / c->group, c->kernel, c->kernel};
    dnnl_dims_t strides = {c->stride, c->stride}, before = {c->kernel / 2, c->kernel / 2};
    // What is left over at the far end, which a stride may leave unread.
    int64_t far =
        (int64_t)(c->out - 1) * c->stride + c->kernel - ((int64_t)c->size + c->kernel / 2);
    dnnl_dims_t after = {far, far};
    dnnl_data_type_t data = c->quantized ? dnnl_u8 : dnnl_f32;
    const int64_t *w = c->group > 1 ? grouped : grouped + 1;
    dnnl_convolution_desc_t d;
    const float scale = 0.001f;
    return dnnl_memory_desc_init_by_tag(&src, 4, x, data, dnnl_nhwc) == dnnl_success &&
           dnnl_memory_desc_init_by_tag(&weights, c->group > 1 ? 5 : 4, w,
                                        c->quantized ? dnnl_s8 : dnnl_f32,
                                        dnnl_format_tag_any) == dnnl_success &&
           dnnl_memory_desc_init_by_tag(&dst, 4, y, data, dnnl_nhwc) == dnnl_success &&
           dnnl_convolution_forward_desc_init(&d, dnnl_forward_inference, dnnl_convolution_direct,
                                              &src, &weights, NULL, &dst, strides, before,
                                              after) == dnnl_success &&
           dnnl_primitive_attr_create(&s->attr) == dnnl_success &&
           (!c->quantized ||
            dnnl_primitive_attr_set_output_scales(s->attr, 1, 0, &scale) == dnnl_success) &&
           dnnl_primitive_desc_create(&s->desc, &d, s->attr, s->engine, NULL) == dnnl_success;
}

static bool allocate(const qb_conv *c, conv *s) {
    static const dnnl_query_t queries[3] = {dnnl_query_src_md, dnnl_query_weights_md,
                                            dnnl_query_dst_md};
    for (int i = 0; i < 3; i++) {
        const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(s->desc, queries[i], 0);
        if (!md ||
            dnnl_memory_create(&s->memory[i], md, s->engine, DNNL_MEMORY_ALLOCATE) != dnnl_success)
            return false;
        fill(s->memory[i], dnnl_memory_desc_get_size(md), c->quantized);
    }
    return dnnl_primitive_create(&s->primitive, s->desc) == dnnl_success;
}

static bool make_conv(const qb_conv *c, qb_peer *out) {
    conv *s = calloc(1, sizeof *s);
    omp_set_num_threads(1);
    if (s && dnnl_engine_create(&s->engine, dnnl_cpu, 0) == dnnl_success &&
        dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags) == dnnl_success &&
        describe(c, s) && allocate(c, s)) {
        *out = (qb_peer){"oneDNN", s, run_conv, free_conv};
        return true;
    }
    if (s)
        free_conv(s);
    return false;
}

static void run_product(void *state) {
    const qb_operands *s = state;
    const qb_matmul *p = &s->p;
    for (size_t i = 0; i < p->batch; i++)
        dnnl_sgemm('N', p->transposed ? 'T' : 'N', p->rows, p->cols, p->depth, 1.0f,
                   s->a + i * p->rows * p->depth, p->depth, s->b + i * p->depth * p->cols,
                   p->transposed ? p->depth : p->cols, 0.0f, s->c + i * p->rows * p->cols, p->cols);
}

static bool make_product(const qb_matmul *p, qb_peer *out) {
    qb_operands *o = qb_operands_make(p);
    if (!o)
        return false;
    omp_set_num_threads(1);
    *out = (qb_peer){"oneDNN", o, run_product, qb_operands_free};
    return true;
}

const qb_library qb_onednn = {"oneDNN", NULL, make_conv, make_product};
#else
const qb_library qb_onednn = {"oneDNN", "not built with oneDNN 2 (libdnnl-dev)", 0, 0};
#endif
