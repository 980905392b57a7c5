// SPDX-License-Identifier: MIT
//
// The functions stand in the client's function table, which it holds by value. The API has no place
// for a context of theirs, so there is one variable, as in record.c.
#include "tools/converter/retype.h"

#include "base/fp16.h"
#include "tools/converter/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// An output under its own name, which is made of a float16 tensor at the end.
typedef struct cv_kept {
    char *name;
    Qnn_Tensor_t inner; // float16, as it was made
    uint32_t dims[8];
} cv_kept;

static char bias_role, param_role; // what the map says

static struct {
    cv_retype *r;
    Qnn_ErrorHandle_t (*create)(Qnn_GraphHandle_t graph, Qnn_Tensor_t *tensor);
    Qnn_ErrorHandle_t (*add)(Qnn_GraphHandle_t graph, Qnn_OpConfig_t op);
    Qnn_ErrorHandle_t (*validate)(Qnn_BackendHandle_t backend, Qnn_OpConfig_t op);
} now;

bool cv_retype_needed(const cv_retype *r) { return r->bits == 16 || r->bias_bits == 16; }

// --- scouting

static bool has_bias(const char *type) {
    static const char *const ops[] = {"Conv2d",          "Conv3d",          "DepthWiseConv2d",
                                      "TransposeConv2d", "TransposeConv3d", "FullyConnected",
                                      "MatMul"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(ops[i], type) == 0)
            return true;
    return false;
}

// The map keeps no names: they live as long as the map.
static bool note(cv_retype *r, const char *name, char *role) {
    if (qrn_strmap_get(&r->roles, name))
        return true;
    char *copy = strdup(name);
    if (copy && qrn_strmap_put(&r->roles, copy, role))
        return true;
    free(copy);
    return false;
}

static Qnn_ErrorHandle_t scout_node(Qnn_GraphHandle_t graph, Qnn_OpConfig_t op) {
    Qnn_ErrorHandle_t e = now.add(graph, op);
    const Qnn_OpConfigV1_t *o = &op.v1;
    bool good = true;
    if (o->numOfInputs > 2 && has_bias(o->typeName) &&
        o->inputTensors[2].v1.type == QNN_TENSOR_TYPE_STATIC)
        good = note(now.r, o->inputTensors[2].v1.name, &bias_role);
    for (uint32_t i = 0; good && i < o->numOfParams; i++)
        if (o->params[i].paramType == QNN_PARAMTYPE_TENSOR)
            good = note(now.r, o->params[i].tensorParam.v1.name, &param_role);
    return e != QNN_SUCCESS || good ? e : QNN_COMMON_ERROR_MEM_ALLOC;
}

void cv_retype_scout(cv_retype *r, qc_client *c) {
    now.r = r;
    now.add = c->qnn.graphAddNode;
    c->qnn.graphAddNode = scout_node;
}

// --- changing

static bool is_float32(const Qnn_TensorV1_t *t) { return t->dataType == QNN_DATATYPE_FLOAT_32; }

static unsigned bits_of(const cv_retype *r, const Qnn_TensorV1_t *t) {
    const void *role = qrn_strmap_get(&r->roles, t->name);
    return role == &param_role ? 32 : role == &bias_role ? r->bias_bits : r->bits;
}

// From now on the client's tensor `seen` is the float16 tensor `id`.
static bool note_id(cv_retype *r, uint32_t seen, uint32_t id) {
    if (seen >= r->n_ids) {
        uint32_t n = 2 * seen + 256;
        uint32_t *ids = realloc(r->ids, n * sizeof *ids);
        if (!ids)
            return false;
        memset(ids + r->n_ids, 0, (n - r->n_ids) * sizeof *ids);
        r->ids = ids;
        r->n_ids = n;
    }
    r->ids[seen] = id;
    return true;
}

static Qnn_ErrorHandle_t noted(const Qnn_Tensor_t *seen, uint32_t id) {
    return note_id(now.r, seen->v1.id, id) ? QNN_SUCCESS : QNN_COMMON_ERROR_MEM_ALLOC;
}

static Qnn_ErrorHandle_t create_half(Qnn_GraphHandle_t graph, Qnn_Tensor_t *t) {
    Qnn_Tensor_t made = *t;
    uint16_t *half = NULL;
    size_t n = t->v1.clientBuf.dataSize / sizeof(float);
    if (t->v1.type == QNN_TENSOR_TYPE_STATIC && n) {
        half = malloc(n * sizeof *half);
        if (!half)
            return QNN_COMMON_ERROR_MEM_ALLOC;
        for (size_t i = 0; i < n; i++) {
            float x;
            memcpy(&x, (const char *)t->v1.clientBuf.data + i * sizeof x, sizeof x);
            half[i] = qrn_f16_from_f64((double)x);
        }
        made.v1.clientBuf = (Qnn_ClientBuffer_t){half, (uint32_t)(n * sizeof *half)};
    }
    made.v1.dataType = QNN_DATATYPE_FLOAT_16;
    Qnn_ErrorHandle_t e = now.create(graph, &made);
    t->v1.id = made.v1.id;
    free(half);
    return e == QNN_SUCCESS ? noted(t, made.v1.id) : e;
}

static Qnn_ErrorHandle_t add_cast(Qnn_GraphHandle_t graph, Qnn_Tensor_t *from, Qnn_Tensor_t *to,
                                  const char *name) {
    char text[512];
    snprintf(text, sizeof text, "%.480s_cast", name);
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = text;
    op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    op.v1.typeName = "Cast";
    op.v1.numOfInputs = op.v1.numOfOutputs = 1;
    op.v1.inputTensors = from;
    op.v1.outputTensors = to;
    return now.add(graph, op);
}

// The float16 tensor that nodes have instead of an input or output.
static Qnn_ErrorHandle_t create_inner(Qnn_GraphHandle_t graph, const Qnn_Tensor_t *t,
                                      Qnn_Tensor_t *inner) {
    char name[512];
    snprintf(name, sizeof name, "%.480s_float16", t->v1.name);
    *inner = *t;
    inner->v1.name = name;
    inner->v1.type = QNN_TENSOR_TYPE_NATIVE;
    inner->v1.dataType = QNN_DATATYPE_FLOAT_16;
    Qnn_ErrorHandle_t e = now.create(graph, inner);
    inner->v1.name = t->v1.name;
    return e;
}

static Qnn_ErrorHandle_t keep_input(Qnn_GraphHandle_t graph, Qnn_Tensor_t *t) {
    Qnn_Tensor_t inner;
    Qnn_ErrorHandle_t e = now.create(graph, t);
    if (e == QNN_SUCCESS)
        e = create_inner(graph, t, &inner);
    if (e == QNN_SUCCESS)
        e = add_cast(graph, t, &inner, t->v1.name);
    return e == QNN_SUCCESS ? noted(t, inner.v1.id) : e;
}

static bool grow(cv_retype *r) {
    if (r->n_kept < r->cap_kept)
        return true;
    uint32_t cap = r->cap_kept ? 2 * r->cap_kept : 8;
    cv_kept *list = realloc(r->kept, cap * sizeof *list);
    if (!list)
        return false;
    r->kept = list;
    r->cap_kept = cap;
    return true;
}

static Qnn_ErrorHandle_t keep_output(Qnn_GraphHandle_t graph, Qnn_Tensor_t *t) {
    cv_retype *r = now.r;
    Qnn_Tensor_t inner;
    char *name = grow(r) ? strdup(t->v1.name) : NULL;
    if (!name)
        return QNN_COMMON_ERROR_MEM_ALLOC;
    Qnn_ErrorHandle_t e = create_inner(graph, t, &inner);
    t->v1.id = inner.v1.id;
    cv_kept *k = &r->kept[r->n_kept++];
    *k = (cv_kept){.name = name, .inner = inner};
    memcpy(k->dims, t->v1.dimensions, t->v1.rank * sizeof *k->dims);
    return e == QNN_SUCCESS ? noted(t, inner.v1.id) : e;
}

static Qnn_ErrorHandle_t create_tensor(Qnn_GraphHandle_t graph, Qnn_Tensor_t *t) {
    if (!is_float32(&t->v1) || bits_of(now.r, &t->v1) == 32)
        return now.create(graph, t);
    bool in = t->v1.type == QNN_TENSOR_TYPE_APP_WRITE, out = t->v1.type == QNN_TENSOR_TYPE_APP_READ;
    if ((in || out) && cv_io_is_kept(now.r->keep, t->v1.name))
        return in ? keep_input(graph, t) : keep_output(graph, t);
    return create_half(graph, t);
}

// Operands as the library has them, in place of the client's.
static Qnn_Tensor_t *swapped(const Qnn_Tensor_t *list, uint32_t n) {
    Qnn_Tensor_t *out = malloc((n + 1u) * sizeof *out);
    for (uint32_t i = 0; out && i < n; i++) {
        out[i] = list[i];
        uint32_t id = list[i].v1.id < now.r->n_ids ? now.r->ids[list[i].v1.id] : 0;
        if (!id || list[i].v1.type == QNN_TENSOR_TYPE_NULL)
            continue;
        out[i].v1.id = id;
        out[i].v1.dataType = QNN_DATATYPE_FLOAT_16;
    }
    return out;
}

static bool swap_op(Qnn_OpConfig_t *op) {
    op->v1.inputTensors = swapped(op->v1.inputTensors, op->v1.numOfInputs);
    op->v1.outputTensors = swapped(op->v1.outputTensors, op->v1.numOfOutputs);
    return op->v1.inputTensors && op->v1.outputTensors;
}

static void free_op(Qnn_OpConfig_t *op) {
    free(op->v1.inputTensors);
    free(op->v1.outputTensors);
}

static Qnn_ErrorHandle_t add_node(Qnn_GraphHandle_t graph, Qnn_OpConfig_t op) {
    Qnn_ErrorHandle_t e = swap_op(&op) ? now.add(graph, op) : QNN_COMMON_ERROR_MEM_ALLOC;
    free_op(&op);
    return e;
}

static Qnn_ErrorHandle_t validate(Qnn_BackendHandle_t backend, Qnn_OpConfig_t op) {
    Qnn_ErrorHandle_t e = swap_op(&op) ? now.validate(backend, op) : QNN_COMMON_ERROR_MEM_ALLOC;
    free_op(&op);
    return e;
}

void cv_retype_begin(cv_retype *r, qc_client *c) {
    now.r = r;
    now.create = c->qnn.tensorCreateGraphTensor;
    now.add = c->qnn.graphAddNode;
    now.validate = c->qnn.backendValidateOpConfig;
    c->qnn.tensorCreateGraphTensor = create_tensor;
    c->qnn.graphAddNode = add_node;
    c->qnn.backendValidateOpConfig = validate;
}

qrn_status cv_retype_end(cv_retype *r, const qc_client *c, Qnn_GraphHandle_t graph) {
    for (uint32_t i = 0; i < r->n_kept; i++) {
        cv_kept *k = &r->kept[i];
        Qnn_Tensor_t outer = k->inner;
        k->inner.v1.dimensions = outer.v1.dimensions = k->dims;
        outer.v1.id = 0;
        outer.v1.name = k->name;
        outer.v1.type = QNN_TENSOR_TYPE_APP_READ;
        outer.v1.dataType = QNN_DATATYPE_FLOAT_32;
        QRN_TRY(qc_check(c, now.create(graph, &outer), "tensorCreateGraphTensor"));
        QRN_TRY(qc_check(c, add_cast(graph, &k->inner, &outer, k->name), "graphAddNode"));
    }
    return QRN_OK;
}

void cv_retype_free(cv_retype *r) {
    for (uint32_t i = 0; i < r->n_kept; i++)
        free(r->kept[i].name);
    free(r->kept);
    free(r->ids);
    for (uint32_t i = 0; i < r->roles.cap; i++)
        free((void *)(uintptr_t)r->roles.slots[i].key);
    qrn_strmap_clear(&r->roles);
    r->kept = NULL;
    r->ids = NULL;
    r->n_kept = r->cap_kept = r->n_ids = 0;
}
