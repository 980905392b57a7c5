// SPDX-License-Identifier: MIT
//
// Running one graph over an input list: files to tensors, executions one by one or several queued
// at a time, tensors to files.
#ifndef QRN_TOOLS_SDK_INFERENCE_H
#define QRN_TOOLS_SDK_INFERENCE_H

#include "tools/quern/inputs.h"
#include "tools/sdk/model_source.h"
#include "tools/sdk/output_tree.h"
#include "tools/sdk/profile_writer.h"

// How to run; the same for all graphs.
typedef struct qs_running {
    const char *root; // of the results
    bool floats_out, native_out;
    bool native_in;               // all inputs
    const qs_selections *natives; // or these
    uint32_t multiplier;          // of the batch dimension, at least 1
    uint64_t n_inferences;        // 0: the list once
    double duration_s;            // 0: no limit
    bool limit_outputs;           // write keep_outputs results alone
    uint64_t keep_outputs;
    uint32_t depth;        // executions in flight; 1: one after the other
    bool async;            // by graphExecuteAsync
    uint64_t timeout_us;   // of an execution; 0: none
    int64_t cached_sets;   // inputs that are kept in memory; -1: all
    uint64_t cached_bytes; // the same by size; 0: no limit
    qs_place place;
    const qt_rpcmem *shared;
    const qs_profile *profile;
    const qs_extension *extension;
} qs_running;

// A list bound to tensors of a graph, which are its inputs but for lists of expected outputs.
typedef struct qs_list {
    qt_inputs in;
    ox_info *infos;
} qs_list;

// QT_EXIT_OK or another code after a message.
int qs_list_open(const char *path, qc_tensor *const *tensors, uint32_t n, qs_list *out);
void qs_list_close(qs_list *l); // a cleared one is fine

// Runs the graph; adds its executions to *n_done. `folder` stands between the root and the results,
// unless it is NULL. QT_EXIT_OK or another code after a message.
int qs_run_graph(const qs_running *how, const qc_client *c, const qs_graph *g, const char *folder,
                 const qs_list *list, uint64_t *n_done);

#endif
