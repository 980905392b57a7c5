// SPDX-License-Identifier: MIT
//
// Mem component: registration is all or nothing, deregistration tries all, documented errors.
#include "core/own.h"
#include "fault_backend.h"
#include "pairs.h"

static Qnn_BackendHandle_t backend;
static qrn_api_context context; // memory needs no more of a context than its lock and lists
static qrn_context_own own;

static int setup(void **state) {
    (void)state;
    fault_reset();
    if (QnnBackend_create(NULL, NULL, &backend) != QNN_SUCCESS)
        return 1;
    own = (qrn_context_own){0};
    context = (qrn_api_context){.backend = qrn_handle_get(QRN_KIND_BACKEND, backend), .own = &own};
    pthread_mutex_init(&own.mem_lock, NULL);
    context.handle = qrn_handle_new(QRN_KIND_CONTEXT, &context);
    return context.handle == NULL;
}

static int teardown(void **state) {
    (void)state;
    fault_reset();
    qrn_mem_free_all(&context);
    qrn_handle_free(context.handle);
    pthread_mutex_destroy(&own.mem_lock);
    return QnnBackend_free(backend) != QNN_SUCCESS;
}

static uint32_t dims[] = {2, 3, 4};

static Qnn_MemDescriptor_t ion(int fd) {
    return (Qnn_MemDescriptor_t){.memShape = {3, dims, NULL},
                                 .dataType = QNN_DATATYPE_FLOAT_32,
                                 .memType = QNN_MEM_TYPE_ION,
                                 .ionInfo = {fd}};
}

static void a_handle_has_type_shape_and_address(void **state) {
    (void)state;
    size_t live = qrn_alloc_live();
    Qnn_MemDescriptor_t d[3] = {ion(10), ion(11), ion(12)};
    d[1].dataType = QNN_DATATYPE_UFIXED_POINT_8;
    d[2].memType = QNN_MEM_TYPE_CUSTOM;
    Qnn_MemHandle_t h[3];
    OK(QnnMem_register(context.handle, d, 3, h));
    assert_int_equal(own.n_mems, 3);
    for (unsigned i = 0; i < 3; i++) {
        const qrn_api_mem *m = qrn_handle_get(QRN_KIND_MEM, h[i]);
        assert_non_null(m);
        assert_ptr_equal(m->context, &context);
        assert_non_null(m->memory.host);
        assert_int_equal(m->size_bytes, i == 1 ? 24 : 96);
        assert_int_equal(m->shape.rank, 3);
        assert_int_equal(m->shape.dims[2], 4);
        assert_int_equal(m->fd, i == 2 ? -1 : (int)(10 + i));
    }
    OK(QnnMem_deRegister(h, 2));
    assert_null(qrn_handle_get(QRN_KIND_MEM, h[0]));
    assert_non_null(qrn_handle_get(QRN_KIND_MEM, h[2]));
    OK(QnnMem_register(context.handle, d, 2, h)); // the file descriptors are free again
    qrn_mem_free_all(&context);                   // as contextFree does
    assert_null(qrn_handle_get(QRN_KIND_MEM, h[0]));
    assert_int_equal(qrn_alloc_live(), live);
}

static void one_bad_descriptor_registers_nothing(void **state) {
    (void)state;
    static const char name[] = "QnnMem_register";
    Qnn_MemDescriptor_t d[3] = {ion(10), ion(11), ion(12)};
    Qnn_MemHandle_t h[3] = {(void *)7, (void *)7, (void *)7}, first;
    OK(QnnMem_register(context.handle, d, 1, &first));
    d[0] = ion(13);
    size_t live = qrn_alloc_live();
    static uint32_t zero[] = {2, 0, 4}, huge[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    const struct {
        Qnn_MemDescriptor_t d;
        Qnn_ErrorHandle_t code;
    } bad[] = {
        {{{3, NULL, NULL}, QNN_DATATYPE_FLOAT_32, QNN_MEM_TYPE_ION, {{14}}},
         QNN_MEM_ERROR_INVALID_SHAPE},
        {{{0, dims, NULL}, QNN_DATATYPE_FLOAT_32, QNN_MEM_TYPE_ION, {{14}}},
         QNN_MEM_ERROR_INVALID_SHAPE},
        {{{9, dims, NULL}, QNN_DATATYPE_FLOAT_32, QNN_MEM_TYPE_ION, {{14}}},
         QNN_MEM_ERROR_INVALID_SHAPE},
        {{{3, zero, NULL}, QNN_DATATYPE_FLOAT_32, QNN_MEM_TYPE_ION, {{14}}},
         QNN_MEM_ERROR_INVALID_SHAPE},
        {{{3, huge, NULL}, QNN_DATATYPE_FLOAT_32, QNN_MEM_TYPE_ION, {{14}}},
         QNN_MEM_ERROR_INVALID_SHAPE},
        {{{3, dims, SHAPE_CONFIG_DATA_FORMAT_UBWC_NV12},
          QNN_DATATYPE_UINT_8,
          QNN_MEM_TYPE_ION,
          {{14}}},
         QNN_MEM_ERROR_INVALID_SHAPE},
        {{{3, dims, NULL}, QNN_DATATYPE_UNDEFINED, QNN_MEM_TYPE_ION, {{14}}},
         QNN_MEM_ERROR_INVALID_ARGUMENT},
        {{{3, dims, NULL}, QNN_DATATYPE_FLOAT_32, QNN_MEM_TYPE_UNDEFINED, {{14}}},
         QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE},
        {{{3, dims, NULL}, QNN_DATATYPE_FLOAT_32, QNN_MEM_TYPE_ION, {{10}}},
         QNN_MEM_ERROR_ALREADY_REGISTERED},
        {{{3, dims, NULL}, QNN_DATATYPE_FLOAT_32, QNN_MEM_TYPE_ION, {{13}}}, // twice in one call
         QNN_MEM_ERROR_ALREADY_REGISTERED},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        d[2] = bad[i].d;
        PAIR(name, bad[i].code, QnnMem_register(context.handle, d, 3, h));
        assert_ptr_equal(h[0], (void *)7);
        assert_int_equal(own.n_mems, 1);
        assert_int_equal(qrn_alloc_live(), live);
    }
    d[2] = ion(14);
    fault_status[FAULT_MEM_MAP] = QRN_E_MAPPING;
    PAIR(name, QNN_MEM_ERROR_MAPPING, QnnMem_register(context.handle, d, 3, h));
    fault_status[FAULT_MEM_MAP] = QRN_E_MEMTYPE;
    PAIR(name, QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE, QnnMem_register(context.handle, d, 3, h));
    fault_status[FAULT_MEM_MAP] = QRN_OK;
    assert_int_equal(qrn_alloc_live(), live);
    PAIR_MEM(name, QNN_COMMON_ERROR_MEM_ALLOC, QnnMem_register(context.handle, d, 3, h));
    assert_int_equal(own.n_mems, 4);
}

static void documented_errors(void **state) {
    (void)state;
    Qnn_MemDescriptor_t d = ion(10);
    Qnn_MemHandle_t h = (void *)7;
    PAIR("QnnMem_register", QNN_MEM_ERROR_INVALID_HANDLE, QnnMem_register(NULL, &d, 1, &h));
    PAIR("QnnMem_register", QNN_MEM_ERROR_INVALID_HANDLE, QnnMem_register(backend, &d, 1, &h));
    PAIR("QnnMem_register", QNN_MEM_ERROR_INVALID_ARGUMENT,
         QnnMem_register(context.handle, NULL, 1, &h));
    PAIR("QnnMem_register", QNN_MEM_ERROR_INVALID_ARGUMENT,
         QnnMem_register(context.handle, &d, 0, &h));
    PAIR("QnnMem_register", QNN_MEM_ERROR_INVALID_ARGUMENT,
         QnnMem_register(context.handle, &d, 1, NULL));
    fault_backend.features = 0;
    PAIR("QnnMem_register", QNN_MEM_ERROR_NOT_SUPPORTED,
         QnnMem_register(context.handle, &d, 1, &h));
    PAIR("QnnMem_register", QNN_MEM_ERROR_INVALID_ARGUMENT,
         QnnMem_register(context.handle, &d, 1, NULL)); // mistakes come first
    assert_ptr_equal(h, (void *)7);
    fault_reset();
    OK(QnnMem_register(context.handle, &d, 1, &h));

    PAIR("QnnMem_deRegister", QNN_MEM_ERROR_INVALID_ARGUMENT, QnnMem_deRegister(NULL, 1));
    PAIR("QnnMem_deRegister", QNN_MEM_ERROR_INVALID_ARGUMENT, QnnMem_deRegister(&h, 0));
    fault_backend.features = 0;
    PAIR("QnnMem_deRegister", QNN_MEM_ERROR_NOT_SUPPORTED, QnnMem_deRegister(&h, 1));
    fault_reset();
    OK(QnnMem_deRegister(&h, 1));
    PAIR("QnnMem_deRegister", QNN_MEM_ERROR_INVALID_HANDLE, QnnMem_deRegister(&h, 1));
}

static void deregistering_tries_all_and_reports_a_bad_one(void **state) {
    (void)state;
    Qnn_MemDescriptor_t d[2] = {ion(10), ion(11)};
    Qnn_MemHandle_t h[2];
    OK(QnnMem_register(context.handle, d, 2, h));
    Qnn_MemHandle_t mixed[] = {h[0], backend, h[1], NULL, h[0]};
    PAIR("QnnMem_deRegister", QNN_MEM_ERROR_INVALID_HANDLE, QnnMem_deRegister(mixed, 5));
    assert_int_equal(own.n_mems, 0);
    OK(QnnMem_register(context.handle, d, 1, h));
    Qnn_MemHandle_t twice[] = {h[0], h[0]};
    PAIR("QnnMem_deRegister", QNN_MEM_ERROR_INVALID_HANDLE, QnnMem_deRegister(twice, 2));
    assert_int_equal(own.n_mems, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_handle_has_type_shape_and_address),
        TEST(one_bad_descriptor_registers_nothing),
        TEST(documented_errors),
        TEST(deregistering_tries_all_and_reports_a_bad_one),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
