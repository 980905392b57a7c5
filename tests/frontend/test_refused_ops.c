// SPDX-License-Identifier: MIT
//
// What importers do when the library refuses something in the middle of a decomposition: every
// model of a folder is imported again and again, and each time another call of the library fails,
// up to a given number. The import has to fail with a message, without touching what never came
// to be.
#include "frontend/onnx/import.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MOST 24 // refusals per model and call: longer decompositions repeat themselves

static const char *folder;

// The library's own functions, and which call of them fails.
static QNN_INTERFACE_VER_TYPE real;
static uint32_t n_nodes, n_tensors, bad_node, bad_tensor;
static bool refuse_validation;
static uint32_t n_wrong; // imports that did not fail, or did not say why

static Qnn_ErrorHandle_t add_node(Qnn_GraphHandle_t graph, Qnn_OpConfig_t op) {
    return n_nodes++ == bad_node ? QNN_GRAPH_ERROR_INVALID_OP_CONFIG : real.graphAddNode(graph, op);
}

static Qnn_ErrorHandle_t create_tensor(Qnn_GraphHandle_t graph, Qnn_Tensor_t *t) {
    return n_tensors++ == bad_tensor ? QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM
                                     : real.tensorCreateGraphTensor(graph, t);
}

static Qnn_ErrorHandle_t validate(Qnn_BackendHandle_t backend, Qnn_OpConfig_t op) {
    return refuse_validation ? QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE
                             : real.backendValidateOpConfig(backend, op);
}

static qc_client *open_library(const char *name) {
    char library[4096];
    qc_client *c = NULL;
    const char *lib = getenv("QUERN_LIB_DIR");
    snprintf(library, sizeof library, "%s/%s", lib ? lib : ".", name);
    if (qc_open(library, NULL, &c) != QRN_OK)
        fail_msg("%s", qrn_message());
    real = c->qnn;
    c->qnn.graphAddNode = add_node;
    c->qnn.tensorCreateGraphTensor = create_tensor;
    c->qnn.backendValidateOpConfig = validate;
    return c;
}

static void ignore(void *ctx, const ox_node *n, qrn_status s, const char *why) {
    (void)ctx;
    (void)n;
    assert_true(s == QRN_OK || why[0] != '\0');
}

// Imports with one call refused. `listens`: somebody hears of refusals and the import goes on.
static qrn_status import(qc_client *c, const ox_model *m, uint32_t node, uint32_t tensor,
                         bool listens) {
    ox_options opt = {.report = listens ? ignore : NULL};
    ox_result r;
    Qnn_ContextHandle_t kept;
    n_nodes = n_tensors = 0;
    bad_node = node;
    bad_tensor = tensor;
    qrn_message_clear();
    assert_int_equal(qc_trial_begin(c, &kept), QRN_OK); // the graph is thrown away
    qrn_status s = ox_import_model(m, c, &opt, &r);
    if (s == QRN_OK)
        qc_graph_destroy(r.graph);
    qc_trial_end(c, kept);
    return s;
}

static void must_fail(qc_client *c, const ox_model *m, const char *name, uint32_t node,
                      uint32_t tensor) {
    if (import(c, m, node, tensor, false) != QRN_OK && qrn_message()[0])
        return;
    bool is_node = node != UINT32_MAX;
    print_error("%s: %s %u was refused, the import says '%s'\n", name, is_node ? "node" : "tensor",
                is_node ? node : tensor, qrn_message());
    n_wrong++;
}

static void refuse_all(qc_client *c, const char *name) {
    char path[8192];
    ox_model *m = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (ox_model_open(path, &m) != QRN_OK)
        return;
    for (int way = 0; way < 2; way++) { // as it is, and where nothing is said to be supported
        refuse_validation = way == 1;
        if (import(c, m, UINT32_MAX, UINT32_MAX, false) != QRN_OK)
            continue; // the group's own test says whether that is right
        uint32_t nodes = n_nodes, tensors = n_tensors;
        for (uint32_t i = 0; i < nodes && i < MOST; i++) {
            must_fail(c, m, name, i, UINT32_MAX);
            import(c, m, i, UINT32_MAX, true);
        }
        for (uint32_t i = 0; i < tensors && i < MOST; i++)
            must_fail(c, m, name, UINT32_MAX, i);
    }
    ox_model_close(m);
}

static void refuse_in(const char *library) {
    qc_client *c = open_library(library);
    DIR *d = opendir(folder);
    uint32_t n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (!strstr(e->d_name, ".onnx"))
            continue;
        refuse_all(c, e->d_name);
        n++;
    }
    closedir(d);
    qc_close(c);
    assert_true(n > 0);
    assert_int_equal(n_wrong, 0);
}

static void import_fails_cleanly_whatever_call_the_cpu_refuses(void **state) {
    (void)state;
    refuse_in("libQnnCpu.so");
}

// The importer takes other ways where the backend does not support the first one.
static void import_fails_cleanly_whatever_call_the_htp_refuses(void **state) {
    (void)state;
    refuse_in("libQnnHtp.so");
}

int main(int argc, char **argv) {
    folder = argc > 1 ? argv[1] : ".";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(import_fails_cleanly_whatever_call_the_cpu_refuses),
        cmocka_unit_test(import_fails_cleanly_whatever_call_the_htp_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
