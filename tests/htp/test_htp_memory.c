// SPDX-License-Identifier: MIT
//
// Registered memory: buffers of libcdsprpc.so as clients get them, shared buffers with many
// tensors, places in the VTCM, and all ways to declare and bring application tensors.
#include "chain.h"
#include "htp_options.h"

#include "HTP/QnnHtpMem.h"
#include "QnnMem.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// --- libcdsprpc.so

typedef struct rpcmem {
    void *library;
    void (*init)(void), (*deinit)(void);
    void *(*alloc)(int, uint32_t, int);
    void *(*alloc2)(int, uint32_t, size_t);
    void (*free)(void *);
    int (*to_fd)(void *);
    void (*tell)(void *, int, int), (*tell_attr)(void *, int, int, int);
    void (*tell_attr2)(void *, size_t, int, int);
} rpcmem;

static void *symbol(void *library, const char *name) {
    void *f = dlsym(library, name);
    if (!f)
        fail_msg("libcdsprpc.so lacks %s", name);
    return f;
}

static rpcmem rpc; // opened once

static int open_rpcmem(void **state) {
    (void)state;
    char path[PATH_MAX];
    const char *dir = getenv("QUERN_LIB_DIR");
    snprintf(path, sizeof path, "%s/libcdsprpc.so", dir ? dir : ".");
    rpc.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!rpc.library) {
        print_error("%s\n", dlerror());
        return 1;
    }
    *(void **)&rpc.init = symbol(rpc.library, "rpcmem_init");
    *(void **)&rpc.deinit = symbol(rpc.library, "rpcmem_deinit");
    *(void **)&rpc.alloc = symbol(rpc.library, "rpcmem_alloc");
    *(void **)&rpc.alloc2 = symbol(rpc.library, "rpcmem_alloc2");
    *(void **)&rpc.free = symbol(rpc.library, "rpcmem_free");
    *(void **)&rpc.to_fd = symbol(rpc.library, "rpcmem_to_fd");
    *(void **)&rpc.tell = symbol(rpc.library, "remote_register_buf");
    *(void **)&rpc.tell_attr = symbol(rpc.library, "remote_register_buf_attr");
    *(void **)&rpc.tell_attr2 = symbol(rpc.library, "remote_register_buf_attr2");
    rpc.init();
    return 0;
}

static int close_rpcmem(void **state) {
    (void)state;
    rpc.deinit();
    return dlclose(rpc.library);
}

#define HEAP 25
#define FLAGS 1

static unsigned open_files(void) {
    unsigned n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) != -1;
    return n;
}

static void htp_shb_04_buffers_of_libcdsprpc(void **state) {
    (void)state;
    unsigned before = open_files();
    char *a = rpc.alloc(HEAP, FLAGS, 100), *b = rpc.alloc2(HEAP, FLAGS, 5000);
    assert_true(a && b && a != b);
    int fd = rpc.to_fd(a);
    assert_true(fd >= 0 && fd != rpc.to_fd(b));
    for (int i = 0; i < 100; i++)
        assert_int_equal(a[i], 0);
    // The descriptor is the same memory.
    char *again = mmap(NULL, 100, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(again, MAP_FAILED);
    strcpy(a, "written here");
    assert_string_equal(again, "written here");
    munmap(again, 100);
    assert_int_equal(ftruncate(fd, 10), -1); // nobody takes it away below a graph
    // What is no buffer, and hostile sizes.
    assert_int_equal(rpc.to_fd(a + 1), -1);
    assert_int_equal(rpc.to_fd(NULL), -1);
    assert_int_equal(rpc.to_fd(&fd), -1);
    rpc.free(NULL);
    rpc.free(a + 1);
    rpc.free(&fd);
    assert_int_equal(a[0], 'w');
    assert_null(rpc.alloc(HEAP, FLAGS, 0));
    assert_null(rpc.alloc(HEAP, FLAGS, -1));
    assert_null(rpc.alloc(HEAP, FLAGS, INT_MIN));
    assert_null(rpc.alloc2(HEAP, FLAGS, 0));
    assert_null(rpc.alloc2(HEAP, FLAGS, SIZE_MAX));
    assert_null(rpc.alloc2(HEAP, FLAGS, SIZE_MAX / 2));
    void *odd = rpc.alloc(INT_MIN, UINT32_MAX, 1); // heap and flags make no difference
    assert_non_null(odd);
    rpc.free(odd);
    rpc.free(a);
    rpc.free(b);
    rpc.free(b);
    assert_int_equal(rpc.to_fd(b), -1);
    assert_int_equal(open_files(), before);
}

// Memory that a client has mapped itself.
static void buffers_that_the_client_tells_of(void **state) {
    (void)state;
    char mine[3][8] = {"a", "b", "c"};
    rpc.tell(mine[0], 8, 100);
    rpc.tell_attr(mine[1], 8, 101, 4);
    rpc.tell_attr2(mine[2], 8, 102, 8);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rpc.to_fd(mine[i]), 100 + i);
        rpc.free(mine[i]); // not ours to free
        assert_int_equal(rpc.to_fd(mine[i]), 100 + i);
    }
    rpc.tell(mine[0], 8, 103); // anew
    assert_int_equal(rpc.to_fd(mine[0]), 103);
    rpc.tell(mine[0], 8, -1);
    rpc.tell_attr(mine[1], 8, -1, 0);
    rpc.tell_attr2(mine[2], 8, -1, 0);
    rpc.tell(mine[0], -5, -1);
    rpc.tell(NULL, 8, 100);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rpc.to_fd(mine[i]), -1);
    // One of ours stays what it is.
    void *ours = rpc.alloc(HEAP, FLAGS, 100);
    int fd = rpc.to_fd(ours);
    rpc.tell(ours, 100, fd);
    rpc.tell(ours, 100, -1);
    assert_int_equal(rpc.to_fd(ours), fd);
    rpc.free(ours);
    assert_int_equal(rpc.to_fd(ours), -1);
}

static void *alloc_and_free(void *arg) {
    (void)arg;
    for (int i = 0; i < 200; i++) {
        char *p = rpc.alloc(HEAP, FLAGS, 4096 * (i % 5 + 1));
        if (!p || rpc.to_fd(p) < 0)
            return "no buffer";
        p[4095] = 1;
        rpc.free(p);
    }
    return NULL;
}

static void buffers_from_several_threads(void **state) {
    (void)state;
    unsigned before = open_files();
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, alloc_and_free, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *problem = NULL;
        pthread_join(t[i], &problem);
        assert_null(problem);
    }
    assert_int_equal(open_files(), before);
}

// --- registering

#define N 64u // bytes of a tensor

static Qnn_MemDescriptor_t shaped(uint32_t *dims) {
    return (Qnn_MemDescriptor_t){.memShape = {2, dims, NULL},
                                 .dataType = QNN_DATATYPE_UFIXED_POINT_8};
}

static uint32_t tensor_dims[] = {1, N};

static Qnn_MemDescriptor_t ion(int fd) {
    Qnn_MemDescriptor_t d = shaped(tensor_dims);
    d.memType = QNN_MEM_TYPE_ION;
    d.ionInfo.fd = fd;
    return d;
}

static Qnn_MemDescriptor_t custom(QnnMemHtp_Descriptor_t *h) {
    Qnn_MemDescriptor_t d = shaped(tensor_dims);
    d.memType = QNN_MEM_TYPE_CUSTOM;
    d.customInfo = h;
    return d;
}

static QnnMemHtp_Descriptor_t shared(int fd, uint64_t offset, uint64_t size) {
    return (QnnMemHtp_Descriptor_t){
        .type = QNN_HTP_MEM_SHARED_BUFFER, .size = size, .sharedBufferConfig = {fd, offset}};
}

static Qnn_ErrorHandle_t enter(const htp_world *w, Qnn_MemDescriptor_t d, Qnn_MemHandle_t *h) {
    return w->qnn.memRegister(w->context, &d, 1, h);
}

static void htp_shb_01_shb_05_one_buffer_holds_many_tensors(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    chain c;
    chain_build(&w.qnn, w.context, "c", NULL, 1, N, 3, &c);
    HTP_OK(w.qnn.graphFinalize(c.graph, NULL, NULL));
    uint8_t *buffer = rpc.alloc(HEAP, FLAGS, 8192);
    int fd = rpc.to_fd(buffer);
    QnnMemHtp_Descriptor_t in = shared(fd, 128, 8192), out = shared(fd, 4096 + 65, 8192);
    Qnn_MemHandle_t h[2];
    Qnn_MemDescriptor_t d[] = {custom(&in), custom(&out)};
    HTP_OK(w.qnn.memRegister(w.context, d, 2, h));
    chain_fill(buffer + 128, N, 9);
    c.x.v1.memType = c.y.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    c.x.v1.memHandle = h[0];
    c.y.v1.memHandle = h[1];
    HTP_OK(w.qnn.graphExecute(c.graph, &c.x, 1, &c.y, 1, NULL, NULL));
    chain_check(&c, buffer + 128, buffer + 4096 + 65, N);
    assert_int_equal(buffer[4096 + 64], 0);
    assert_int_equal(buffer[4096 + 65 + N], 0);
    // ION: a descriptor for one tensor.
    void *single = rpc.alloc(HEAP, FLAGS, N);
    Qnn_MemHandle_t whole;
    HTP_OK(enter(&w, ion(rpc.to_fd(single)), &whole));
    c.y.v1.memHandle = whole;
    HTP_OK(w.qnn.graphExecute(c.graph, &c.x, 1, &c.y, 1, NULL, NULL));
    chain_check(&c, buffer + 128, single, N);
    // Handles first, then the buffer.
    HTP_OK(w.qnn.memDeRegister(h, 2));
    HTP_OK(w.qnn.memDeRegister(&whole, 1));
    rpc.free(single);
    rpc.free(buffer);
    htp_end(&w);
}

static void htp_shb_02_registering_needs_a_device(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    Qnn_ContextHandle_t bare = NULL;
    HTP_OK(w.qnn.contextCreate(w.backend, NULL, NULL, &bare));
    void *buffer = rpc.alloc(HEAP, FLAGS, N);
    Qnn_MemDescriptor_t d = ion(rpc.to_fd(buffer));
    Qnn_MemHandle_t h = NULL;
    HTP_FAILS(w.qnn.memRegister(bare, &d, 1, &h), QNN_MEM_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(w.qnn.memRegister(NULL, &d, 1, &h), QNN_MEM_ERROR_INVALID_HANDLE);
    HTP_OK(w.qnn.memRegister(w.context, &d, 1, &h));
    // A handle serves the graphs of its own context.
    chain c;
    chain_build(&w.qnn, bare, "c", NULL, 1, N, 1, &c);
    HTP_OK(w.qnn.graphFinalize(c.graph, NULL, NULL));
    uint8_t y[N];
    c.x.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    c.x.v1.memHandle = h;
    htp_buffer(&c.y, y, N);
    HTP_FAILS(w.qnn.graphExecute(c.graph, &c.x, 1, &c.y, 1, NULL, NULL),
              QNN_GRAPH_ERROR_INVALID_CONTEXT);
    HTP_OK(w.qnn.contextFree(bare, NULL));
    HTP_OK(w.qnn.memDeRegister(&h, 1));
    rpc.free(buffer);
    htp_end(&w);
}

static void htp_shb_03_mistakes_in_descriptors(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    void *buffer = rpc.alloc(HEAP, FLAGS, 4096);
    int fd = rpc.to_fd(buffer);
    Qnn_MemHandle_t h = NULL, other = NULL;
    QnnMemHtp_Descriptor_t d = shared(fd, 4096 - N + 1, 4096);
    HTP_FAILS(enter(&w, custom(&d), &h), QNN_MEM_ERROR_INVALID_ARGUMENT);
    d = shared(fd, UINT64_MAX, 4096);
    HTP_FAILS(enter(&w, custom(&d), &h), QNN_MEM_ERROR_INVALID_ARGUMENT);
    d = shared(fd, UINT64_MAX - 8, UINT64_MAX);
    HTP_FAILS(enter(&w, custom(&d), &h), QNN_MEM_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(enter(&w, custom(NULL), &h), QNN_MEM_ERROR_INVALID_ARGUMENT);
    assert_null(h);

    d = shared(fd, 4096 - N, 4096); // the last place
    HTP_OK(enter(&w, custom(&d), &h));
    HTP_FAILS(enter(&w, custom(&d), &other), QNN_MEM_ERROR_ALREADY_REGISTERED);
    d = shared(fd, 0, 4096);
    HTP_OK(enter(&w, custom(&d), &other));
    HTP_OK(w.qnn.memDeRegister(&h, 1));
    d = shared(fd, 4096 - N, 4096);
    HTP_OK(enter(&w, custom(&d), &h)); // free again

    d = shared(-1, 0, 4096);
    HTP_FAILS(enter(&w, custom(&d), &h), QNN_MEM_ERROR_MAPPING);
    d = shared(1023, 0, 4096);
    HTP_FAILS(enter(&w, custom(&d), &h), QNN_MEM_ERROR_MAPPING);
    d = shared(fd, 0, 4097); // larger than the descriptor's memory
    HTP_FAILS(enter(&w, custom(&d), &h), QNN_MEM_ERROR_MAPPING);
    int read_only = open("/dev/zero", O_RDONLY);
    HTP_FAILS(enter(&w, ion(read_only), &h), QNN_MEM_ERROR_MAPPING);
    close(read_only);

    d = (QnnMemHtp_Descriptor_t){.type = 5, .size = 4096};
    HTP_FAILS(enter(&w, custom(&d), &h), QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE);
    Qnn_MemDescriptor_t dx = shaped(tensor_dims);
    dx.memType = QNN_MEM_TYPE_DX12;
    HTP_FAILS(enter(&w, dx, &h), QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE);

    // All or nothing.
    QnnMemHtp_Descriptor_t good = shared(fd, 128, 4096), bad = shared(fd, 4096, 4096);
    Qnn_MemDescriptor_t both[] = {custom(&good), custom(&bad)};
    Qnn_MemHandle_t two[2];
    HTP_FAILS(w.qnn.memRegister(w.context, both, 2, two), QNN_MEM_ERROR_INVALID_ARGUMENT);
    HTP_OK(enter(&w, custom(&good), &other)); // the first of the two was not kept
    rpc.free(buffer);
    htp_end(&w); // ends the handles that are left
}

static void a_descriptor_number_that_is_used_again_is_another_buffer(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    void *first = rpc.alloc(HEAP, FLAGS, 4096);
    int fd = rpc.to_fd(first);
    QnnMemHtp_Descriptor_t d = shared(fd, 0, 4096);
    Qnn_MemHandle_t h[2];
    HTP_OK(enter(&w, custom(&d), &h[0]));
    rpc.free(first);
    uint8_t *second = rpc.alloc(HEAP, FLAGS, 4096);
    assert_int_equal(rpc.to_fd(second), fd);
    HTP_OK(enter(&w, custom(&d), &h[1]));
    chain c;
    uint8_t y[N];
    chain_build(&w.qnn, w.context, "c", NULL, 1, N, 1, &c);
    HTP_OK(w.qnn.graphFinalize(c.graph, NULL, NULL));
    chain_fill(second, N, 5);
    c.x.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    c.x.v1.memHandle = h[1];
    htp_buffer(&c.y, y, N);
    HTP_OK(w.qnn.graphExecute(c.graph, &c.x, 1, &c.y, 1, NULL, NULL));
    chain_check(&c, second, y, N);
    HTP_OK(w.qnn.memDeRegister(h, 2));
    rpc.free(second);
    htp_end(&w);
}

// Weights, spill-fill and backup buffers belong to the backend: no tensor may use them.
static void buffers_of_the_backend_serve_no_tensor(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    chain c;
    chain_build(&w.qnn, w.context, "c", NULL, 1, N, 1, &c);
    HTP_OK(w.qnn.graphFinalize(c.graph, NULL, NULL));
    void *buffer = rpc.alloc(HEAP, FLAGS, 3 * 4096);
    uint8_t y[N];
    htp_buffer(&c.y, y, N);
    c.x.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    for (uint32_t type = QNN_HTP_MEM_WEIGHTS_BUFFER; type <= QNN_HTP_MEM_SHARED_VTCMBACKUP_BUFFER;
         type++) {
        QnnMemHtp_Descriptor_t d = shared(rpc.to_fd(buffer), (type - 2) * 4096, 3 * 4096);
        d.type = (QnnHtpMem_Type_t)type;
        HTP_OK(enter(&w, custom(&d), &c.x.v1.memHandle));
        HTP_FAILS(w.qnn.graphExecute(c.graph, &c.x, 1, &c.y, 1, NULL, NULL),
                  QNN_GRAPH_ERROR_INVALID_TENSOR);
    }
    htp_end(&w);
    rpc.free(buffer);
}

// A loaded context that promises to map at most one megabyte.
static htp_world promising(void) {
    htp_world w = htp_begin(43);
    chain c;
    chain_build(&w.qnn, w.context, "c", NULL, 1, N, 1, &c);
    HTP_OK(w.qnn.graphFinalize(c.graph, NULL, NULL));
    Qnn_ContextBinarySize_t size = 0, written = 0;
    HTP_OK(w.qnn.contextGetBinarySize(w.context, &size));
    void *data = malloc(size);
    HTP_OK(w.qnn.contextGetBinary(w.context, data, size, &written));
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    QnnHtpContext_CustomConfig_t limit = CONTEXT_OPTION(REUSED_IO_LIMIT, .reusedIoLimitMb = 1);
    QnnContext_Config_t entry = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                 .customConfig = &limit};
    const QnnContext_Config_t *list[] = {&entry, NULL};
    HTP_OK(
        w.qnn.contextCreateFromBinary(w.backend, w.device, list, data, written, &w.context, NULL));
    free(data);
    return w;
}

// A buffer is mapped once, however many tensors lie in it, and until the last one is gone.
static void htp_ctx_15_shb_01_shb_05_a_promised_limit_counts_each_buffer_once(void **state) {
    (void)state;
    htp_world w = promising();
    void *a = rpc.alloc(HEAP, FLAGS, 1 << 20), *b = rpc.alloc(HEAP, FLAGS, 4096);
    QnnMemHtp_Descriptor_t first = shared(rpc.to_fd(a), 0, 1 << 20);
    QnnMemHtp_Descriptor_t second = shared(rpc.to_fd(a), 4096, 1 << 20);
    Qnn_MemHandle_t h[3];
    HTP_OK(enter(&w, custom(&first), &h[0]));
    HTP_OK(enter(&w, custom(&second), &h[1]));
    HTP_FAILS(enter(&w, ion(rpc.to_fd(b)), &h[2]), QNN_COMMON_ERROR_NOT_SUPPORTED);
    HTP_OK(w.qnn.memDeRegister(&h[0], 1));
    HTP_FAILS(enter(&w, ion(rpc.to_fd(b)), &h[2]), QNN_COMMON_ERROR_NOT_SUPPORTED);
    HTP_OK(w.qnn.memDeRegister(&h[1], 1));
    HTP_OK(enter(&w, ion(rpc.to_fd(b)), &h[2]));
    htp_end(&w);
    rpc.free(a);
    rpc.free(b);
}

// --- the VTCM

static Qnn_DeviceHandle_t signed_device(const htp_table *qnn, uint32_t soc) {
    QnnHtpDevice_CustomConfig_t chip = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC,
                                        .socModel = soc};
    QnnHtpDevice_CustomConfig_t pd = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_SIGNEDPD,
                                      .useSignedProcessDomain = {0, true}};
    QnnDevice_Config_t config[] = {
        {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &chip},
        {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &pd}};
    const QnnDevice_Config_t *configs[] = {&config[0], &config[1], NULL};
    Qnn_DeviceHandle_t d = NULL;
    HTP_OK(qnn->deviceCreate(NULL, configs, &d));
    return d;
}

static QnnMemHtp_Descriptor_t qurt(uint32_t address, uint64_t size) {
    return (QnnMemHtp_Descriptor_t){.type = QNN_HTP_MEM_QURT, .size = size, .qurtAddress = address};
}

static void htp_vsh_12_addresses_need_a_signed_process_domain(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    QnnMemHtp_Descriptor_t d = qurt(0xFF000000u, N);
    Qnn_MemHandle_t h;
    HTP_FAILS(enter(&w, custom(&d), &h), QNN_MEM_ERROR_INVALID_ARGUMENT);
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    HTP_OK(w.qnn.deviceFree(w.device));
    w.device = signed_device(&w.qnn, 43);
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    HTP_OK(enter(&w, custom(&d), &h));
    htp_end(&w);
}

static void htp_vsh_13_graphs_share_places_in_the_vtcm(void **state) {
    (void)state;
    htp_world w = {.qnn = htp_open()};
    HTP_OK(w.qnn.backendCreate(NULL, NULL, &w.backend));
    w.device = signed_device(&w.qnn, 43); // 8 MB, of which graphs use 4 unless told otherwise
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    chain a, b;
    chain_build(&w.qnn, w.context, "a", NULL, 1, N, 1, &a);
    chain_build(&w.qnn, w.context, "b", NULL, 1, N, 2, &b);
    HTP_OK(w.qnn.graphFinalize(a.graph, NULL, NULL));
    HTP_OK(w.qnn.graphFinalize(b.graph, NULL, NULL));
    QnnMemHtp_Descriptor_t d = qurt(0xFF000000u, N), again = d, far = qurt(0xFF7FFFFFu, N);
    QnnMemHtp_Descriptor_t small = qurt(0xFF000000u + N, N - 1);
    Qnn_MemHandle_t h, other;
    HTP_OK(enter(&w, custom(&d), &h));
    HTP_FAILS(enter(&w, custom(&again), &other), QNN_MEM_ERROR_ALREADY_REGISTERED);
    HTP_FAILS(enter(&w, custom(&far), &other), QNN_MEM_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(enter(&w, custom(&small), &other), QNN_MEM_ERROR_INVALID_ARGUMENT);

    uint8_t x[N], y[N], doubled[N];
    chain_fill(x, N, 4);
    htp_buffer(&a.x, x, N);
    a.y.v1.memType = b.x.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    a.y.v1.memHandle = b.x.v1.memHandle = h;
    htp_buffer(&b.y, y, N);
    HTP_OK(w.qnn.graphExecute(a.graph, &a.x, 1, &a.y, 1, NULL, NULL));
    HTP_OK(w.qnn.graphExecute(b.graph, &b.x, 1, &b.y, 1, NULL, NULL));
    for (uint32_t i = 0; i < N; i++)
        doubled[i] = (uint8_t)(2 * x[i]); // no more than 192
    chain_check(&b, doubled, y, N);

    // A graph that takes all of the VTCM leaves no place to share.
    for (uint32_t mb = 7; mb <= 8; mb++) {
        HTP_OK(w.qnn.contextFree(w.context, NULL));
        HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
        HTP_OK(graph_try(&w, GRAPH_OPTION(VTCM_SIZE_IN_MB, .vtcmSizeInMB = mb)));
        HTP_FAILS(enter(&w, custom(&d), &h), mb < 8 ? QNN_SUCCESS : QNN_MEM_ERROR_INVALID_ARGUMENT);
    }
    htp_end(&w);
}

// --- declaring and bringing

// y = relu(x) with application tensors declared in one way and brought in one way, twice.
static void try_pair(bool declare_shared, bool bring_shared) {
    htp_world w = htp_begin(43);
    uint32_t dims[] = {1, N};
    Qnn_GraphHandle_t g;
    HTP_OK(w.qnn.graphCreate(w.context, "g", NULL, &g));
    Qnn_Tensor_t t[2];
    for (int i = 0; i < 2; i++) {
        t[i] = htp_tensor(i ? "y" : "x", i ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_APP_WRITE,
                          QNN_DATATYPE_UFIXED_POINT_8, 2, dims);
        htp_encode(&t[i], 0.1f, -128);
        t[i].v1.memType = declare_shared ? QNN_TENSORMEMTYPE_MEMHANDLE : QNN_TENSORMEMTYPE_RAW;
        if (declare_shared)
            t[i].v1.memHandle = NULL;
        HTP_OK(w.qnn.tensorCreateGraphTensor(g, &t[i]));
    }
    HTP_OK(w.qnn.graphAddNode(g, htp_op("relu", "Relu", &t[0], 1, &t[1], 1)));
    HTP_OK(w.qnn.graphFinalize(g, NULL, NULL));

    uint8_t *buffer[2];
    for (int i = 0; i < 2; i++) {
        buffer[i] = rpc.alloc(HEAP, FLAGS, N);
        t[i].v1.memType = bring_shared ? QNN_TENSORMEMTYPE_MEMHANDLE : QNN_TENSORMEMTYPE_RAW;
        if (bring_shared)
            HTP_OK(enter(&w, ion(rpc.to_fd(buffer[i])), &t[i].v1.memHandle));
        else
            htp_buffer(&t[i], buffer[i], N);
    }
    for (uint32_t i = 0; i < N; i++)
        buffer[0][i] = (uint8_t)(4 * i);
    for (uint32_t run = 0; run < 2; run++) {
        buffer[0][run] = (uint8_t)(200 + run);
        HTP_OK(w.qnn.graphExecute(g, &t[0], 1, &t[1], 1, NULL, NULL));
        for (uint32_t i = 0; i < N; i++)
            assert_int_equal(buffer[1][i], buffer[0][i] < 128 ? 128 : buffer[0][i]);
    }
    htp_end(&w);
    rpc.free(buffer[0]);
    rpc.free(buffer[1]);
}

static void htp_qmg_02_raw_prepared_and_raw_executed(void **state) {
    (void)state;
    try_pair(false, false);
}

static void htp_qmg_03_raw_prepared_and_shared_executed(void **state) {
    (void)state;
    try_pair(false, true);
}

static void htp_qmg_01_qmg_04_shared_prepared_and_raw_executed(void **state) {
    (void)state;
    try_pair(true, false);
}

static void htp_qmg_05_shared_prepared_and_shared_executed(void **state) {
    (void)state;
    try_pair(true, true);
}

static void batches_in_registered_memory(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    chain c;
    chain_build(&w.qnn, w.context, "c", NULL, 2, N, 3, &c);
    HTP_OK(w.qnn.graphFinalize(c.graph, NULL, NULL));
    uint32_t dims[] = {6, N};
    uint8_t *x = rpc.alloc(HEAP, FLAGS, 6 * N), *y = rpc.alloc(HEAP, FLAGS, 6 * N);
    chain_fill(x, 6 * N, 2);
    Qnn_MemDescriptor_t d[] = {ion(rpc.to_fd(x)), ion(rpc.to_fd(y))};
    d[0].memShape.dimSize = d[1].memShape.dimSize = dims;
    Qnn_MemHandle_t h[2];
    HTP_OK(w.qnn.memRegister(w.context, d, 2, h));
    c.x.v1.dimensions = c.y.v1.dimensions = dims;
    c.x.v1.memType = c.y.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    c.x.v1.memHandle = h[0];
    c.y.v1.memHandle = h[1];
    HTP_OK(w.qnn.graphExecute(c.graph, &c.x, 1, &c.y, 1, NULL, NULL));
    chain_check(&c, x, y, 6 * N);
    dims[0] = 8; // more than was registered
    HTP_FAILS(w.qnn.graphExecute(c.graph, &c.x, 1, &c.y, 1, NULL, NULL),
              QNN_GRAPH_ERROR_INVALID_TENSOR);
    htp_end(&w);
    rpc.free(x);
    rpc.free(y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_shb_04_buffers_of_libcdsprpc),
        cmocka_unit_test(buffers_that_the_client_tells_of),
        cmocka_unit_test(buffers_from_several_threads),
        cmocka_unit_test(htp_shb_01_shb_05_one_buffer_holds_many_tensors),
        cmocka_unit_test(htp_shb_02_registering_needs_a_device),
        cmocka_unit_test(htp_shb_03_mistakes_in_descriptors),
        cmocka_unit_test(a_descriptor_number_that_is_used_again_is_another_buffer),
        cmocka_unit_test(buffers_of_the_backend_serve_no_tensor),
        cmocka_unit_test(htp_ctx_15_shb_01_shb_05_a_promised_limit_counts_each_buffer_once),
        cmocka_unit_test(htp_vsh_12_addresses_need_a_signed_process_domain),
        cmocka_unit_test(htp_vsh_13_graphs_share_places_in_the_vtcm),
        cmocka_unit_test(htp_qmg_02_raw_prepared_and_raw_executed),
        cmocka_unit_test(htp_qmg_03_raw_prepared_and_shared_executed),
        cmocka_unit_test(htp_qmg_01_qmg_04_shared_prepared_and_raw_executed),
        cmocka_unit_test(htp_qmg_05_shared_prepared_and_shared_executed),
        cmocka_unit_test(batches_in_registered_memory),
    };
    return cmocka_run_group_tests(tests, open_rpcmem, close_rpcmem);
}
