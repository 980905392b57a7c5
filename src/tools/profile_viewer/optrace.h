// SPDX-License-Identifier: MIT
//
// What the optrace reader makes of executions: a trace, the HTP analysis summary (QHAS) as a page
// and as JSON, and the graph for Netron.
#ifndef QRN_TOOLS_PROFILE_VIEWER_OPTRACE_H
#define QRN_TOOLS_PROFILE_VIEWER_OPTRACE_H

#include "tools/profile_viewer/htp_run.h"
#include "tools/quern/dlc_source.h"
#include "tools/quern/profile_log.h"

#include <jansson.h>

// Keys of "features" in the file behind --config (TOOL-OPT, 12.8).
typedef struct qv_features {
    bool enable_input_output_flow_events, enable_sequencer_flow_events, htp_json, runtrace,
        memory_info, traceback, qhas_schema, qhas_json, gzip;
} qv_features;

extern const qv_features qv_default_features;
// QT_EXIT_OK, or another code after a message that names the file and the key.
int qv_read_features(const char *path, qv_features *out);

// An execution: what the profile says of it, and what its op trace does.
typedef struct qv_execution {
    const qt_call *call;
    qv_run run;
} qv_execution;

// JSON values, or NULL when memory is short.
json_t *qv_trace_json(const qv_execution *list, uint32_t n, const qv_features *f);
json_t *qv_qhas_json(qrn_arena *a, const qv_execution *x);
json_t *qv_graph_json(qrn_arena *a, const qv_run *r);

typedef struct qv_optrace_options {
    const char *output, *schematic;
    qv_zoom zoom;
    const qt_sources *sources; // of the ops; used with the feature traceback
    qv_features features;
} qv_optrace_options;

// Writes all files; QT_EXIT_OK or another code after a message.
int qv_write_optrace(const qt_profile *p, const qv_optrace_options *o);
// A JSON value, which is freed, into X_ending for the output X.json.
bool qv_write_beside(json_t *value, const char *output, const char *ending);

#endif
