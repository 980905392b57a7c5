// SPDX-License-Identifier: MIT
//
// Loads the model library and the op package built against the public headers and calls them the
// way a tool and a backend would. The function table handed to the model is a recorder, so the
// by-value passing of the table and of the op config is checked across the C / C++ border.

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CPU/QnnCpuOpPackage.h"
#include "Quern/model.h"

static int fake_context, fake_graph;
static const QnnGraph_Config_t **seen_config;
static uint32_t next_id;
static Qnn_OpConfig_t added;
static Qnn_Tensor_t added_in;

static Qnn_ErrorHandle_t graph_create(Qnn_ContextHandle_t context, const char *name,
                                      const QnnGraph_Config_t **config, Qnn_GraphHandle_t *graph) {
    assert_ptr_equal(context, &fake_context);
    assert_string_equal(name, "relu");
    seen_config = config;
    *graph = &fake_graph;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t create_tensor(Qnn_GraphHandle_t graph, Qnn_Tensor_t *tensor) {
    assert_ptr_equal(graph, &fake_graph);
    tensor->v1.id = ++next_id;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t validate(Qnn_BackendHandle_t backend, Qnn_OpConfig_t op) {
    (void)backend;
    return strcmp(op.v1.typeName, "Relu") == 0 ? QNN_SUCCESS : QNN_GRAPH_ERROR_INVALID_OP_CONFIG;
}

static Qnn_ErrorHandle_t add_node(Qnn_GraphHandle_t graph, Qnn_OpConfig_t op) {
    assert_ptr_equal(graph, &fake_graph);
    added = op;
    added_in = op.v1.inputTensors[0];
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t refuse_node(Qnn_GraphHandle_t graph, Qnn_OpConfig_t op) {
    (void)graph;
    (void)op;
    return QNN_GRAPH_ERROR_UNCONNECTED_NODE;
}

static void *open_plugin(const char *name) {
    char path[4096];
    const char *dir = getenv("QUERN_ABI_PLUGINS");
    assert_non_null(dir);
    assert_true((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) < sizeof(path));
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail_msg("%s", dlerror());
    return lib;
}

typedef ModelError_t (*compose_fn)(Qnn_BackendHandle_t, QNN_INTERFACE_VER_TYPE, Qnn_ContextHandle_t,
                                   const GraphConfigInfo_t **, const uint32_t, GraphInfo_t ***,
                                   uint32_t *, bool, QnnLog_Callback_t, QnnLog_Level_t);
typedef ModelError_t (*free_fn)(GraphInfo_t ***, uint32_t);

static void model_library_builds_its_graph_through_a_table_passed_by_value(void **state) {
    (void)state;
    void *lib = open_plugin("libabi_model.so");
    compose_fn compose;
    free_fn release;
    *(void **)&compose = dlsym(lib, "QnnModel_composeGraphs");
    *(void **)&release = dlsym(lib, "QnnModel_freeGraphsInfo");
    assert_non_null(compose);
    assert_non_null(release);

    QNN_INTERFACE_VER_TYPE table = QNN_INTERFACE_VER_TYPE_INIT;
    table.graphCreate = graph_create;
    table.tensorCreateGraphTensor = create_tensor;
    table.backendValidateOpConfig = validate;
    table.graphAddNode = add_node;
    const QnnGraph_Config_t *configs[] = {NULL};
    char name[] = "relu";
    GraphConfigInfo_t config = {name, configs};
    const GraphConfigInfo_t *list[] = {&config};
    GraphInfo_t **graphs = NULL;
    uint32_t n = 0;
    assert_int_equal(
        compose(NULL, table, &fake_context, list, 1, &graphs, &n, false, NULL, QNN_LOG_LEVEL_ERROR),
        MODEL_NO_ERROR);
    assert_int_equal(n, 1);
    assert_ptr_equal(seen_config, configs);
    assert_ptr_equal(graphs[0]->graph, &fake_graph);
    assert_string_equal(graphs[0]->graphName, "relu");
    assert_int_equal(graphs[0]->numInputTensors, 1);
    assert_int_equal(graphs[0]->inputTensors[0].v1.id, 1);
    assert_int_equal(graphs[0]->outputTensors[0].v1.id, 2);
    assert_string_equal(added.v1.packageName, "qti.aisw");
    assert_int_equal(added_in.v1.dataType, QNN_DATATYPE_FLOAT_32);
    assert_int_equal(added_in.v1.dimensions[1], 4);
    assert_int_equal(release(&graphs, n), MODEL_NO_ERROR);
    assert_null(graphs);

    table.graphAddNode = refuse_node;
    assert_int_equal(
        compose(NULL, table, &fake_context, NULL, 0, &graphs, &n, false, NULL, QNN_LOG_LEVEL_ERROR),
        MODEL_NODES_ERROR);
    assert_null(seen_config);
    dlclose(lib);
}

static void op_package_runs_its_op_on_cpu_tensors(void **state) {
    (void)state;
    void *lib = open_plugin("libabi_op_package.so");
    QnnOpPackage_InterfaceProvider_t provider;
    *(void **)&provider = dlsym(lib, "twice_provider");
    assert_non_null(provider);

    QnnOpPackage_Interface_t package = QNN_OP_PACKAGE_INTERFACE_INIT;
    assert_int_equal(provider(&package), QNN_SUCCESS);
    assert_int_equal(package.interfaceVersion.major, 1);
    assert_int_equal(package.interfaceVersion.minor, 4);
    QnnCpuOpPackage_GlobalInfra_t infra = QNN_CPU_OP_PACKAGE_GLOBAL_INFRA_INIT;
    assert_int_equal(package.v1_4.init(&infra), QNN_SUCCESS);
    const QnnOpPackage_Info_t *info = NULL;
    assert_int_equal(package.v1_4.getInfo(&info), QNN_SUCCESS);
    assert_string_equal(info->operationNames[0], "Twice");

    float x[3] = {1.0f, -2.5f, 0.0f}, y[3] = {9.0f, 9.0f, 9.0f};
    uint32_t dims[] = {3};
    QnnCpuOpPackage_Tensor_t in = QNN_CPU_OP_PACKAGE_TENSOR_INIT, out = in;
    in.dataType = out.dataType = QNN_CPU_DATATYPE_FLOAT_32;
    in.rank = out.rank = 1;
    in.currentDimensions = out.currentDimensions = dims;
    in.data = x;
    out.data = y;
    QnnCpuOpPackage_Tensor_t *ins[] = {&in}, *outs[] = {&out};
    QnnCpuOpPackage_Node_t node = QNN_CPU_OP_PACKAGE_NODE_INIT;
    node.typeName = "Twice";
    node.numOfInputs = node.numOfOutputs = 1;
    node.inputs = ins;
    node.outputs = outs;
    QnnOpPackage_OpImpl_t impl = NULL;
    assert_int_equal(package.v1_4.createOpImpl(NULL, &node, &impl), QNN_SUCCESS);
    assert_int_equal(impl->opImplFn(impl->userData), QNN_SUCCESS);
    assert_true(y[0] == 2.0f && y[1] == -5.0f && y[2] == 0.0f);
    assert_int_equal(package.v1_4.freeOpImpl(impl), QNN_SUCCESS);
    assert_int_equal(package.v1_4.terminate(), QNN_SUCCESS);
    dlclose(lib);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_library_builds_its_graph_through_a_table_passed_by_value),
        cmocka_unit_test(op_package_runs_its_op_on_cpu_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
