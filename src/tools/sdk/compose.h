// SPDX-License-Identifier: MIT
//
// What a program changes while others build graphs: model libraries, DLCs and importers all call
// graphCreate and tensorCreateGraphTensor of a function table, and get one in which these two add
// the options of the graph, and make outputs of the tensors that the user wants to see. One model
// is composed at a time in a process: the API's functions have no context.
#ifndef QRN_TOOLS_SDK_COMPOSE_H
#define QRN_TOOLS_SDK_COMPOSE_H

#include "tools/quern/data_format.h"
#include "tools/sdk/extension_library.h"
#include "tools/sdk/run_config.h"
#include "tools/sdk/words.h"

// Rules; zeroed but for the client is fine.
typedef struct qs_rules {
    const qs_run_config *config;   // (optional)
    const qs_extension *extension; // (optional)
    const qs_selections *outputs;  // (optional) intermediate tensors to show
    bool all_outputs;              // every intermediate tensor
    bool mem_handles;              // inputs and outputs are declared as memory handles
    qt_data_formats *formats;      // (optional) already in use by the client
    QnnProfile_Level_t profile;    // of handles that are bound to graphs; 0: none
    qs_real profiling_delay_s;     // for graphs that the file does not name
    qs_int profiling_runs;         // the same
} qs_rules;

// A graph that was created.
typedef struct qs_composed {
    Qnn_GraphHandle_t handle;
    qc_graph *seen;              // its application tensors, in order of creation
    Qnn_ProfileHandle_t profile; // bound to it, or NULL
    double delay_s;              // before it is enabled
    struct qs_composed *next;
} qs_composed;

// Between begin and end the client's table has the rules in it. Graphs that are created meanwhile
// are listed in *out, newest first; free them with qs_composed_free.
void qs_compose_begin(qc_client *c, const qs_rules *rules, qs_composed **out);
void qs_compose_end(qc_client *c);
void qs_composed_free(qc_client *c, qs_composed *list);

// Has every tensor of --set_output_tensors been found? QT_EXIT_OK or another code after a message.
int qs_selections_check(const qs_selections *s, qc_graph *const *graphs, size_t n);

#endif
