// SPDX-License-Identifier: MIT
//
// What the SDK's programs run: model libraries, DLCs and (Quern's own) ONNX and .tflite files,
// composed into one context, or context binaries, one context each.
#ifndef QRN_TOOLS_SDK_MODEL_SOURCE_H
#define QRN_TOOLS_SDK_MODEL_SOURCE_H

#include "frontend/onnx/reader/model.h"
#include "tools/quern/binary.h"
#include "tools/sdk/compose.h"

#include "Quern/model.h"

typedef struct qs_graph {
    qc_graph *g;
    const char *path; // of the file that it is from
    Qnn_ContextHandle_t context;
    Qnn_ProfileHandle_t profile; // bound to it, or NULL
    double profiling_delay_s;
} qs_graph;

// A file that graphs came from; kept until they are gone.
typedef struct qs_part {
    const char *path;
    void *lib; // a model library or that of DLCs, its graphs and how they are freed
    ModelError_t (*free_infos)(GraphInfo_t ***infos, uint32_t n);
    GraphInfo_t **infos;
    uint32_t n_infos;
    ox_model *model;             // an ONNX or .tflite file
    qt_binary binary;            // a context binary ...
    Qnn_ContextHandle_t context; // ... and its context
} qs_part;

typedef struct qs_model {
    qc_client *client;
    qs_graph *graphs;
    uint32_t n_graphs;
    qs_part *parts;
    size_t n_parts;
    qs_composed *composed;
} qs_model;

// What to compose.
typedef struct qs_sources {
    const qs_words *models;
    const char *prefix; // of symbols in model libraries; NULL: QnnModel
    const qs_words *dlcs;
} qs_sources;

// Is it libQnnModelDlc.so, which composes the files of --dlc_path?
bool qs_is_dlc_library(const char *path);

// Makes the context and composes all graphs in it, in order. The graphs are not finalized. The
// model is to be closed after failures, too. QT_EXIT_OK or another code after a message.
int qs_model_compose(qc_client *c, const qs_sources *from, const qs_rules *rules,
                     const QnnContext_Config_t **configs, qs_model *out);
int qs_model_finalize(qs_model *m, uint32_t graph, Qnn_ProfileHandle_t profile);

// How binaries are loaded.
typedef struct qs_loading {
    const qs_run_config *config;
    const qs_extension *extension;
    bool map;                    // map files instead of reading them
    bool validate;               // contextValidateBinary before
    uint64_t timeout_us;         // 0: none
    Qnn_ProfileHandle_t profile; // (optional)
} qs_loading;

// Makes one context of each binary and retrieves its graphs.
int qs_model_load(qc_client *c, const qs_words *binaries, const qs_loading *how, qs_model *out);

// Frees the contexts; the profile may be NULL. QT_EXIT_OK or another code after a message.
int qs_model_free_contexts(qs_model *m, Qnn_ProfileHandle_t profile);
void qs_model_close(qs_model *m); // a cleared one is fine; before the client is closed

// For the two files behind this header.
qs_part *qs_model_add_part(qs_model *m, const char *path);
int qs_model_add_graph(qs_model *m, const char *path, qc_graph *g, Qnn_ContextHandle_t context);

#endif
