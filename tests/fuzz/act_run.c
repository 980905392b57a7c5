// SPDX-License-Identifier: MIT
//
// Actions that finalize and execute graphs, with the right buffers and with wrong ones.
#include "world.h"

enum { MAX_IO = 48 };

typedef struct io_list {
    Qnn_Tensor_t *in, *out; // MAX_IO each, in the world's memory: an execution may outlive the call
    uint32_t n_in, n_out;
} io_list;

static bool is_input(Qnn_TensorType_t t) {
    return t == QNN_TENSOR_TYPE_APP_WRITE || t == QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE ||
           t == QNN_TENSOR_TYPE_UPDATEABLE_APP_WRITE;
}

static bool is_output(Qnn_TensorType_t t) {
    return t == QNN_TENSOR_TYPE_APP_READ || t == QNN_TENSOR_TYPE_OPTIONAL_APP_READ ||
           t == QNN_TENSOR_TYPE_UPDATEABLE_APP_READ;
}

// A buffer for a tensor: mostly right.
static void give_buffer(world *w, const made_tensor *m, Qnn_Tensor_t *t) {
    source *s = w->s;
    size_t bytes = m->size_bytes;
    if (draw_chance(s, 4))
        bytes = draw_below(s, (uint32_t)bytes + 1);
    t->v1.memType = QNN_TENSORMEMTYPE_RAW;
    t->v1.clientBuf = (Qnn_ClientBuffer_t){scrap_new(&w->mem, bytes, 0), (uint32_t)bytes};
    source values = source_split(s);
    qrn_dtype dtype = qrn_dtype_from_code((uint32_t)t->v1.dataType);
    if (dtype != QRN_DTYPE_COUNT)
        data_draw(&values, dtype, t->v1.clientBuf.data, bytes);
    if (t->v1.rank && t->v1.rank <= QRN_MAX_RANK && t->v1.dimensions) { // outputs are written to
        size_t n = t->v1.rank * sizeof(uint32_t);
        t->v1.dimensions = memcpy(scrap_new(&w->mem, n, 0), t->v1.dimensions, n);
    }
}

static void spoil_io(world *w, Qnn_Tensor_t *t) {
    source *s = w->s;
    switch (draw_below(s, 8)) {
    case 0:
        t->v1.clientBuf.data = NULL;
        break;
    case 1:
        t->v1.id = draw_u8(s);
        break;
    case 2:
        t->v1.dataType = (Qnn_DataType_t)draw_u32(s);
        break;
    case 3:
        t->version = (Qnn_TensorVersion_t)draw_u8(s);
        break;
    case 4:
        if (t->v1.dimensions && t->v1.rank && t->v1.rank <= QRN_MAX_RANK)
            t->v1.dimensions[draw_below(s, t->v1.rank)] = draw_below(s, 10);
        break;
    case 5:
        t->v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
        t->v1.memHandle = world_pick(w, KIND_MEM);
        break;
    case 6:
        t->v1.memType = (Qnn_TensorMemType_t)draw_u8(s);
        break;
    default:
        t->v1.rank = draw_below(s, 12);
        t->v1.dimensions = NULL;
        break;
    }
}

static io_list gather(world *w, const void *graph) {
    io_list io = {scrap_new(&w->mem, MAX_IO * sizeof *io.in, 0),
                  scrap_new(&w->mem, MAX_IO * sizeof *io.out, 0), 0, 0};
    for (uint32_t i = 0; i < w->n_tensors; i++) {
        const made_tensor *m = &w->tensors[i];
        Qnn_TensorType_t type = m->tensor.v1.type;
        bool in = is_input(type) && io.n_in < MAX_IO, out = is_output(type) && io.n_out < MAX_IO;
        if ((m->graph && m->graph != graph) || (!in && !out) || draw_chance(w->s, 2))
            continue;
        Qnn_Tensor_t *t = in ? &io.in[io.n_in++] : &io.out[io.n_out++];
        *t = m->tensor;
        give_buffer(w, m, t);
        if (draw_chance(w->s, 3))
            spoil_io(w, t);
    }
    return io;
}

static void on_done(void *param, Qnn_NotifyStatus_t status) {
    (void)param;
    if (!world_ok("QnnGraph_executeAsync", status.error) && status.error == 0)
        world_fail("a notification without a result");
}

static void environment(world *w, void *graph, const io_list *io) {
    QnnGraph_ExecuteEnvironment_t env = {0}, *list[2] = {&env, &env};
    env.option = (QnnGraph_ExecuteEnvironmentOption_t)draw_below(w->s, 4);
    env.tensorSet.version = QNN_TENSOR_SET_VERSION_1;
    env.tensorSet.v1 = (Qnn_TensorSetV1_t){io->n_in, io->in, io->n_out, io->out};
    uint32_t n = draw_below(w->s, 3);
    bool ok = world_ok("QnnGraph_prepareExecutionEnvironment",
                       w->qnn.graphPrepareExecutionEnvironment(graph, list, n));
    if (ok || draw_chance(w->s, 20))
        world_ok("QnnGraph_releaseExecutionEnvironment",
                 w->qnn.graphReleaseExecutionEnvironment(
                     graph, (const QnnGraph_ExecuteEnvironment_t **)list, n));
}

void act_execute(world *w) {
    void *graph = world_pick(w, KIND_GRAPH);
    io_list io = gather(w, graph);
    void *profile = world_maybe(w, KIND_PROFILE), *signal = world_maybe(w, KIND_SIGNAL);
    const Qnn_Tensor_t *in = draw_chance(w->s, 2) ? NULL : io.in;
    Qnn_Tensor_t *out = draw_chance(w->s, 2) ? NULL : io.out;
    uint32_t what = draw_below(w->s, 10);
    if (what == 0)
        environment(w, graph, &io);
    else if (what < 3)
        world_ok("QnnGraph_executeAsync",
                 w->qnn.graphExecuteAsync(graph, in, io.n_in, out, io.n_out, profile, signal,
                                          draw_chance(w->s, 30) ? NULL : on_done, NULL));
    else
        world_ok("QnnGraph_execute",
                 w->qnn.graphExecute(graph, in, io.n_in, out, io.n_out, profile, signal));
}

void act_finalize(world *w) {
    if (draw_chance(w->s, 60))
        act_op(w);
    void *graph = world_pick(w, KIND_GRAPH), *made = NULL, *context = world_living(w, KIND_CONTEXT);
    bool ok =
        world_ok("QnnGraph_finalize", w->qnn.graphFinalize(graph, world_maybe(w, KIND_PROFILE),
                                                           world_maybe(w, KIND_SIGNAL)));
    for (uint32_t i = 0; i < (ok ? 3u : 1u) && draw_chance(w->s, 70); i++)
        act_execute(w);
    if (ok && draw_chance(w->s, 20))
        act_update(w);
    // A finalized graph takes nothing more: go on with another one.
    if (ok && world_has_room(w, KIND_GRAPH) && draw_chance(w->s, 70) &&
        world_ok("QnnGraph_create", w->qnn.graphCreate(context, world_name(w), NULL, &made)))
        world_add(w, KIND_GRAPH, made, context);
}
