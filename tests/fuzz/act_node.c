// SPDX-License-Identifier: MIT
//
// Actions on nodes: drawn ops, spoiled in every way that a struct can be, and chains of ops.
#include "world.h"

static const Qnn_Tensor_t no_tensor = QNN_TENSOR_INIT;

// One tensor of a configuration, drawn among inputs, outputs and parameters; NULL: none.
static Qnn_Tensor_t *some_tensor(source *s, client_op *c) {
    Qnn_OpConfigV1_t *v = &c->config.v1;
    uint32_t n = v->numOfInputs + v->numOfOutputs;
    if (n == 0)
        return NULL;
    uint32_t i = draw_below(s, n);
    return i < v->numOfInputs ? &c->in[i] : &c->out[i - v->numOfInputs];
}

// Before a shape is spoiled: dimensions of its own, and no encoding whose length follows from them.
static void unshare_shape(world *w, Qnn_TensorV2_t *f, uint32_t rank) {
    f->quantizeParams = (Qnn_QuantizeParams_t)QNN_QUANTIZE_PARAMS_INIT;
    if (rank && f->dimensions)
        f->dimensions = memcpy(scrap_new(&w->mem, rank * sizeof(uint32_t), 0), f->dimensions,
                               rank * sizeof(uint32_t));
}

static void spoil_tensor(world *w, Qnn_Tensor_t *t) {
    source *s = w->s;
    Qnn_TensorV2_t *f = tensor_of(t);
    uint32_t rank = f->rank <= QRN_MAX_RANK ? f->rank : 0;
    switch (draw_below(s, 12)) {
    case 0:
        f->id = draw_chance(s, 50) ? draw_u32(s) : draw_u8(s);
        break;
    case 1: // another tensor, perhaps of another graph or context
        if (w->n_tensors)
            *t = w->tensors[draw_below(s, w->n_tensors)].tensor;
        break;
    case 2:
        f->dataType = (Qnn_DataType_t)qrn_dtypes[draw_below(s, QRN_DTYPE_COUNT)].code;
        break;
    case 3:
        f->dataType = (Qnn_DataType_t)draw_u32(s);
        break;
    case 4: // the array is as long as it was
        unshare_shape(w, f, rank);
        f->rank = draw_chance(s, 50) ? QRN_MAX_RANK + 1u + draw_u8(s) : draw_below(s, rank + 1);
        break;
    case 5:
        f->dimensions = NULL;
        break;
    case 6: {
        static const uint32_t wild[] = {0, 1, 2, 7, UINT32_MAX, 1u << 31, 65536};
        unshare_shape(w, f, rank);
        if (rank && f->dimensions)
            f->dimensions[draw_below(s, rank)] = DRAW_FROM(s, wild);
        if (rank && f->dimensions)
            world_bound(w, 64, rank, f->dimensions);
        break;
    }
    case 7:
        t->version = (Qnn_TensorVersion_t)draw_u8(s);
        break;
    case 8:
        f->type = (Qnn_TensorType_t)draw_below(s, 16);
        break;
    case 9:
        f->memType = (Qnn_TensorMemType_t)draw_u8(s);
        break;
    case 10:
        f->clientBuf.dataSize = draw_below(s, f->clientBuf.dataSize + 1u);
        break;
    default:
        f->name = NULL;
        break;
    }
}

static void spoil_param(world *w, client_op *c) {
    source *s = w->s;
    Qnn_OpConfigV1_t *v = &c->config.v1;
    if (v->numOfParams == 0 || draw_chance(s, 20)) { // one more
        if (v->numOfParams >= DRAW_PARAMS)
            return;
        Qnn_Param_t *p = &c->params[v->numOfParams];
        *p = v->numOfParams && draw_chance(s, 50) ? c->params[0] : (Qnn_Param_t)QNN_PARAM_INIT;
        if (!p->name)
            p->name = draw_chance(s, 50) ? "axis" : NULL;
        v->numOfParams++;
        return;
    }
    Qnn_Param_t *p = &c->params[draw_below(s, v->numOfParams)];
    switch (draw_below(s, 7)) {
    case 0:
        p->name = world_name(w);
        break;
    case 1:
        p->paramType = (Qnn_ParamType_t)draw_below(s, 3);
        if (p->paramType == QNN_PARAMTYPE_TENSOR)
            p->tensorParam = no_tensor;
        else
            p->scalarParam = (Qnn_Scalar_t)QNN_SCALAR_INIT;
        break;
    case 2:
        p->paramType = (Qnn_ParamType_t)draw_u32(s);
        break;
    case 3:
        if (p->paramType == QNN_PARAMTYPE_SCALAR) {
            p->scalarParam.int64Value = (int64_t)((uint64_t)draw_u32(s) << draw_below(s, 33));
            if (p->scalarParam.dataType == QNN_DATATYPE_STRING)
                p->scalarParam.stringValue = world_name(w);
        }
        break;
    case 4:
        if (p->paramType == QNN_PARAMTYPE_SCALAR) {
            p->scalarParam.int64Value = 0; // a NULL text for strings
            p->scalarParam.dataType =
                (Qnn_DataType_t)qrn_dtypes[draw_below(s, QRN_DTYPE_COUNT)].code;
        }
        break;
    case 5:
        if (p->paramType == QNN_PARAMTYPE_TENSOR)
            spoil_tensor(w, &p->tensorParam);
        break;
    default:
        v->numOfParams = draw_below(s, v->numOfParams + 1);
        break;
    }
}

static void spoil(world *w, client_op *c) {
    source *s = w->s;
    Qnn_OpConfigV1_t *v = &c->config.v1;
    Qnn_Tensor_t *t = some_tensor(s, c);
    switch (draw_below(s, 16)) {
    case 0:
        v->name = world_name(w);
        break;
    case 1:
        v->packageName = world_name(w);
        break;
    case 2:
        v->typeName = draw_chance(s, 50) ? world_name(w) : qrn_op_at(draw_u8(s) % 100)->name;
        break;
    case 3: // the arrays have room for all of them
        v->numOfInputs = draw_below(s, DRAW_OPERANDS + 1);
        break;
    case 4:
        v->numOfOutputs = draw_below(s, DRAW_OPERANDS + 1);
        break;
    case 5:
        v->inputTensors = NULL;
        break;
    case 6:
        v->outputTensors = NULL;
        break;
    case 7:
        v->params = NULL;
        break;
    case 8:
        c->config.version = (Qnn_OpConfigVersion_t)draw_u8(s);
        break;
    case 9:
    case 10:
    case 11:
        spoil_param(w, c);
        break;
    default:
        if (t)
            spoil_tensor(w, t);
        break;
    }
}

static void keep_tensors(world *w, const client_op *c, const drawn_op *op, void *graph) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (tensor_of((Qnn_Tensor_t *)&c->in[i])->id)
            world_keep_tensor(w, &c->in[i], graph, op->in[i].size_bytes);
    for (uint32_t i = 0; i < op->n_out; i++)
        if (tensor_of((Qnn_Tensor_t *)&c->out[i])->id)
            world_keep_tensor(w, &c->out[i], graph, op->out[i].size_bytes);
    for (uint32_t i = 0; i < op->n_in + op->n_out; i++)
        w->bytes += i < op->n_in ? op->in[i].size_bytes : op->out[i - op->n_in].size_bytes;
}

static uint32_t n_ops(void) {
    static uint32_t n;
    while (qrn_op_at(n))
        n++;
    return n;
}

// Inputs may come from tensors that are there; a real client has only these.
static void borrow_inputs(world *w, client_op *c) {
    for (uint32_t i = 0; i < c->config.v1.numOfInputs; i++)
        if (w->n_tensors && draw_chance(w->s, 10))
            c->in[i] = w->tensors[draw_below(w->s, w->n_tensors)].tensor;
}

// Adds a node, often a spoiled copy of it first: the graph must be as before when that is refused.
static void add_node(world *w, void *graph, client_op *c) {
    client_op *bad = scrap_new(&w->mem, sizeof *bad, 0);
    uint32_t n = draw_chance(w->s, 35) ? 1 + draw_below(w->s, 3) : 0;
    *bad = *c;
    bad->config.v1.inputTensors = bad->in;
    bad->config.v1.outputTensors = bad->out;
    bad->config.v1.params = bad->params;
    if (n && draw_chance(w->s, 30))
        borrow_inputs(w, bad);
    for (uint32_t i = 0; i < n; i++)
        spoil(w, bad);
    void *backend = world_pick(w, KIND_BACKEND);
    if (n) {
        world_ok("QnnBackend_validateOpConfig",
                 w->qnn.backendValidateOpConfig(backend, bad->config));
        if (world_ok("QnnGraph_addNode", w->qnn.graphAddNode(graph, bad->config)))
            return;
    }
    if (draw_chance(w->s, 30))
        world_ok("QnnBackend_validateOpConfig", w->qnn.backendValidateOpConfig(backend, c->config));
    world_ok("QnnGraph_addNode", w->qnn.graphAddNode(graph, c->config));
}

// Some application tensors and constants may be changed after finalize, some may be left out.
static void vary_types(source *s, client_op *c) {
    static const Qnn_TensorType_t in[] = {QNN_TENSOR_TYPE_UPDATEABLE_APP_WRITE,
                                          QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE};
    static const Qnn_TensorType_t out[] = {QNN_TENSOR_TYPE_UPDATEABLE_APP_READ,
                                           QNN_TENSOR_TYPE_OPTIONAL_APP_READ,
                                           QNN_TENSOR_TYPE_NATIVE};
    for (uint32_t i = 0; i < c->config.v1.numOfInputs; i++) {
        Qnn_TensorV2_t *t = tensor_of(&c->in[i]);
        if (!draw_chance(s, 10))
            continue;
        if (t->type == QNN_TENSOR_TYPE_APP_WRITE)
            t->type = DRAW_FROM(s, in);
        else if (t->type == QNN_TENSOR_TYPE_STATIC)
            t->type = QNN_TENSOR_TYPE_UPDATEABLE_STATIC;
    }
    for (uint32_t i = 0; i < c->config.v1.numOfOutputs; i++)
        if (tensor_of(&c->out[i])->type == QNN_TENSOR_TYPE_APP_READ && draw_chance(s, 10))
            tensor_of(&c->out[i])->type = DRAW_FROM(s, out);
}

void act_op(world *w) {
    if (w->bytes > WORLD_BYTES)
        return;
    const qrn_op_def *def = qrn_op_at(draw_u8(w->s) % n_ops());
    source draws = source_split(w->s);
    const client_style style = {.static_percent = 25, .dynamic_percent = 15, .bad_percent = 5};
    drawn_op *op = scrap_new(&w->mem, sizeof *op, 0);
    client_op *c = scrap_new(&w->mem, sizeof *c, 0);
    op_draw(&draws, def, 20, op);
    for (uint32_t i = 0; i < DRAW_OPERANDS; i++)
        c->in[i] = c->out[i] = no_tensor;
    const char *prefix = world_name(w);
    client_op_make(&draws, &w->mem, op, prefix && strlen(prefix) < 20 ? prefix : "x", &style, c);
    vary_types(&draws, c);
    if (draw_chance(w->s, 8))
        spoil(w, c);
    void *graph = world_pick(w, KIND_GRAPH);
    world_ok("QnnTensor_createGraphTensor", client_op_create(&w->qnn, graph, c));
    keep_tensors(w, c, op, graph);
    add_node(w, graph, c);
}

void act_chain(world *w) {
    static const char *const ops[] = {"Relu", "ElementWiseNeg", "Reshape",
                                      "Cast", "Convert",        "Tanh"};
    if (w->n_tensors == 0)
        return;
    made_tensor *from = &w->tensors[w->n_tensors - 1 - draw_u8(w->s) % (w->n_tensors > 3 ? 3 : 1)];
    if (w->bytes + from->size_bytes > WORLD_BYTES)
        return;
    Qnn_Tensor_t in = from->tensor, out = from->tensor;
    void *graph = draw_chance(w->s, 5) ? world_pick(w, KIND_GRAPH) : from->graph;
    out.v1.name = world_name(w);
    out.v1.type = draw_chance(w->s, 50) ? QNN_TENSOR_TYPE_NATIVE : QNN_TENSOR_TYPE_APP_READ;
    out.v1.memType = QNN_TENSORMEMTYPE_RAW;
    memset(&out.v1.clientBuf, 0, sizeof out.v1.clientBuf);
    if (world_ok("QnnTensor_createGraphTensor", w->qnn.tensorCreateGraphTensor(graph, &out)))
        world_keep_tensor(w, &out, graph, from->size_bytes);
    w->bytes += from->size_bytes;
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1 = (Qnn_OpConfigV1_t){.name = world_name(w),
                               .packageName = QNN_OP_PACKAGE_NAME_QTI_AISW,
                               .typeName = DRAW_FROM(w->s, ops),
                               .numOfInputs = 1,
                               .inputTensors = &in,
                               .numOfOutputs = 1,
                               .outputTensors = &out};
    world_ok("QnnGraph_addNode", w->qnn.graphAddNode(graph, op));
}
