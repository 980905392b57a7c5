// SPDX-License-Identifier: MIT
//
// DLC files for the programs: opened by the System library, whose records say what is in them
// (docs/dlc.md).
#ifndef QRN_TOOLS_QUERN_DLC_H
#define QRN_TOOLS_QUERN_DLC_H

#include "frontend/client/client.h"

#include <jansson.h>

typedef struct qt_dlc {
    const char *path;
    qc_system *system;
    QnnSystemDlc_Handle_t handle;
    json_t *metadata, *topology; // texts of the records; topology is NULL without graphs
    uint64_t n_bytes;            // of the file
} qt_dlc;

// By the end of its name, or by its first bytes where that says nothing.
bool qt_is_dlc(const char *path);
// QT_EXIT_OK or another code after a message.
int qt_dlc_open(const char *path, qt_dlc *out);
// The same without the texts, for programs that read records of their own.
int qt_dlc_open_records(const char *path, qt_dlc *out);
void qt_dlc_close(qt_dlc *d); // a cleared one is fine
// The bytes of a record, which live as long as the file is open; NULL: there is none.
const uint8_t *qt_dlc_record(const qt_dlc *d, const char *name, uint64_t *n_bytes);

// The graph of that name (NULL: the only one) with its inputs and outputs, which live as long as
// the file is open. QT_EXIT_OK or another code after a message.
int qt_dlc_graph(const qt_dlc *d, const char *name, QnnSystemContext_GraphInfoV3_t *out);

// "[1, 8, 8, 3]" of a tensor of the topology.
const char *qt_dlc_shape(const json_t *tensor, char *buf, size_t size);
// Bytes of constants that the tensors of a graph name; equal data that is stored once counts once.
uint64_t qt_dlc_weight_bytes(const json_t *graph);

// quern show FILE and qairt-dlc-info (dlc_show.c). `all`: with tensors and nodes.
int qt_dlc_show(const qt_dlc *d, bool json, bool all);
json_t *qt_dlc_describe(const qt_dlc *d);

#endif
