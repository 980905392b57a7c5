// SPDX-License-Identifier: MIT
//
// What the ops of a DLC file were made from: the record "source.mapping" (docs/dlc.md), which is
// gathered while a model is imported, and read by those who show ops.
#ifndef QRN_TOOLS_QUERN_DLC_SOURCE_H
#define QRN_TOOLS_QUERN_DLC_SOURCE_H

#include "tools/quern/dlc.h"

typedef struct qt_sources {
    json_t *graphs; // [{"name": graph, "ops": [[op, name in the model, type in the model]]}]
    bool failed;    // out of memory
} qt_sources;

// A node was added (qc_client.node); the context is a qt_sources, at first cleared.
void qt_sources_note(void *sources, const qc_op *o);
void qt_sources_free(qt_sources *s);
// Replaces the bytes of a DLC file by those of one with the record. Nothing to do without sources.
// QT_EXIT_OK or another code after a message; `path` is what it calls the file.
int qt_sources_add(const qt_sources *s, const char *path, void **bytes, uint64_t *n_bytes);

// A node of the model.
typedef struct qt_node_source {
    const char *op, *name, *type;
} qt_node_source;
// Reads the record of a file; the texts live as long as `out`. A file without it is an error.
int qt_sources_read(const qt_dlc *d, qt_sources *out);
// The source of an op in any graph (graph: NULL) or in one; false: not known.
bool qt_source_of_op(const qt_sources *s, const char *graph, const char *op, qt_node_source *out);
// The first or last op that was made of a node of the model; NULL: none.
const char *qt_op_of_source(const qt_sources *s, const char *name, bool last);

#endif
