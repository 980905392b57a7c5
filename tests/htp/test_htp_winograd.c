// SPDX-License-Identifier: MIT
//
// A 3x3 convolution on 8-bit codes that is large enough for Winograd's method: its results are the
// exact ones, in the graph that was built and in the one that is loaded from its binary. The
// matrices of the method are this machine's own: made when the graph first runs, in no file and in
// no size that is reported. Files of Quern 0.1 have them, and load.
#include "binary_model.h"
#include "htp_quant.h"

#include "base/cpu.h"
#include "binary/binary.h"
#include "core/own.h"
#include "kernels/gemm/winograd/winograd8.h"
#include "runtime/exec.h"

#include <pthread.h>

#define U8 QNN_DATATYPE_UFIXED_POINT_8
#define S8 QNN_DATATYPE_SFIXED_POINT_8

#define SIDE 25u
#define CIN 33u
#define COUT 40u
#define Y_BYTES (SIDE * SIDE * COUT)

static int64_t x_codes[SIDE * SIDE * CIN], w_codes[9 * CIN * COUT], y_codes[Y_BYTES];

static operand x = {U8, 0.031f, -113, 4, {1, SIDE, SIDE, CIN}, x_codes, NULL};
static operand w = {S8, 0.011f, 0, 4, {3, 3, CIN, COUT}, w_codes, NULL};
static operand y = {U8, 0.41f, -90, 4, {1, SIDE, SIDE, COUT}, y_codes, NULL};

static void fill(operand *o) {
    static uint32_t state = 1;
    for (size_t i = 0; i < count_of(o); i++) {
        state = state * 1664525u + 1013904223u;
        o->codes[i] = lowest(o->type) + (int64_t)(state >> 24);
    }
}

// The code of result i; its sum is exact.
static int64_t expected(size_t i) {
    int64_t row = (int64_t)(i / COUT / SIDE), col = (int64_t)(i / COUT % SIDE), sum = 0;
    for (int64_t tap = 0; tap < 9; tap++) {
        int64_t r = row + tap / 3 - 1, c = col + tap % 3 - 1;
        if (r < 0 || c < 0 || r >= SIDE || c >= SIDE)
            continue;
        for (size_t k = 0; k < CIN; k++)
            sum += (x_codes[(size_t)(r * SIDE + c) * CIN + k] + x.offset) *
                   w_codes[((size_t)tap * CIN + k) * COUT + i % COUT];
    }
    return code_of(&y, (double)sum * ((double)x.scale * (double)w.scale));
}

static const qrn_plan *plan_of(Qnn_GraphHandle_t handle) {
    const qrn_api_graph *g = qrn_handle_get(QRN_KIND_GRAPH, handle);
    return qrn_runner_plan(g->runner);
}

// The value of the matrices of the one step; NULL: its kernel reads none.
static const qrn_value *matrices(Qnn_GraphHandle_t handle) {
    const qrn_plan *p = plan_of(handle);
    assert_int_equal(p->n_steps, 1);
    assert_int_equal(p->steps[0].n_in, 6);
    uint32_t v = p->steps[0].in[QRN_DENSE8_MATRICES];
    return v == UINT32_MAX ? NULL : &p->values[v];
}

// Has this machine a kernel that wants them, and no better one?
static bool wanted(void) {
    uint32_t isa = qrn_cpu_isa(), better = isa & QRN_ISA_AVX512VNNI ? 0 : QRN_ISA_AVXVNNI;
    return isa & QRN_ISA_AVX2 && !(isa & (QRN_ISA_AMX | better));
}

static void check(const uint8_t *bytes) {
    codes_from(&y, bytes);
    for (size_t i = 0; i < Y_BYTES; i++)
        assert_int_equal(y_codes[i], expected(i));
}

static void run(htp_world *world, Qnn_GraphHandle_t g, Qnn_Tensor_t *in, Qnn_Tensor_t *out) {
    static uint8_t bytes[Y_BYTES];
    memset(bytes, 0, sizeof bytes);
    htp_buffer(out, bytes, sizeof bytes);
    HTP_OK(world->qnn.graphExecute(g, in, 1, out, 1, NULL, NULL));
    check(bytes);
}

// The network, built; what the caller frees.
typedef struct built {
    htp_world world;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t in[NODE_OPERANDS], out;
    void *data[NODE_OPERANDS];
} built;

static built build(void) {
    built b = {.world = htp_begin(0)};
    one_node d = {.op = "Conv2d", .in = {&x, &w}, .n_in = 2, .statics = 2, .out = &y, .n_lists = 2};
    d.lists[0] = (list_param){"stride", 1, {2}, {1, 1}};
    d.lists[1] = (list_param){"pad_amount", 2, {2, 2}, {1, 1, 1, 1}};
    fill(&x);
    fill(&w);
    HTP_OK(b.world.qnn.graphCreate(b.world.context, "g", NULL, &b.graph));
    HTP_OK(build_node(&b.world.qnn, b.graph, &d, b.in, b.data, &b.out));
    HTP_OK(b.world.qnn.graphFinalize(b.graph, NULL, NULL));
    return b;
}

static void free_data(built *b) {
    test_free(b->data[0]);
    test_free(b->data[1]);
}

// The context of a binary whose bytes stay.
static void load(built *b, const blob *bytes) {
    QnnContext_Config_t persistent = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                      .isPersistentBinary = 1};
    const QnnContext_Config_t *configs[] = {&persistent, NULL};
    b->world = htp_bare(0);
    HTP_OK(b->world.qnn.contextCreateFromBinary(b->world.backend, b->world.device, configs,
                                                bytes->data, bytes->size, &b->world.context, NULL));
    HTP_OK(b->world.qnn.graphRetrieve(b->world.context, "g", &b->graph));
}

static bool lies_in(const qrn_value *v, const blob *b) {
    const uint8_t *at = v->view.data;
    return at >= b->data && at < b->data + b->size;
}

static void large_convolutions_are_exact(void **state) {
    (void)state;
    built b = build();
    assert_int_equal(matrices(b.graph) != NULL, wanted());
    assert_int_equal(plan_of(b.graph)->n_late, wanted());
    run(&b.world, b.graph, b.in, &b.out);
    run(&b.world, b.graph, b.in, &b.out);
    blob bytes = blob_of(&b.world.qnn, b.world.context);
    htp_end(&b.world);
    assert_true(bytes.size < 9 * CIN * 64 + 8 * 4096); // weights in whole panels, and the rest
    load(&b, &bytes);
    assert_int_equal(matrices(b.graph) != NULL, wanted());
    assert_false(wanted() && lies_in(matrices(b.graph), &bytes));
    run(&b.world, b.graph, b.in, &b.out);
    run(&b.world, b.graph, b.in, &b.out);
    htp_end(&b.world);
    free(bytes.data);
    free_data(&b);
}

// The binary as Quern 0.1 wrote it: with the matrices.
static blob older(const blob *from) {
    qrn_bin *bin = NULL;
    assert_int_equal(qrn_bin_open_with(from->data, from->size, true, NULL, NULL, &bin), QRN_OK);
    qrn_packed_list *list = &bin->graphs[0].packed;
    qrn_packed items[4];
    assert_in_range(list->n, 2, 3);
    const qrn_dense_args shape = {.kernel = {3, 3}, .group = 1, .depth = 9 * CIN, .cols = COUT};
    qrn_packed made = {.node = list->items[0].node,
                       .tensor_id = list->items[0].tensor_id,
                       .packing = QRN_PACKING_WINOGRAD8,
                       .dtype = QRN_DTYPE_I16,
                       .shape = {.rank = 4}};
    qrn_winograd8_shape(&shape, made.shape.dims);
    made.size_bytes = sizeof(int16_t);
    for (uint32_t i = 0; i < 4; i++)
        made.size_bytes *= made.shape.dims[i];
    int16_t *data = malloc(made.size_bytes);
    assert_int_equal(list->items[0].packing, QRN_PACKING_DENSE8);
    qrn_winograd8_pack(&shape, list->items[0].data, data);
    made.data = data;
    memcpy(items, list->items, list->n * sizeof *items);
    items[list->n] = made;
    *list = (qrn_packed_list){items, list->n + 1};
    uint64_t size = 0;
    assert_int_equal(qrn_bin_size(bin, &size), QRN_OK);
    blob out = blob_alloc(size);
    assert_int_equal(qrn_bin_write(bin, out.data, size, &size), QRN_OK);
    qrn_bin_close(bin);
    free(data);
    return out;
}

static void matrices_of_older_files_are_used_where_they_lie(void **state) {
    (void)state;
    built b = build();
    blob bytes = blob_of(&b.world.qnn, b.world.context);
    htp_end(&b.world);
    blob old = older(&bytes);
    assert_true(old.size > bytes.size + 36 * CIN * 64);
    load(&b, &old);
    assert_int_equal(matrices(b.graph) != NULL, wanted());
    assert_true(!wanted() || lies_in(matrices(b.graph), &old));
    assert_int_equal(plan_of(b.graph)->n_late, 0);
    run(&b.world, b.graph, b.in, &b.out);
    htp_end(&b.world);
    free(old.data);
    free(bytes.data);
    free_data(&b);
}

typedef struct first_run {
    built *b;
    uint8_t bytes[Y_BYTES];
    Qnn_ErrorHandle_t code;
    pthread_barrier_t *start;
} first_run;

static void *run_first(void *arg) {
    first_run *r = arg;
    Qnn_Tensor_t out = r->b->out;
    htp_buffer(&out, r->bytes, sizeof r->bytes);
    pthread_barrier_wait(r->start);
    r->code = r->b->world.qnn.graphExecute(r->b->graph, r->b->in, 1, &out, 1, NULL, NULL);
    return NULL;
}

// Several executions begin before the matrices are there.
static void first_runs_at_once_are_exact(void **state) {
    (void)state;
    enum { N = 4 };
    static first_run runs[N];
    built b = build();
    pthread_t threads[N];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, N);
    for (size_t i = 0; i < N; i++) {
        runs[i] = (first_run){.b = &b, .start = &start};
        assert_int_equal(pthread_create(&threads[i], NULL, run_first, &runs[i]), 0);
    }
    for (size_t i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        HTP_OK(runs[i].code);
        check(runs[i].bytes);
    }
    pthread_barrier_destroy(&start);
    htp_end(&b.world);
    free_data(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_convolutions_are_exact),
        cmocka_unit_test(matrices_of_older_files_are_used_where_they_lie),
        cmocka_unit_test(first_runs_at_once_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
