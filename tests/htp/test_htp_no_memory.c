// SPDX-License-Identifier: MIT
//
// A client's session on the HTP backend, once for each of its allocations, which fails (alone, or
// with all that follow): calls end with an error or are not disturbed, results are right, and
// nothing is left behind.
#include "base/mem.h"
#include "htp_room.h"

#include "HTP/QnnHtpMem.h"
#include "QnnMem.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define N 64u

typedef struct session {
    htp_world w;
    Qnn_ProfileHandle_t profile;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, mid, y;
    Qnn_MemHandle_t mem;
    Qnn_ContextHandle_t loaded;
    void *binary;
    int fd;
    uint8_t *buffer; // of fd: x, then y
} session;

#define STEP(call)                                                                                 \
    do {                                                                                           \
        Qnn_ErrorHandle_t e_ = (call);                                                             \
        if (e_ != QNN_SUCCESS)                                                                     \
            return e_;                                                                             \
    } while (0)

static uint32_t dims[] = {1, N}, two[] = {2, N};

static Qnn_ErrorHandle_t build(session *s) {
    const htp_table *q = &s->w.qnn;
    STEP(q->graphCreate(s->w.context, "g", NULL, &s->graph));
    Qnn_Tensor_t *list[] = {&s->x, &s->mid, &s->y};
    static const char *const names[] = {"x", "mid", "y"};
    static const Qnn_TensorType_t types[] = {QNN_TENSOR_TYPE_APP_WRITE, QNN_TENSOR_TYPE_NATIVE,
                                             QNN_TENSOR_TYPE_APP_READ};
    for (int i = 0; i < 3; i++) {
        *list[i] = htp_tensor(names[i], types[i], QNN_DATATYPE_UFIXED_POINT_8, 2, dims);
        htp_encode(list[i], 0.1f, 0);
        STEP(q->tensorCreateGraphTensor(s->graph, list[i]));
    }
    Qnn_Tensor_t in[] = {s->x, s->x}, again[] = {s->mid, s->x};
    STEP(q->graphAddNode(s->graph, htp_op("a", "ElementWiseAdd", in, 2, &s->mid, 1)));
    STEP(q->graphAddNode(s->graph, htp_op("b", "ElementWiseAdd", again, 2, &s->y, 1)));
    return q->graphFinalize(s->graph, s->profile, NULL);
}

static Qnn_ErrorHandle_t open_world(session *s) {
    htp_table *q = &s->w.qnn;
    QnnHtpDevice_CustomConfig_t soc = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = 43};
    QnnDevice_Config_t config = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &soc};
    const QnnDevice_Config_t *configs[] = {&config, NULL};
    QnnProfile_Config_t on = {.option = QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE,
                              .enableOptrace = 1};
    const QnnProfile_Config_t *trace[] = {&on, NULL};
    STEP(q->backendCreate(NULL, NULL, &s->w.backend));
    STEP(q->deviceCreate(NULL, configs, &s->w.device));
    STEP(q->contextCreate(s->w.backend, s->w.device, NULL, &s->w.context));
    STEP(q->profileCreate(s->w.backend, QNN_PROFILE_LEVEL_DETAILED, &s->profile));
    return q->profileSetConfig(s->profile, trace);
}

// Twice the batch: x in registered memory, y in a plain buffer.
static Qnn_ErrorHandle_t execute(session *s) {
    const htp_table *q = &s->w.qnn;
    QnnMemHtp_Descriptor_t place = {
        .type = QNN_HTP_MEM_SHARED_BUFFER, .size = 4096, .sharedBufferConfig = {s->fd, 0}};
    Qnn_MemDescriptor_t d = {.memShape = {2, two, NULL},
                             .dataType = QNN_DATATYPE_UFIXED_POINT_8,
                             .memType = QNN_MEM_TYPE_CUSTOM,
                             .customInfo = &place};
    STEP(q->memRegister(s->w.context, &d, 1, &s->mem));
    uint8_t y[2 * N] = {0};
    for (uint32_t i = 0; i < 2 * N; i++)
        s->buffer[i] = (uint8_t)(i % 80);
    Qnn_Tensor_t in = s->x, out = s->y;
    in.v1.dimensions = out.v1.dimensions = two;
    in.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    in.v1.memHandle = s->mem;
    htp_buffer(&out, y, sizeof y);
    STEP(q->graphExecute(s->graph, &in, 1, &out, 1, s->profile, NULL));
    for (uint32_t i = 0; i < 2 * N; i++)
        assert_int_equal(y[i], 3 * (i % 80));
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t save_and_load(session *s) {
    const htp_table *q = &s->w.qnn;
    Qnn_ContextBinarySize_t size = 0, written = 0;
    STEP(q->contextGetBinarySize(s->w.context, &size));
    s->binary = malloc(size);
    STEP(q->contextGetBinary(s->w.context, s->binary, size, &written));
    return q->contextCreateFromBinary(s->w.backend, s->w.device, NULL, s->binary, written,
                                      &s->loaded, s->profile);
}

static Qnn_ErrorHandle_t live(session *s) {
    STEP(open_world(s));
    STEP(build(s));
    STEP(execute(s));
    return save_and_load(s);
}

static void end(session *s) {
    const htp_table *q = &s->w.qnn;
    if (s->loaded)
        HTP_OK(q->contextFree(s->loaded, NULL));
    if (s->profile)
        HTP_OK(q->profileFree(s->profile));
    htp_end(&s->w); // memory handles end with their context
    free(s->binary);
}

static bool is_sensible(Qnn_ErrorHandle_t e) {
    switch (QNN_GET_ERROR_CODE(e)) {
    case QNN_SUCCESS:
    case QNN_COMMON_ERROR_MEM_ALLOC:
        return true;
    default:
        return false;
    }
}

#define MOST 100000u

// Tries up to `most` allocations; with `forever` until a session needs fewer. Returns how many.
static unsigned try_all(bool forever, unsigned most) {
    session shared = {.fd = memfd_create("no_memory", 0)};
    assert_int_equal(ftruncate(shared.fd, 4096), 0);
    shared.buffer = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared.fd, 0);
    assert_ptr_not_equal(shared.buffer, MAP_FAILED);
    size_t before = qrn_alloc_live();
    unsigned n = 1, failed = 0;
    for (Qnn_ErrorHandle_t e = 1; n < most; n++) {
        session s = {.w = {.qnn = htp_open()}, .fd = shared.fd, .buffer = shared.buffer};
        qrn_alloc_fail_at(n, forever);
        e = live(&s);
        qrn_alloc_fail_at(0, false);
        if (!is_sensible(e))
            fail_msg("allocation %u: error %u", n, (unsigned)QNN_GET_ERROR_CODE(e));
        failed += e != QNN_SUCCESS;
        bool reached_the_end = s.loaded != NULL;
        end(&s);
        if (qrn_alloc_live() != before)
            fail_msg("allocation %u: %zu blocks are left", n, qrn_alloc_live() - before);
        if (forever && reached_the_end)
            break; // fewer allocations than n
    }
    assert_true(failed > 50);
    assert_true(n < MOST);
    munmap(shared.buffer, 4096);
    close(shared.fd);
    return n;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    unsigned n = try_all(true, MOST);
    try_all(false, n);
}

// --- memory runs out while a graph is loaded: an error, and the next call works

static void out_of_memory_while_switching(void **state) {
    (void)state;
    binary all = make_binary(57);
    htp_world w = no_context(57);
    HTP_OK(load_switching(&w, &all, &(wish){.persistent = true, .hint_mb = 1}));
    uint8_t y[CODES];
    unsigned n_failed = 0;
    for (unsigned n = 1; n < 40; n++) {
        uint32_t which = n % 2;
        qrn_alloc_fail_at(n, false);
        Qnn_ErrorHandle_t code = run_code(&w, which, y);
        qrn_alloc_fail_at(0, false);
        if (code == QNN_SUCCESS) {
            assert_true(is_right(which, y));
        } else {
            HTP_FAILS(code, QNN_COMMON_ERROR_MEM_ALLOC);
            n_failed++;
        }
        run_graph(&w, which);
    }
    assert_true(n_failed > 0);
    htp_end(&w);
    filler f;
    fill_begin(&f, 57, &all); // finds all sessions empty
    fill_end(&f);
    free(all.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(out_of_memory_while_switching),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
