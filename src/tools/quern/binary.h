// SPDX-License-Identifier: MIT
//
// Context binaries, on their own or inside a .tflite file: mapped, and described by the System
// library.
#ifndef QRN_TOOLS_QUERN_BINARY_H
#define QRN_TOOLS_QUERN_BINARY_H

#include "base/file.h"
#include "device/schedule.h"
#include "frontend/client/client.h"
#include "frontend/tflite/tflite.h"

typedef struct qt_binary {
    qrn_file file;
    const void *bytes; // of the binary: the file, or a part of it
    size_t n_bytes;
    void *copy;           // where that part had to be aligned
    ox_model *around;     // a .tflite file that LiteRT compiled; NULL: the file is the binary
    tl_compiled compiled; // what it says about it
    qc_system *system;
    const QnnSystemContext_BinaryInfoV3_t *info;
    double describe_ms; // that the System library took
} qt_binary;

// Is it meant to be one? By the end of its name, or by its bytes where that says nothing. A .tflite
// file is one when LiteRT compiled it.
bool qt_is_binary(const char *path);
// QT_EXIT_OK or another code after a message.
int qt_binary_open(const char *path, qt_binary *out);
// The same for bytes inside of another file, which are copied.
int qt_binary_copy(const char *path, const void *bytes, size_t n, qt_binary *out);
// Gives up `info`, which takes memory as a compiled graph does; the bytes stay.
void qt_binary_forget(qt_binary *b);
void qt_binary_close(qt_binary *b); // a cleared one is fine

// The graph of that name; the only one for NULL. QT_EXIT_OK or another code after a message.
int qt_binary_graph(const qt_binary *b, const char *path, const char *name,
                    const QnnSystemContext_GraphInfoV3_t **out);
// The schedule that came with a graph, into the arena; *known is false when none did. False after a
// message.
bool qt_binary_schedule(const QnnSystemContext_GraphInfoV3_t *g, qrn_arena *arena, qd_schedule *out,
                        bool *known);
// Architecture of the HTP it was made for; 0: none was chosen.
uint32_t qt_binary_arch(const qt_binary *b);

// The binary of a client's context, from malloc.
qrn_status qt_context_bytes(const qc_client *c, void **bytes, uint64_t *n);

// quern show FILE; `verify`: with the checksums of weights (show_binary.c). PUBLISHED is the JSON
// of qnn-context-binary-utility (show_published.h).
typedef enum qt_binary_form { QT_BINARY_TEXT, QT_BINARY_JSON, QT_BINARY_PUBLISHED } qt_binary_form;
int qt_show_binary(const char *path, qt_binary_form form, bool verify);

#endif
