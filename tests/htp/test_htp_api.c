// SPDX-License-Identifier: MIT
//
// General use of the HTP backend: what it is, graphs from end to end.
#include "htp_client.h"

static void htp_api_01_nodes_in_order(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    uint32_t dims[] = {1, 8};
    Qnn_GraphHandle_t g;
    HTP_OK(w.qnn.graphCreate(w.context, "g", NULL, &g));
    Qnn_Tensor_t mid =
        htp_tensor("mid", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_UFIXED_POINT_8, 2, dims);
    Qnn_Tensor_t y =
        htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_8, 2, dims);
    htp_encode(&mid, 0.1f, 0);
    htp_encode(&y, 0.1f, 0);
    HTP_OK(w.qnn.tensorCreateGraphTensor(g, &mid));
    HTP_OK(w.qnn.tensorCreateGraphTensor(g, &y));
    HTP_FAILS(w.qnn.graphAddNode(g, htp_op("late", "Relu", &mid, 1, &y, 1)),
              QNN_GRAPH_ERROR_UNCONNECTED_NODE);
    htp_end(&w);
}

static void htp_api_06_versions(void **state) {
    (void)state;
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    HTP_OK(QnnInterface_getProviders(&list, &n));
    assert_int_equal(n, 1);
    assert_int_equal(list[0]->backendId, 6);
    assert_string_equal(list[0]->providerName, "HTP_QTI_AISW");
    assert_int_equal(list[0]->apiVersion.backendApiVersion.major, 5);
    assert_in_range(list[0]->apiVersion.backendApiVersion.minor, 39, 99);
}

static void runs_a_graph(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    htp_relu r;
    htp_relu_graph(&w.qnn, w.context, "relu", NULL, 2, &r);
    HTP_OK(w.qnn.graphFinalize(r.graph, NULL, NULL));
    htp_relu_run(&w.qnn, &r);
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_api_01_nodes_in_order),
        cmocka_unit_test(htp_api_06_versions),
        cmocka_unit_test(runs_a_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
