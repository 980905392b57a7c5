// SPDX-License-Identifier: MIT
//
// A QNN library that passes everything on to the one that QUERN_SPY_OF names, and writes the calls
// that options are seen in to the file that QUERN_SPY names, one a line: the call and its configs.
// QUERN_SPY_MINOR is the version that it claims to have; with QUERN_SPY_CRASH executing fails as it
// does when an accelerator restarts.
#include "HTP/QnnHtpContext.h"
#include "HTP/QnnHtpDevice.h"
#include "HTP/QnnHtpGraph.h"
#include "QnnInterface.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static QNN_INTERFACE_VER_TYPE real;
static FILE *to;

static void tell_htp(const QnnHtpContext_CustomConfig_t *x) {
    fprintf(to, " context_%d=", (int)x->option);
    if (x->option == QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS)
        fprintf(to, "%s:%llu", x->groupRegistration.firstGroupHandle ? "next" : "first",
                (unsigned long long)x->groupRegistration.maxSpillFillBuffer);
    else if (x->option == QNN_HTP_CONTEXT_CONFIG_OPTION_REUSED_IO_LIMIT)
        fprintf(to, "%llu", (unsigned long long)x->reusedIoLimitMb);
    else if (x->option == QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES_OPTIMIZATION_TYPE)
        fprintf(to, "%d", (int)x->shareResOptType);
    else
        fprintf(to, "%d", x->weightSharingEnabled);
}

static void tell_context(const char *call, const QnnContext_Config_t **list) {
    fputs(call, to);
    for (; list && *list; list++)
        if ((*list)->option == QNN_CONTEXT_CONFIG_OPTION_CUSTOM)
            tell_htp((*list)->customConfig);
        else if ((*list)->option == QNN_CONTEXT_CONFIG_OPTION_PRIORITY)
            fprintf(to, " priority=%d", (int)(*list)->priority);
        else
            fprintf(to, " option_%d", (int)(*list)->option);
    fputc('\n', to);
    fflush(to);
}

static void tell_graph(const QnnHtpGraph_CustomConfig_t *x) {
    fprintf(to, " graph_%d=", (int)x->option);
    if (x->option == QNN_HTP_GRAPH_CONFIG_OPTION_FINALIZE_CONFIG)
        fprintf(to, "%s:%u", x->finalizeConfig.key, x->finalizeConfig.value.uint32Value);
    else if (x->option == QNN_HTP_GRAPH_CONFIG_OPTION_NUM_CORES)
        fprintf(to, "%u", x->numCores);
    else if (x->option == QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE)
        fprintf(to, "%u", x->vtcmSizeInMB);
    else if (x->option == QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION)
        fprintf(to, "%d:%g", (int)x->optimizationOption.type, x->optimizationOption.floatValue);
    else if (x->option == QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION)
        fprintf(to, "%d", (int)x->precision);
    else
        fprintf(to, "%d", x->monolithicLstm);
}

static Qnn_ErrorHandle_t device_create(Qnn_LogHandle_t log, const QnnDevice_Config_t **config,
                                       Qnn_DeviceHandle_t *device) {
    fputs("deviceCreate", to);
    for (const QnnDevice_Config_t **c = config; c && *c; c++) {
        if ((*c)->option != QNN_DEVICE_CONFIG_OPTION_CUSTOM)
            continue;
        const QnnHtpDevice_CustomConfig_t *x = (*c)->customConfig;
        if (x->option == QNN_HTP_DEVICE_CONFIG_OPTION_SOC)
            fprintf(to, " soc=%u", x->socModel);
        else if (x->option == QNN_HTP_DEVICE_CONFIG_OPTION_ARCH)
            fprintf(to, " arch=%d:%u", (int)x->arch.arch, x->arch.deviceId);
    }
    fputc('\n', to);
    fflush(to);
    return real.deviceCreate(log, config, device);
}

static Qnn_ErrorHandle_t context_set(Qnn_ContextHandle_t context,
                                     const QnnContext_Config_t **config) {
    tell_context("contextSetConfig", config);
    return real.contextSetConfig(context, config);
}

static Qnn_ErrorHandle_t context_create(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                        const QnnContext_Config_t **config,
                                        Qnn_ContextHandle_t *context) {
    tell_context("contextCreate", config);
    return real.contextCreate(backend, device, config, context);
}

static Qnn_ErrorHandle_t context_load(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                      const QnnContext_Config_t **config, const void *bytes,
                                      Qnn_ContextBinarySize_t n, Qnn_ContextHandle_t *context,
                                      Qnn_ProfileHandle_t profile) {
    tell_context("contextCreateFromBinary", config);
    return real.contextCreateFromBinary(backend, device, config, bytes, n, context, profile);
}

static Qnn_ErrorHandle_t context_list(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                      const QnnContext_Params_t **params,
                                      const QnnContext_Config_t **config,
                                      Qnn_SignalHandle_t signal) {
    int n = 0;
    while (params[n])
        n++;
    fprintf(to, "%d of ", n);
    tell_context("contextCreateFromBinaryListAsync", config);
    return real.contextCreateFromBinaryListAsync(backend, device, params, config, signal);
}

static Qnn_ErrorHandle_t graph_create(Qnn_ContextHandle_t context, const char *name,
                                      const QnnGraph_Config_t **config, Qnn_GraphHandle_t *graph) {
    fputs("graphCreate", to);
    for (const QnnGraph_Config_t **c = config; c && *c; c++)
        if ((*c)->option == QNN_GRAPH_CONFIG_OPTION_CUSTOM)
            tell_graph((*c)->customConfig);
    fputc('\n', to);
    fflush(to);
    return real.graphCreate(context, name, config, graph);
}

static int shared(const Qnn_Tensor_t *list, uint32_t n) {
    int count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += list[i].v1.memType == QNN_TENSORMEMTYPE_MEMHANDLE;
    return count;
}

static Qnn_ErrorHandle_t graph_execute(Qnn_GraphHandle_t graph, const Qnn_Tensor_t *in,
                                       uint32_t n_in, Qnn_Tensor_t *out, uint32_t n_out,
                                       Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal) {
    fprintf(to, "graphExecute %d of %u inputs, %d of %u outputs shared\n", shared(in, n_in), n_in,
            shared(out, n_out), n_out);
    fflush(to);
    if (getenv("QUERN_SPY_CRASH"))
        return QNN_COMMON_ERROR_SYSTEM_COMMUNICATION;
    return real.graphExecute(graph, in, n_in, out, n_out, profile, signal);
}

static Qnn_ErrorHandle_t mem_register(const Qnn_ContextHandle_t context,
                                      const Qnn_MemDescriptor_t *list, uint32_t n,
                                      Qnn_MemHandle_t *out) {
    fprintf(to, "memRegister %u\n", n);
    fflush(to);
    return real.memRegister(context, list, n, out);
}

static Qnn_ErrorHandle_t mem_deregister(const Qnn_MemHandle_t *list, uint32_t n) {
    fprintf(to, "memDeRegister %u\n", n);
    fflush(to);
    return real.memDeRegister(list, n);
}

typedef Qnn_ErrorHandle_t (*get_providers)(const QnnInterface_t ***, uint32_t *);

__attribute__((visibility("default"))) Qnn_ErrorHandle_t QnnInterface_getProviders(
    const QnnInterface_t ***list, uint32_t *n) {
    static QnnInterface_t mine;
    static const QnnInterface_t *all[] = {&mine};
    const QnnInterface_t **found = NULL;
    void *lib = dlopen(getenv("QUERN_SPY_OF"), RTLD_NOW | RTLD_LOCAL);
    void *symbol = lib ? dlsym(lib, "QnnInterface_getProviders") : NULL;
    get_providers get;
    memcpy(&get, &symbol, sizeof get);
    if (!get || get(&found, n) != QNN_SUCCESS || !(to = fopen(getenv("QUERN_SPY"), "a")))
        return QNN_COMMON_ERROR_GENERAL;
    mine = *found[0];
    const char *minor = getenv("QUERN_SPY_MINOR");
    if (minor)
        mine.apiVersion.coreApiVersion.minor = (uint32_t)atoi(minor);
    real = mine.QNN_INTERFACE_VER_NAME;
    mine.QNN_INTERFACE_VER_NAME.deviceCreate = device_create;
    mine.QNN_INTERFACE_VER_NAME.contextSetConfig = context_set;
    mine.QNN_INTERFACE_VER_NAME.contextCreate = context_create;
    mine.QNN_INTERFACE_VER_NAME.contextCreateFromBinary = context_load;
    mine.QNN_INTERFACE_VER_NAME.contextCreateFromBinaryListAsync = context_list;
    mine.QNN_INTERFACE_VER_NAME.graphCreate = graph_create;
    mine.QNN_INTERFACE_VER_NAME.graphExecute = graph_execute;
    mine.QNN_INTERFACE_VER_NAME.memRegister = mem_register;
    mine.QNN_INTERFACE_VER_NAME.memDeRegister = mem_deregister;
    *list = all;
    *n = 1;
    return QNN_SUCCESS;
}
