// SPDX-License-Identifier: MIT
//
// Caches of a language model in buffers that are wrong: too small, of another shape, freed or given
// up before an execution. The graph multiplies a query with the keys of a cache, scores = q * past;
// its numbers are small integers, so that sums of fp16 products are exact.
#include "htp_client.h"

#include "HTP/QnnHtpMem.h"
#include "QnnMem.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNTOUCHED 0xffff

enum { POSITIONS = 40, HEAD = 16, BYTES = POSITIONS * HEAD * sizeof(uint16_t) };

static uint32_t q_dims[] = {1, HEAD}, past_dims[] = {HEAD, POSITIONS}, y_dims[] = {1, POSITIONS};

typedef struct rpcmem {
    void *library;
    void *(*alloc)(int, uint32_t, int);
    void (*free)(void *);
    int (*to_fd)(void *);
} rpcmem;

static rpcmem rpc;

static int open_rpcmem(void **state) {
    (void)state;
    char path[PATH_MAX];
    const char *dir = getenv("QUERN_LIB_DIR");
    snprintf(path, sizeof path, "%s/libcdsprpc.so", dir ? dir : ".");
    if (!(rpc.library = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
        return 1;
    *(void **)&rpc.alloc = dlsym(rpc.library, "rpcmem_alloc");
    *(void **)&rpc.free = dlsym(rpc.library, "rpcmem_free");
    *(void **)&rpc.to_fd = dlsym(rpc.library, "rpcmem_to_fd");
    return !rpc.alloc || !rpc.free || !rpc.to_fd;
}

static int close_rpcmem(void **state) {
    (void)state;
    return dlclose(rpc.library);
}

// --- the graph

typedef struct model {
    htp_world w;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t in[2], y; // query, cache
    uint16_t q[HEAD];
    uint16_t scores[POSITIONS];
} model;

// fp16 of 0, 1 or 2.
static uint16_t small(unsigned n) { return (uint16_t)(n == 0 ? 0 : n == 1 ? 0x3c00 : 0x4000); }

// A normal number of fp16, or 0.
static double real(uint16_t h) {
    return h == 0 ? 0 : ldexp(1024 + (h & 1023), (h >> 10 & 31) - 25);
}

static unsigned key(unsigned column, unsigned position) { return (column * 7 + position * 5) % 3; }

static void fill_cache(void *cache) {
    uint16_t *to = cache;
    for (unsigned i = 0; i < HEAD * POSITIONS; i++)
        to[i] = small(key(i / POSITIONS, i % POSITIONS));
}

static void begin(model *m) {
    *m = (model){.w = htp_begin(69)};
    const htp_table *qnn = &m->w.qnn;
    HTP_OK(qnn->graphCreate(m->w.context, "decode", NULL, &m->graph));
    m->in[0] = htp_tensor("q", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_16, 2, q_dims);
    m->in[1] = htp_tensor("past", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_16, 2, past_dims);
    m->y = htp_tensor("scores", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_16, 2, y_dims);
    for (int i = 0; i < 2; i++)
        HTP_OK(qnn->tensorCreateGraphTensor(m->graph, &m->in[i]));
    HTP_OK(qnn->tensorCreateGraphTensor(m->graph, &m->y));
    HTP_OK(qnn->graphAddNode(m->graph, htp_op("scores", "MatMul", m->in, 2, &m->y, 1)));
    HTP_OK(qnn->graphFinalize(m->graph, NULL, NULL));
    for (unsigned i = 0; i < HEAD; i++)
        m->q[i] = small(i % 3);
    htp_buffer(&m->in[0], m->q, sizeof m->q);
    htp_buffer(&m->y, m->scores, sizeof m->scores);
}

static void use_handle(model *m, Qnn_MemHandle_t h) {
    m->in[1].v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    m->in[1].v1.memHandle = h;
}

static Qnn_ErrorHandle_t execute(model *m) {
    for (unsigned i = 0; i < POSITIONS; i++)
        m->scores[i] = UNTOUCHED;
    return m->w.qnn.graphExecute(m->graph, m->in, 2, &m->y, 1, NULL, NULL);
}

static void check_scores(const model *m) {
    for (unsigned p = 0; p < POSITIONS; p++) {
        unsigned sum = 0;
        for (unsigned i = 0; i < HEAD; i++)
            sum += i % 3 * key(i, p);
        assert_true(real(m->scores[p]) == (double)sum);
    }
}

// The execution fails with that code and has written nothing.
static void refused(model *m, Qnn_ErrorHandle_t code) {
    HTP_FAILS(execute(m), code);
    for (unsigned i = 0; i < POSITIONS; i++)
        assert_int_equal(m->scores[i], UNTOUCHED);
}

static Qnn_MemDescriptor_t descriptor(int fd, uint32_t *dims) {
    return (Qnn_MemDescriptor_t){.memShape = {2, dims, NULL},
                                 .dataType = QNN_DATATYPE_FLOAT_16,
                                 .memType = QNN_MEM_TYPE_ION,
                                 .ionInfo.fd = fd};
}

static Qnn_MemHandle_t registered(const model *m, void *buffer, uint32_t *dims) {
    Qnn_MemDescriptor_t d = descriptor(rpc.to_fd(buffer), dims);
    Qnn_MemHandle_t h = NULL;
    HTP_OK(m->w.qnn.memRegister(m->w.context, &d, 1, &h));
    return h;
}

// --- tests

static void caches_of_the_wrong_size_are_refused(void **state) {
    (void)state;
    model m;
    begin(&m);
    uint16_t cache[HEAD * POSITIONS];
    fill_cache(cache);
    static const size_t sizes[] = {0, 1, BYTES - 2, BYTES - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        htp_buffer(&m.in[1], cache, sizes[i]);
        refused(&m, QNN_GRAPH_ERROR_INVALID_TENSOR);
    }
    htp_buffer(&m.in[1], NULL, BYTES);
    refused(&m, QNN_GRAPH_ERROR_INVALID_TENSOR);
    htp_buffer(&m.in[1], cache, BYTES);
    HTP_OK(execute(&m));
    check_scores(&m);
    htp_end(&m.w);
}

static void a_cache_for_fewer_positions_is_refused(void **state) {
    (void)state;
    model m;
    begin(&m);
    void *buffer = rpc.alloc(25, 1, BYTES);
    fill_cache(buffer);
    uint32_t fewer[] = {HEAD, POSITIONS - 1}, more[] = {HEAD, 4096};
    Qnn_MemHandle_t h = registered(&m, buffer, fewer);
    use_handle(&m, h);
    refused(&m, QNN_GRAPH_ERROR_INVALID_TENSOR);
    HTP_OK(m.w.qnn.memDeRegister(&h, 1));
    Qnn_MemDescriptor_t d = descriptor(rpc.to_fd(buffer), more);
    HTP_FAILS(m.w.qnn.memRegister(m.w.context, &d, 1, &h), QNN_MEM_ERROR_MAPPING);
    h = registered(&m, buffer, past_dims);
    use_handle(&m, h);
    HTP_OK(execute(&m));
    check_scores(&m);
    rpc.free(buffer);
    htp_end(&m.w);
}

static void a_cache_that_was_given_up_is_refused(void **state) {
    (void)state;
    model m;
    begin(&m);
    void *buffer = rpc.alloc(25, 1, BYTES);
    fill_cache(buffer);
    Qnn_MemHandle_t h = registered(&m, buffer, past_dims);
    use_handle(&m, h);
    HTP_OK(execute(&m));
    check_scores(&m);
    HTP_OK(m.w.qnn.memDeRegister(&h, 1));
    refused(&m, QNN_GRAPH_ERROR_INVALID_TENSOR);
    Qnn_MemHandle_t again = registered(&m, buffer, past_dims);
    refused(&m, QNN_GRAPH_ERROR_INVALID_TENSOR); // the old handle does not become the new one
    use_handle(&m, again);
    HTP_OK(execute(&m));
    check_scores(&m);
    rpc.free(buffer);
    htp_end(&m.w);
}

// The memory stays until the handle goes: an execution reads what was in it.
static void a_cache_that_was_freed_too_early_is_still_there(void **state) {
    (void)state;
    model m;
    begin(&m);
    void *buffer = rpc.alloc(25, 1, BYTES);
    int fd = rpc.to_fd(buffer);
    fill_cache(buffer);
    Qnn_MemHandle_t h = registered(&m, buffer, past_dims);
    rpc.free(buffer);
    use_handle(&m, h);
    HTP_OK(execute(&m));
    check_scores(&m);
    HTP_OK(m.w.qnn.memDeRegister(&h, 1));
    refused(&m, QNN_GRAPH_ERROR_INVALID_TENSOR);
    Qnn_MemDescriptor_t d = descriptor(fd, past_dims);
    HTP_FAILS(m.w.qnn.memRegister(m.w.context, &d, 1, &h), QNN_MEM_ERROR_MAPPING);
    htp_end(&m.w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_of_the_wrong_size_are_refused),
        cmocka_unit_test(a_cache_for_fewer_positions_is_refused),
        cmocka_unit_test(a_cache_that_was_given_up_is_refused),
        cmocka_unit_test(a_cache_that_was_freed_too_early_is_still_there),
    };
    return cmocka_run_group_tests(tests, open_rpcmem, close_rpcmem);
}
