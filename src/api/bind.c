// SPDX-License-Identifier: MIT
//
// What a client brings to execute, checked and bound: tensors are matched by id, in any order, and
// buffers are used where they lie.
#include "api/execute.h"

#include "api/tensor.h"
#include "base/mem.h"

#include <string.h>

static qrn_status tensor_fail(const qrn_api_graph *g, const qrn_tensor *t, qrn_status s,
                              const char *what) {
    return QRN_FAIL(s, "graph '%s' tensor '%s': %s", g->ir->name, t->name, what);
}

bool qrn_shape_is_result(const qrn_api_graph *g, const qrn_api_io *io) {
    return io->is_output && (io->tensor->has_dynamic || g->plan_dynamic);
}

// How many times the prepared batch `d` is; 0: it is no multiple, or the backend supports none.
static uint32_t multiple_of_batch(const qrn_tensor *t, uint32_t d) {
    uint32_t one = t->shape.dims[0];
    if (!(qrn_this_backend.features & QRN_FEATURE_BATCH) || one == 0 || d % one != 0 ||
        t->format == QRN_FORMAT_SPARSE || t->size_bytes == 0)
        return 0;
    size_t count = 0; // values of one set must end with a byte
    qrn_shape_count(&t->shape, &count);
    return count * qrn_dtypes[t->dtype].bits % 8 == 0 ? d / one : 0;
}

// Current dimensions, when the client gives any, against those of creation. *batch: how many times
// the prepared one is brought.
static qrn_status bind_shape(const qrn_api_graph *g, const qrn_api_io *io, const Qnn_TensorV2_t *c,
                             qrn_binding *b, uint32_t *batch) {
    const qrn_tensor *t = io->tensor;
    *batch = 1;
    b->rank = t->shape.rank;
    memcpy(b->dims, t->shape.dims, sizeof(b->dims));
    if (c->rank == 0 || !c->dimensions || qrn_shape_is_result(g, io))
        return QRN_OK;
    if (c->rank != t->shape.rank)
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s' tensor '%s': rank %u, expected %u", g->ir->name,
                        t->name, c->rank, t->shape.rank);
    for (uint32_t i = 0; i < c->rank; i++) {
        uint32_t d = c->dimensions[i], most = t->shape.dims[i];
        if (t->dynamic[i] && (d == 0 || d > most))
            return QRN_FAIL(QRN_E_DYNAMIC_SHAPE,
                            "graph '%s' tensor '%s': dimension %u is %u, allowed 1 to %u",
                            g->ir->name, t->name, i, d, most);
        if (i == 0 && !t->dynamic[0] && multiple_of_batch(t, d)) {
            *batch = multiple_of_batch(t, d);
            continue;
        }
        if (!t->dynamic[i] && d != most)
            return QRN_FAIL(QRN_E_TENSOR, "graph '%s' tensor '%s': dimension %u is %u, expected %u",
                            g->ir->name, t->name, i, d, most);
        b->dims[i] = d;
    }
    return QRN_OK;
}

// All tensors of a call bring the same multiple of the batch.
static qrn_status bind_batch(const qrn_api_graph *g, const qrn_tensor *t, uint32_t batch,
                             qrn_frame *f) {
    if (f->n_batch && f->n_batch != batch)
        return QRN_FAIL(QRN_E_TENSOR,
                        "graph '%s' tensor '%s': %u times the prepared batch of %u, but the "
                        "tensors before it have %u times theirs",
                        g->ir->name, t->name, batch, t->shape.dims[0], f->n_batch);
    f->n_batch = batch;
    return QRN_OK;
}

// Bytes of one set of values that the client's buffer must have.
static size_t needed_bytes(const qrn_api_io *io, const qrn_binding *b) {
    const qrn_tensor *t = io->tensor;
    if (io->is_output || !t->has_dynamic || t->format == QRN_FORMAT_SPARSE)
        return t->size_bytes;
    qrn_shape now = {.rank = b->rank};
    memcpy(now.dims, b->dims, sizeof(now.dims));
    size_t count = 0, bytes = 0;
    qrn_shape_count(&now, &count); // no larger than the declared shape, which fits
    qrn_dtype_bytes(t->dtype, count, &bytes);
    return bytes;
}

// Memory stays pinned by the frame.
static qrn_status bind_memory(const qrn_api_graph *g, qrn_frame *f, uint32_t at, const void *handle,
                              size_t *have) {
    const qrn_tensor *t = g->io[at].tensor;
    qrn_api_mem *m = qrn_pin_memory(handle);
    if (!m)
        return tensor_fail(g, t, QRN_E_TENSOR, "not a memory handle");
    f->memory[at] = m;
    f->n_memory++;
    if (m->context != g->context)
        return tensor_fail(g, t, QRN_E_WRONG_CONTEXT,
                           "the memory handle belongs to another context");
    f->io[at].memory = m->memory;
    *have = m->size_bytes;
    return QRN_OK;
}

static qrn_status bind_data(const qrn_api_graph *g, qrn_frame *f, uint32_t at,
                            const Qnn_TensorV2_t *c, uint32_t batch) {
    const qrn_api_io *io = &g->io[at];
    qrn_binding *b = &f->io[at];
    const qrn_tensor *t = io->tensor;
    size_t have = 0, need = 0;
    b->memory = (qrn_memory){0};
    if (!qrn_mul_size(needed_bytes(io, b), batch, &need))
        return tensor_fail(g, t, QRN_E_TENSOR, "the batch is too large");
    if (c->memType == QNN_TENSORMEMTYPE_RAW) {
        void *data = c->clientBuf.data;
        b->memory = (qrn_memory){.kind = data ? QRN_MEMORY_HOST : QRN_MEMORY_NONE, .host = data};
        have = c->clientBuf.dataSize;
    } else if (c->memType == QNN_TENSORMEMTYPE_MEMHANDLE) {
        QRN_TRY(bind_memory(g, f, at, c->memHandle, &have));
    } else {
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s' tensor '%s': memory type %d, allowed 0 and 1",
                        g->ir->name, t->name, (int)c->memType);
    }
    if (b->memory.kind == QRN_MEMORY_NONE && (t->optional_io || qrn_tensor_has_memory(t)))
        return QRN_OK; // the same as leaving the tensor out
    if (b->memory.kind == QRN_MEMORY_NONE)
        return tensor_fail(g, t, QRN_E_TENSOR, "the buffer is NULL");
    if (have < need)
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s' tensor '%s': buffer of %zu bytes, expected %zu",
                        g->ir->name, t->name, have, need);
    return QRN_OK;
}

// The number of elements of an output is a result: an earlier one may still stand there.
static qrn_status check_sparse(const qrn_api_graph *g, const qrn_api_io *io,
                               const Qnn_Tensor_t *client) {
    const qrn_tensor *t = io->tensor;
    if (t->format != QRN_FORMAT_SPARSE)
        return QRN_OK;
    const Qnn_SparseParams_t *p = &client->v2.sparseParams;
    uint32_t n = p->hybridCoo.numSpecifiedElements, most = t->n_sparse_elements;
    if (!qrn_client_is_v2(client) || p->type != QNN_SPARSE_LAYOUT_HYBRID_COO ||
        (io->is_output ? n > most : n != most) ||
        p->hybridCoo.numSparseDimensions != t->n_sparse_dims)
        return QRN_FAIL(QRN_E_SPARSITY,
                        "graph '%s' tensor '%s': expected %u sparse elements over %u dimensions",
                        g->ir->name, t->name, t->n_sparse_elements, t->n_sparse_dims);
    return QRN_OK;
}

// Position of a tensor among the bindings; the search starts at `hint`, since clients keep an
// order.
static uint32_t find_io(const qrn_api_graph *g, uint32_t id, uint32_t hint) {
    for (uint32_t k = 0; k < g->n_io; k++) {
        uint32_t i = hint + k < g->n_io ? hint + k : hint + k - g->n_io;
        if (g->io[i].tensor->id == id)
            return i;
    }
    return UINT32_MAX;
}

static qrn_status bind_one(const qrn_api_graph *g, qrn_frame *f, const Qnn_Tensor_t *client,
                           bool is_output, uint32_t place, uint32_t *hint) {
    if (client->version != QNN_TENSOR_VERSION_1 && client->version != QNN_TENSOR_VERSION_2)
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s': %s %u has version %d, allowed 1 and 2",
                        g->ir->name, is_output ? "output" : "input", place, (int)client->version);
    const Qnn_TensorV2_t *c = qrn_client_tensor(client);
    uint32_t at = find_io(g, c->id, *hint);
    if (at == UINT32_MAX || g->io[at].is_output != is_output)
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s': %s %u: tensor id %u is no %s of the graph",
                        g->ir->name, is_output ? "output" : "input", place, c->id,
                        is_output ? "output" : "input");
    const qrn_tensor *t = g->io[at].tensor;
    if (f->place[at] != UINT32_MAX)
        return tensor_fail(g, t, QRN_E_TENSOR, "given twice");
    qrn_dtype given = qrn_dtype_from_code((uint32_t)c->dataType);
    if (given != QRN_DTYPE_COUNT && given != t->dtype)
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s' tensor '%s': data type %s, expected %s",
                        g->ir->name, t->name, qrn_dtypes[given].token, qrn_dtypes[t->dtype].token);
    uint32_t batch;
    QRN_TRY(bind_shape(g, &g->io[at], c, &f->io[at], &batch));
    QRN_TRY(check_sparse(g, &g->io[at], client));
    QRN_TRY(bind_data(g, f, at, c, batch));
    QRN_TRY(bind_batch(g, t, batch, f));
    f->io[at].produced = false;
    f->place[at] = place;
    *hint = at + 1 < g->n_io ? at + 1 : 0;
    return QRN_OK;
}

static qrn_status make_spare(const qrn_api_graph *g, qrn_frame *f, uint32_t i) {
    size_t need = g->io[i].tensor->size_bytes * f->n_batch; // fits: the client has as much
    if (f->spare_bytes[i] < need) {
        qrn_free(f->spare[i]);
        f->spare[i] = qrn_alloc(need);
        f->spare_bytes[i] = f->spare[i] ? need : 0;
    }
    if (!f->spare[i])
        return tensor_fail(g, g->io[i].tensor, QRN_E_MEM, "out of memory for a buffer");
    return QRN_OK;
}

// Kernels need elements at their natural alignment; other buffers go through one of ours.
static qrn_status align(const qrn_api_graph *g, qrn_frame *f, uint32_t i) {
    const qrn_tensor *t = g->io[i].tensor;
    size_t element = qrn_dtypes[t->dtype].bits / 8u;
    if (t->format == QRN_FORMAT_SPARSE && element < sizeof(int32_t))
        element = sizeof(int32_t); // indices come first
    if (element < 2 || f->io[i].memory.kind == QRN_MEMORY_DEVICE ||
        (uintptr_t)f->io[i].memory.host % element == 0)
        return QRN_OK;
    QRN_TRY(make_spare(g, f, i));
    if (!g->io[i].is_output)
        memcpy(f->spare[i], f->io[i].memory.host, needed_bytes(&g->io[i], &f->io[i]) * f->n_batch);
    f->io[i].memory = (qrn_memory){.kind = QRN_MEMORY_HOST, .host = f->spare[i]};
    return QRN_OK;
}

// A tensor without a buffer: absent for the ops, or written to a buffer of ours.
static qrn_status bind_lacking(const qrn_api_graph *g, qrn_frame *f, uint32_t i) {
    const qrn_tensor *t = g->io[i].tensor;
    if (!g->io[i].may_lack)
        return tensor_fail(g, t, QRN_E_TENSOR,
                           g->io[i].is_output ? "output is missing" : "input is missing");
    if (!g->io[i].is_output || qrn_tensor_has_memory(t))
        return QRN_OK;
    QRN_TRY(make_spare(g, f, i));
    f->io[i].memory = (qrn_memory){.kind = QRN_MEMORY_HOST, .host = f->spare[i]};
    f->io[i].rank = t->shape.rank;
    memcpy(f->io[i].dims, t->shape.dims, sizeof(t->shape.dims));
    return QRN_OK;
}

qrn_status qrn_bind_all(const qrn_api_graph *g, qrn_frame *f, const Qnn_Tensor_t *inputs,
                        uint32_t n_inputs, const Qnn_Tensor_t *outputs, uint32_t n_outputs) {
    f->n_batch = 0;
    for (uint32_t i = 0; i < g->n_io; i++) {
        f->place[i] = UINT32_MAX;
        f->io[i] = (qrn_binding){0};
    }
    uint32_t hint = 0;
    for (uint32_t i = 0; i < n_inputs; i++)
        QRN_TRY(bind_one(g, f, &inputs[i], false, i, &hint));
    for (uint32_t i = 0; i < n_outputs; i++)
        QRN_TRY(bind_one(g, f, &outputs[i], true, i, &hint));
    f->n_batch = f->n_batch ? f->n_batch : 1;
    for (uint32_t i = 0; i < g->n_io; i++)
        QRN_TRY(f->io[i].memory.kind != QRN_MEMORY_NONE ? align(g, f, i) : bind_lacking(g, f, i));
    return QRN_OK;
}
