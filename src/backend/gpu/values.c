// SPDX-License-Identifier: MIT
//
// Values of a running graph on the host: for traces (dumps), and for QUERN_GPU_CHECK.
#include "backend/gpu/execute.h"

#include "base/mem.h"

#include <math.h>

static cl_mem memory_of(const qrn_gpu_run *r, const qrn_gpu_place *at, uint64_t *offset) {
    *offset = at->offset;
    if (at->index == UINT32_MAX)
        return NULL;
    if (at->space == QRN_GPU_CONST || at->space == QRN_GPU_ARENA)
        return qrn_gpu_memory_of(r->p, at, offset);
    return at->space == QRN_GPU_IO ? qrn_gpu_io_memory(r, at->index) : NULL;
}

static void widen(const uint16_t *src, size_t n, float *dst) {
    for (size_t i = 0; i < n; i++)
        dst[i] = qrn_f16_to_f32(src[i]);
}

static bool get_value(const void *run, uint32_t v, qrn_view *view) {
    qrn_gpu_run *r = (qrn_gpu_run *)run;
    const qrn_cvalue *val = &r->p->cg->values[v];
    const qrn_gpu_place *at = &r->p->places[v];
    *view = qrn_compiled_view(r->p->cg, v);
    if (at->space == QRN_GPU_CONST && view->data)
        return true;
    view->data = NULL;
    uint64_t offset;
    cl_mem m = memory_of(r, at, &offset);
    bool narrow = at->type != val->dtype;
    size_t bytes = narrow ? val->size_bytes / 2 : val->size_bytes;
    char *raw = m ? qrn_alloc(2 * val->size_bytes + 8) : NULL;
    if (!raw || qrn_cl.clEnqueueReadBuffer(r->queue, m, CL_TRUE, (size_t)offset, bytes,
                                           raw + (narrow ? val->size_bytes : 0), 0, NULL,
                                           NULL) != CL_SUCCESS) {
        qrn_free(raw);
        return false;
    }
    if (narrow)
        widen((const uint16_t *)(raw + val->size_bytes), val->size_bytes / 4, (float *)raw);
    qrn_free(r->fetched[v]);
    view->data = r->fetched[v] = raw;
    return true;
}

void qrn_gpu_report(qrn_gpu_run *r, uint32_t launch) {
    const qrn_gpu_launch *l = &r->p->launches[launch];
    const qrn_gpu_launch *next = launch + 1 < r->p->n_launches ? l + 1 : NULL;
    if (next && next->nodes[0] == l->nodes[l->n_nodes - 1])
        return;
    for (uint32_t k = 0; k < l->n_nodes; k++)
        r->trace(r->trace_ctx, l->nodes[k], &(qrn_values){r, get_value});
}

void qrn_gpu_drop_values(qrn_gpu_run *r) {
    for (uint32_t v = 0; r->fetched && v < r->p->cg->n_values; v++)
        qrn_free(r->fetched[v]);
    qrn_free(r->fetched);
    r->fetched = NULL;
}

static float element(const qrn_view *v, size_t i) {
    return v->dtype == QRN_DTYPE_F16 ? qrn_f16_to_f32(((const uint16_t *)v->data)[i])
                                     : ((const float *)v->data)[i];
}

// The first element that is no finite number; n: all are.
static size_t find_bad(const qrn_view *v, size_t n) {
    size_t i = 0;
    while (i < n && isfinite(element(v, i)))
        i++;
    return i;
}

void qrn_gpu_check_values(void *ctx, uint32_t node, const qrn_values *values) {
    qrn_gpu_run *r = ctx;
    const qrn_cnode *n = &r->p->cg->nodes[node];
    for (uint32_t k = 0; k < n->n_out && !r->found; k++) {
        uint32_t v = n->out[k];
        const qrn_cvalue *val = v == QRN_VAL_NONE ? NULL : &r->p->cg->values[v];
        qrn_view view;
        if (!val || !qrn_dtype_is_float(val->dtype) || !values->get(values->run, v, &view))
            continue;
        size_t count = val->size_bytes / qrn_cvalue_elem(val), bad = find_bad(&view, count);
        if (bad == count)
            continue;
        r->found = true;
        qrn_log(r->g->context->backend->log, QNN_LOG_LEVEL_WARN,
                "graph '%s' node '%s' (%s): tensor '%s' is the first with a value that is not "
                "finite: element %zu of %zu is %g (stored as %s)",
                r->g->ir->name, n->name, n->type, val->name, bad, count,
                (double)element(&view, bad), qrn_dtypes[r->p->places[v].type].token);
    }
}
