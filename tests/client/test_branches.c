// SPDX-License-Identifier: MIT
//
// Graphs whose steps do not all run: If with its branches, and what stands behind a buffer that is
// still filling. Expected values are worked out by a small interpreter beside the library.
#include "qnn_client.h"

#include <stdbool.h>

#define N 5 // elements of every tensor

static qnn_table qnn;
static Qnn_BackendHandle_t backend;
static Qnn_ContextHandle_t context;
static Qnn_GraphHandle_t graph;
static uint32_t dims[] = {N}, one[] = {1};

#define OK(call) assert_int_equal(call, QNN_SUCCESS)

static int setup(void **state) {
    (void)state;
    OK(qnn.contextCreate(backend, NULL, NULL, &context));
    OK(qnn.graphCreate(context, "g", NULL, &graph));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return qnn.contextFree(context, NULL) != QNN_SUCCESS;
}

static Qnn_Tensor_t make_typed(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type,
                               Qnn_DataType_t dtype, uint32_t *shape) {
    Qnn_Tensor_t t = {.version = QNN_TENSOR_VERSION_2};
    t.v2 = (Qnn_TensorV2_t)QNN_TENSOR_V2_INIT;
    t.v2.name = name;
    t.v2.type = type;
    t.v2.dataType = dtype;
    t.v2.rank = 1;
    t.v2.dimensions = shape;
    t.v2.memType = QNN_TENSORMEMTYPE_RAW;
    OK(qnn.tensorCreateGraphTensor(g, &t));
    return t;
}

static Qnn_Tensor_t make(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type) {
    return make_typed(g, name, type, QNN_DATATYPE_FLOAT_32, dims);
}

static Qnn_Tensor_t make_flag(const char *name) {
    return make_typed(graph, name, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_BOOL_8, one);
}

static void unary(Qnn_GraphHandle_t g, const char *name, const char *type, Qnn_Tensor_t x,
                  Qnn_Tensor_t y) {
    OK(qnn.graphAddNode(g, op_config(name, QNN_OP_PACKAGE_NAME_QTI_AISW, type, &x, 1, &y, 1)));
}

static void binary(Qnn_GraphHandle_t g, const char *name, const char *type, Qnn_Tensor_t a,
                   Qnn_Tensor_t b, Qnn_Tensor_t y) {
    Qnn_Tensor_t in[] = {a, b};
    OK(qnn.graphAddNode(g, op_config(name, QNN_OP_PACKAGE_NAME_QTI_AISW, type, in, 2, &y, 1)));
}

// An If node; `otherwise` may be NULL. Captures and results are optional to list.
static Qnn_ErrorHandle_t add_if(Qnn_GraphHandle_t g, const char *name, const char *then,
                                const char *otherwise, Qnn_Tensor_t *in, uint32_t n_in,
                                Qnn_Tensor_t *out, uint32_t n_out) {
    Qnn_Param_t params[2] = {QNN_PARAM_INIT, QNN_PARAM_INIT};
    const char *keys[2] = {QNN_OP_IF_PARAM_THEN_GRAPH, QNN_OP_IF_PARAM_ELSE_GRAPH};
    const char *values[2] = {then, otherwise};
    for (int i = 0; i < 2; i++) {
        params[i].paramType = QNN_PARAMTYPE_SCALAR;
        params[i].name = keys[i];
        params[i].scalarParam.dataType = QNN_DATATYPE_STRING;
        params[i].scalarParam.stringValue = values[i];
    }
    Qnn_OpConfig_t op =
        op_config(name, QNN_OP_PACKAGE_NAME_QTI_AISW, QNN_OP_IF, in, n_in, out, n_out);
    op.v1.params = params;
    op.v1.numOfParams = otherwise ? 2 : 1;
    return qnn.graphAddNode(g, op);
}

static Qnn_GraphHandle_t branch(Qnn_GraphHandle_t g, const char *name) {
    Qnn_GraphHandle_t sub;
    OK(qnn.graphCreateSubgraph(g, name, &sub));
    return sub;
}

static Qnn_Tensor_t bind(Qnn_Tensor_t t, void *data, uint32_t bytes) {
    t.v2.clientBuf = (Qnn_ClientBuffer_t){data, bytes};
    return t;
}

static Qnn_ErrorHandle_t run(Qnn_Tensor_t *in, uint32_t n_in, Qnn_Tensor_t *out, uint32_t n_out) {
    return qnn.graphExecute(graph, in, n_in, out, n_out, NULL, NULL);
}

static const float x_data[N] = {-2, -1, 0, 1, 2};

// y = c ? relu(x) : -x, then z = y + x.
static void each_branch_writes_a_tensor_of_the_parent(void **state) {
    (void)state;
    Qnn_Tensor_t c = make_flag("c"), x = make(graph, "x", QNN_TENSOR_TYPE_APP_WRITE),
                 y = make(graph, "y", QNN_TENSOR_TYPE_NATIVE),
                 z = make(graph, "z", QNN_TENSOR_TYPE_APP_READ);
    unary(branch(graph, "then"), "relu", QNN_OP_RELU, x, y);
    unary(branch(graph, "else"), "neg", QNN_OP_ELEMENT_WISE_NEG, x, y);
    OK(add_if(graph, "if", "then", "else", &c, 1, NULL, 0));
    binary(graph, "add", QNN_OP_ELEMENT_WISE_ADD, y, x, z);
    OK(qnn.graphFinalize(graph, NULL, NULL));
    for (int round = 0; round < 6; round++) {
        float in_x[N], out[N];
        uint8_t flag = (uint8_t)(round % 3 == 1 ? 0 : round + 1); // anything but 0 is true
        memcpy(in_x, x_data, sizeof in_x);
        Qnn_Tensor_t ins[] = {bind(c, &flag, 1), bind(x, in_x, sizeof in_x)};
        Qnn_Tensor_t outs[] = {bind(z, out, sizeof out)};
        OK(run(ins, 2, outs, 1));
        assert_true(outs[0].v2.isProduced);
        for (int i = 0; i < N; i++)
            assert_true(out[i] == (flag ? (in_x[i] > 0 ? 2 * in_x[i] : in_x[i]) : 0));
    }
}

// The condition is computed, the branches write application outputs, If lists what they use.
static void a_computed_condition_and_listed_operands(void **state) {
    (void)state;
    Qnn_Tensor_t a = make_typed(graph, "a", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, one),
                 b = make_typed(graph, "b", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, one),
                 c = make_typed(graph, "c", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_BOOL_8, one),
                 x = make(graph, "x", QNN_TENSOR_TYPE_APP_WRITE),
                 y = make(graph, "y", QNN_TENSOR_TYPE_APP_READ);
    binary(graph, "greater", QNN_OP_ELEMENT_WISE_GREATER, a, b, c);
    Qnn_GraphHandle_t then = branch(graph, "then"), otherwise = branch(graph, "else");
    Qnn_Tensor_t captures[] = {c, x};
    OK(add_if(graph, "if", "then", "else", captures, 2, &y, 1));
    unary(then, "abs", QNN_OP_ELEMENT_WISE_ABS, x, y); // branches may be filled afterwards
    unary(otherwise, "neg", QNN_OP_ELEMENT_WISE_NEG, x, y);
    OK(qnn.graphFinalize(graph, NULL, NULL));
    for (int greater = 0; greater < 2; greater++) {
        float av = (float)greater, bv = 0.5f, in_x[N], out[N];
        memcpy(in_x, x_data, sizeof in_x);
        Qnn_Tensor_t ins[] = {bind(a, &av, 4), bind(b, &bv, 4), bind(x, in_x, sizeof in_x)};
        Qnn_Tensor_t outs[] = {bind(y, out, sizeof out)};
        OK(run(ins, 3, outs, 1));
        for (int i = 0; i < N; i++)
            assert_true(out[i] == (greater && in_x[i] > 0 ? in_x[i] : -in_x[i]));
    }
}

// if (c) y = -x;  z = relu(y), w = relu(x): without c there is no z, but a w.
static void without_an_else_graph_nothing_may_be_produced(void **state) {
    (void)state;
    Qnn_Tensor_t c = make_flag("c"), x = make(graph, "x", QNN_TENSOR_TYPE_APP_WRITE),
                 y = make(graph, "y", QNN_TENSOR_TYPE_NATIVE),
                 z = make(graph, "z", QNN_TENSOR_TYPE_APP_READ),
                 w = make(graph, "w", QNN_TENSOR_TYPE_APP_READ);
    unary(branch(graph, "then"), "neg", QNN_OP_ELEMENT_WISE_NEG, x, y);
    Qnn_Tensor_t listed = y;
    assert_int_not_equal(add_if(graph, "bad", "then", NULL, &c, 1, &listed, 1), QNN_SUCCESS);
    OK(add_if(graph, "if", "then", NULL, &c, 1, NULL, 0));
    unary(graph, "z", QNN_OP_RELU, y, z);
    unary(graph, "w", QNN_OP_RELU, x, w);
    OK(qnn.graphFinalize(graph, NULL, NULL));
    for (int round = 0; round < 4; round++) {
        uint8_t flag = round % 2;
        float in_x[N], out_z[N] = {7, 7, 7, 7, 7}, out_w[N];
        memcpy(in_x, x_data, sizeof in_x);
        Qnn_Tensor_t ins[] = {bind(c, &flag, 1), bind(x, in_x, sizeof in_x)};
        Qnn_Tensor_t outs[] = {bind(z, out_z, sizeof out_z), bind(w, out_w, sizeof out_w)};
        assert_int_equal(run(ins, 2, outs, 2),
                         flag ? QNN_SUCCESS : QNN_GRAPH_ERROR_EARLY_TERMINATION);
        assert_int_equal(outs[0].v2.isProduced, flag);
        assert_int_equal(outs[1].v2.isProduced, 1);
        for (int i = 0; i < N; i++) {
            assert_true(out_z[i] == (!flag ? 7 : in_x[i] < 0 ? -in_x[i] : 0));
            assert_true(out_w[i] == (in_x[i] > 0 ? in_x[i] : 0));
        }
    }
}

// A buffer of two frames feeds the condition: while it fills, neither branch runs.
static void without_a_condition_neither_branch_runs(void **state) {
    (void)state;
    uint32_t two[] = {2};
    Qnn_Tensor_t f = make_typed(graph, "f", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, one),
                 all = make_typed(graph, "all", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, two),
                 most =
                     make_typed(graph, "most", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, one),
                 c = make_typed(graph, "c", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_BOOL_8, one),
                 x = make(graph, "x", QNN_TENSOR_TYPE_APP_WRITE),
                 y = make(graph, "y", QNN_TENSOR_TYPE_APP_READ),
                 w = make(graph, "w", QNN_TENSOR_TYPE_APP_READ);
    Qnn_Param_t size[2] = {QNN_PARAM_INIT, QNN_PARAM_INIT};
    for (int i = 0; i < 2; i++) {
        size[i].paramType = QNN_PARAMTYPE_SCALAR;
        size[i].name = i ? QNN_OP_BUFFER_PARAM_BUFFER_DIM : QNN_OP_BUFFER_PARAM_BUFFER_SIZE;
        size[i].scalarParam.dataType = QNN_DATATYPE_UINT_32;
        size[i].scalarParam.uint32Value = i ? 0 : 2;
    }
    Qnn_OpConfig_t op =
        op_config("buffer", QNN_OP_PACKAGE_NAME_QTI_AISW, QNN_OP_BUFFER, &f, 1, &all, 1);
    op.v1.params = size;
    op.v1.numOfParams = 2;
    OK(qnn.graphAddNode(graph, op));
    uint32_t axis = 0, axes_dims[] = {1};
    Qnn_Tensor_t axes =
        describe("axes", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, 1, axes_dims);
    set_buffer(&axes, &axis, sizeof axis);
    OK(qnn.tensorCreateGraphTensor(graph, &axes));
    Qnn_Param_t params[2] = {QNN_PARAM_INIT, QNN_PARAM_INIT};
    params[0].paramType = QNN_PARAMTYPE_TENSOR;
    params[0].name = QNN_OP_REDUCE_MAX_PARAM_AXES;
    params[0].tensorParam = axes;
    params[1].paramType = QNN_PARAMTYPE_SCALAR;
    params[1].name = QNN_OP_REDUCE_MAX_PARAM_KEEP_DIMS;
    params[1].scalarParam.dataType = QNN_DATATYPE_BOOL_8;
    params[1].scalarParam.bool8Value = 1;
    op = op_config("most", QNN_OP_PACKAGE_NAME_QTI_AISW, QNN_OP_REDUCE_MAX, &all, 1, &most, 1);
    op.v1.params = params;
    op.v1.numOfParams = 2;
    OK(qnn.graphAddNode(graph, op));
    binary(graph, "greater", QNN_OP_ELEMENT_WISE_GREATER, most, f, c);
    unary(branch(graph, "then"), "abs", QNN_OP_ELEMENT_WISE_ABS, x, y);
    unary(branch(graph, "else"), "neg", QNN_OP_ELEMENT_WISE_NEG, x, y);
    OK(add_if(graph, "if", "then", "else", &c, 1, NULL, 0));
    unary(graph, "w", QNN_OP_RELU, x, w);
    OK(qnn.graphFinalize(graph, NULL, NULL));
    const float frames[] = {3, 1, 2, 0, 5};
    for (int round = 0; round < 5; round++) {
        bool full = round > 0, greater = full && frames[round - 1] > frames[round];
        float frame = frames[round], in_x[N], out_y[N] = {7, 7, 7, 7, 7}, out_w[N];
        memcpy(in_x, x_data, sizeof in_x);
        Qnn_Tensor_t ins[] = {bind(f, &frame, 4), bind(x, in_x, sizeof in_x)};
        Qnn_Tensor_t outs[] = {bind(w, out_w, sizeof out_w), bind(y, out_y, sizeof out_y)};
        assert_int_equal(run(ins, 2, outs, 2),
                         full ? QNN_SUCCESS : QNN_GRAPH_ERROR_EARLY_TERMINATION);
        assert_int_equal(outs[0].v2.isProduced, 1);
        assert_int_equal(outs[1].v2.isProduced, full);
        for (int i = 0; i < N; i++) {
            float want = greater && in_x[i] > 0 ? in_x[i] : -in_x[i];
            assert_true(out_y[i] == (full ? want : 7));
            assert_true(out_w[i] == (in_x[i] > 0 ? in_x[i] : 0));
        }
    }
}

// --- Random programs
// Nodes of one to two operands and nested Ifs over tensors of two float types, so that values live
// across branches, conversions are made in and around them, and memory is reused. All ops keep
// small integers exact.

enum { MAX_NODES = 400, MAX_TENSORS = 500, N_INPUTS = 4, N_FLAGS = 3, N_OUTPUTS = 4 };

typedef enum op_kind { MAXIMUM, MINIMUM, NEGATE, ABSOLUTE, IF } op_kind;

typedef struct step {
    op_kind kind;
    int a, b, y; // tensors; IF: a is the flag
    int then_first, then_end, else_first, else_end;
} step;

typedef struct program {
    unsigned seed;
    step steps[MAX_NODES];
    int n_steps, n_tensors, n_graphs;
    Qnn_Tensor_t tensors[MAX_TENSORS]; // inputs, flags, then the others
    char names[MAX_TENSORS][16];
    float values[MAX_TENSORS][N];
} program;

static unsigned draw(program *p, unsigned below) {
    p->seed = p->seed * 1664525u + 1013904223u;
    return (p->seed >> 8) % below;
}

static int new_tensor(program *p, Qnn_GraphHandle_t g, Qnn_TensorType_t type) {
    int i = p->n_tensors++;
    assert_true(i < MAX_TENSORS);
    snprintf(p->names[i], sizeof p->names[i], "t%d", i);
    bool half = type == QNN_TENSOR_TYPE_NATIVE && draw(p, 3) == 0;
    p->tensors[i] = make_typed(g, p->names[i], type,
                               half ? QNN_DATATYPE_FLOAT_16 : QNN_DATATYPE_FLOAT_32, dims);
    return i;
}

// The tensors a body may read.
typedef struct scope {
    int items[MAX_TENSORS], n;
} scope;

static int pick(program *p, const scope *s) {
    int recent = s->n < 6 ? s->n : 6;
    return s->items[draw(p, 3) ? s->n - 1 - (int)draw(p, (unsigned)recent)
                               : (int)draw(p, (unsigned)s->n)];
}

static void add_node(program *p, Qnn_GraphHandle_t g, const scope *s, int y) {
    static const char *const types[] = {QNN_OP_ELEMENT_WISE_MAXIMUM, QNN_OP_ELEMENT_WISE_MINIMUM,
                                        QNN_OP_ELEMENT_WISE_NEG, QNN_OP_ELEMENT_WISE_ABS};
    step n = {.kind = (op_kind)draw(p, 4), .a = pick(p, s), .b = pick(p, s), .y = y};
    char name[16];
    assert_true(p->n_steps < MAX_NODES);
    snprintf(name, sizeof name, "n%d", p->n_steps);
    p->steps[p->n_steps++] = n;
    if (n.kind == MAXIMUM || n.kind == MINIMUM)
        binary(g, name, types[n.kind], p->tensors[n.a], p->tensors[n.b], p->tensors[y]);
    else
        unary(g, name, types[n.kind], p->tensors[n.a], p->tensors[y]);
}

static void add_body(program *p, Qnn_GraphHandle_t g, scope *s, int depth, int n_nodes);

// Both branches write the same one or two tensors of graph g.
static void add_branches(program *p, Qnn_GraphHandle_t g, scope *s, int depth) {
    int at = p->n_steps++, results[2], n_results = 1 + (int)draw(p, 2);
    char names[2][16], name[16];
    int first[2], end[2];
    for (int r = 0; r < n_results; r++)
        results[r] = new_tensor(p, g, QNN_TENSOR_TYPE_NATIVE);
    for (int k = 0; k < 2; k++) {
        snprintf(names[k], sizeof names[k], "b%d", p->n_graphs++);
        Qnn_GraphHandle_t sub = branch(g, names[k]);
        scope inner = *s;
        first[k] = p->n_steps;
        add_body(p, sub, &inner, depth + 1, (int)draw(p, 5));
        for (int r = 0; r < n_results; r++)
            add_node(p, sub, &inner, results[r]);
        end[k] = p->n_steps;
    }
    p->steps[at] = (step){.kind = IF,
                          .a = N_INPUTS + (int)draw(p, N_FLAGS),
                          .then_first = first[0],
                          .then_end = end[0],
                          .else_first = first[1],
                          .else_end = end[1]};
    snprintf(name, sizeof name, "if%d", at);
    OK(add_if(g, name, names[0], names[1], &p->tensors[p->steps[at].a], 1, NULL, 0));
    for (int r = 0; r < n_results; r++)
        s->items[s->n++] = results[r];
}

static void add_body(program *p, Qnn_GraphHandle_t g, scope *s, int depth, int n_nodes) {
    for (int i = 0; i < n_nodes; i++) {
        if (depth < 3 && draw(p, 4) == 0) {
            add_branches(p, g, s, depth);
        } else {
            int y = new_tensor(p, g, QNN_TENSOR_TYPE_NATIVE);
            add_node(p, g, s, y);
            s->items[s->n++] = y;
        }
    }
}

static void interpret(program *p, const uint8_t *flags, int first, int end) {
    for (int i = first; i < end; i++) {
        const step *n = &p->steps[i];
        if (n->kind == IF) {
            if (flags[n->a - N_INPUTS])
                interpret(p, flags, n->then_first, n->then_end);
            else
                interpret(p, flags, n->else_first, n->else_end);
            i = n->else_end - 1;
            continue;
        }
        for (int e = 0; e < N; e++) {
            float a = p->values[n->a][e], b = p->values[n->b][e];
            p->values[n->y][e] = n->kind == MAXIMUM   ? (a > b ? a : b)
                                 : n->kind == MINIMUM ? (a < b ? a : b)
                                 : n->kind == NEGATE  ? -a
                                                      : (a < 0 ? -a : a);
        }
    }
}

static void run_program(program *p, const int *outputs) {
    Qnn_Tensor_t ins[N_INPUTS + N_FLAGS], outs[N_OUTPUTS];
    float got[N_OUTPUTS][N];
    uint8_t flags[N_FLAGS];
    for (unsigned mask = 0; mask < 1u << N_FLAGS; mask++) {
        for (int i = 0; i < N_INPUTS; i++) {
            for (int e = 0; e < N; e++)
                p->values[i][e] = (float)draw(p, 101) - 50;
            ins[i] = bind(p->tensors[i], p->values[i], sizeof p->values[i]);
        }
        for (int i = 0; i < N_FLAGS; i++) {
            flags[i] = mask >> i & 1u;
            ins[N_INPUTS + i] = bind(p->tensors[N_INPUTS + i], &flags[i], 1);
        }
        for (int i = 0; i < N_OUTPUTS; i++)
            outs[i] = bind(p->tensors[outputs[i]], got[i], sizeof got[i]);
        OK(run(ins, N_INPUTS + N_FLAGS, outs, N_OUTPUTS));
        interpret(p, flags, 0, p->n_steps);
        for (int i = 0; i < N_OUTPUTS; i++)
            for (int e = 0; e < N; e++)
                if (got[i][e] != p->values[outputs[i]][e])
                    fail_msg("flags %u output %d element %d: got %g, want %g", mask, i, e,
                             (double)got[i][e], (double)p->values[outputs[i]][e]);
    }
}

static void random_programs_of_branches(void **state) {
    (void)state;
    static program p;
    static scope s;
    for (unsigned seed = 1; seed <= 60; seed++) {
        p = (program){.seed = seed, .n_graphs = (int)seed * 1000}; // names are unique in a context
        s = (scope){0};
        int outputs[N_OUTPUTS];
        Qnn_GraphHandle_t outer = graph;
        char name[16];
        snprintf(name, sizeof name, "p%u", seed);
        OK(qnn.graphCreate(context, name, NULL, &graph));
        for (int i = 0; i < N_INPUTS; i++)
            s.items[s.n++] = new_tensor(&p, graph, QNN_TENSOR_TYPE_APP_WRITE);
        for (int i = 0; i < N_FLAGS; i++) {
            int at = p.n_tensors++;
            snprintf(p.names[at], sizeof p.names[at], "c%d", i);
            p.tensors[at] = make_flag(p.names[at]);
        }
        add_body(&p, graph, &s, 0, 14);
        for (int i = 0; i < N_OUTPUTS; i++) {
            outputs[i] = new_tensor(&p, graph, QNN_TENSOR_TYPE_APP_READ);
            add_node(&p, graph, &s, outputs[i]);
        }
        OK(qnn.graphFinalize(graph, NULL, NULL));
        run_program(&p, outputs);
        graph = outer;
    }
}

static void wrong_branches_are_refused(void **state) {
    (void)state;
    Qnn_Tensor_t c = make_flag("c"), x = make(graph, "x", QNN_TENSOR_TYPE_APP_WRITE),
                 wide = make_typed(graph, "wide", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_BOOL_8,
                                   dims);
    branch(graph, "then");
    assert_int_not_equal(add_if(graph, "a", "nowhere", NULL, &c, 1, NULL, 0), QNN_SUCCESS);
    assert_int_not_equal(add_if(graph, "b", "then", "nowhere", &c, 1, NULL, 0), QNN_SUCCESS);
    assert_int_not_equal(add_if(graph, "c", "then", NULL, &wide, 1, NULL, 0), QNN_SUCCESS);
    assert_int_not_equal(add_if(graph, "d", "then", NULL, &x, 1, NULL, 0), QNN_SUCCESS);
    assert_int_not_equal(add_if(graph, "e", "then", NULL, NULL, 0, NULL, 0), QNN_SUCCESS);
    OK(add_if(graph, "f", "then", NULL, &c, 1, NULL, 0)); // an empty branch is fine
}

static int open_backend(void **state) {
    (void)state;
    open_library(&qnn);
    return qnn.backendCreate(NULL, NULL, &backend) != QNN_SUCCESS;
}

static int close_backend(void **state) {
    (void)state;
    return qnn.backendFree(backend) != QNN_SUCCESS;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(each_branch_writes_a_tensor_of_the_parent),
        TEST(a_computed_condition_and_listed_operands),
        TEST(without_an_else_graph_nothing_may_be_produced),
        TEST(without_a_condition_neither_branch_runs),
        TEST(random_programs_of_branches),
        TEST(wrong_branches_are_refused),
    };
    return cmocka_run_group_tests_name("branches", tests, open_backend, close_backend);
}
