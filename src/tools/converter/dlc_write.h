// SPDX-License-Identifier: MIT
//
// A model as a DLC file: imported into the IR library, which checks every op against the op table,
// and written with the records that a converter keeps. Nothing is left under the file's name when
// something fails.
#ifndef QRN_TOOLS_CONVERTER_DLC_WRITE_H
#define QRN_TOOLS_CONVERTER_DLC_WRITE_H

#include "tools/converter/edit.h"
#include "tools/converter/retype.h"
#include "tools/quern/dlc_add.h"

typedef struct cv_dlc {
    const char *path;       // to write; NULL: only look (dry_run)
    const char *graph_name; // an identifier
    const char *target;     // library that must support every op: "htp"; NULL: none
    uint32_t soc;           // of the HTP; 0: none
    bool like_htp;          // ops are chosen as for the HTP: 4-bit weights lie in bytes
    const qt_list *op_libs;
    const char *package; // (optional) recorded instead of QNN's own
    cv_retype *retype;   // (optional) floats of another width
    const char *dry_run; // info or debug: say what is not supported, write nothing
    bool trace, debug;   // keep the source's nodes; list the ops
    const qt_dlc_new *records;
    uint32_t n_records;
    uint32_t n_nodes; // of the graph, set on success
} cv_dlc;

int cv_dlc_write(cv_model *m, cv_dlc *d);
// Sets the target by --target_backend and --target_soc_model, which may be NULL.
int cv_dlc_target(cv_dlc *d, const char *backend, const char *soc);

// "net" of "some/net.onnx" as an identifier of C; NULL when out of memory.
char *cv_graph_name(qrn_arena *a, const char *path);
// A name as a name of C: other characters become _, and a digit at the start gets one before it.
char *cv_identifier(qrn_arena *a, const char *name);
// `path` without one of the endings, with another one behind.
char *cv_path_with(qrn_arena *a, const char *path, const char *const *endings, const char *ending);
// A text of a file of less than 1 MiB (NULL path: NULL).
int cv_read_text(qrn_arena *a, const char *path, const char **out);
// Prints the nodes that `c` does not support, with "debug" the others too, and their number.
int cv_dry_run(cv_model *m, qc_client *c, const char *how);

#endif
