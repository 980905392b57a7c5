// SPDX-License-Identifier: MIT
//
// Which device the GPU backend uses and in which precision. The API has no call for the device's
// name, so the same list is read with the code that the library chooses with.
#include "tools/quern/gpu.h"

#include "base/mem.h"

#include "GPU/QnnGpuCommon.h"
#include "GPU/QnnGpuGraph.h"

#include <stdio.h>
#include <string.h>

bool qt_is_gpu(const qc_client *c) { return c->backend_id == QNN_BACKEND_ID_GPU; }

const QnnGraph_Config_t **qt_gpu_configs(const char *precision) {
    static const struct {
        const char *word;
        QnnGpu_Precision_t precision;
    } words[] = {{"fp32", QNN_GPU_PRECISION_FP32},
                 {"fp16", QNN_GPU_PRECISION_FP16},
                 {"hybrid", QNN_GPU_PRECISION_HYBRID}};
    static QnnGpuGraph_CustomConfig_t custom;
    static const QnnGraph_Config_t config = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                             .customConfig = &custom};
    static const QnnGraph_Config_t *list[] = {&config, NULL};
    if (!precision)
        return NULL;
    custom = (QnnGpuGraph_CustomConfig_t){.precision = QNN_GPU_PRECISION_USER_PROVIDED};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(precision, words[i].word) == 0)
            custom.precision = words[i].precision;
    return list;
}

void qt_gpu_read(qt_gpu *g) {
    *g = (qt_gpu){.library = "", .chosen = UINT32_MAX};
    qrn_status s = qrn_cl_open();
    if (s == QRN_OK) {
        g->library = qrn_cl_path();
        s = qrn_cl_devices(&g->devices, &g->n);
    }
    if (s == QRN_OK)
        s = qrn_cl_choose(g->devices, g->n, NULL, &g->chosen);
    if (s != QRN_OK)
        snprintf(g->error, sizeof g->error, "%s", qrn_message());
}

void qt_gpu_free(qt_gpu *g) {
    qrn_free(g->devices);
    *g = (qt_gpu){.library = ""};
}

void qt_gpu_name(const qc_client *c, char *text, size_t size) {
    qt_gpu g;
    text[0] = '\0';
    if (!qt_is_gpu(c) || !c->is_quern)
        return;
    qt_gpu_read(&g);
    if (g.chosen < g.n) {
        const qrn_cl_device *d = &g.devices[g.chosen];
        snprintf(text, size, "%s (%s, driver %s)", d->name, d->platform_name, d->driver);
    }
    qt_gpu_free(&g);
}

void qt_gpu_json(const qc_client *c, const char *precision, json_t *report) {
    char device[256];
    if (!report || !qt_is_gpu(c))
        return;
    qt_gpu_name(c, device, sizeof device);
    json_object_set_new(report, "device", qt_json_text(device));
    json_object_set_new(report, "precision", json_string(precision));
}
