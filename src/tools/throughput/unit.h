// SPDX-License-Identifier: MIT
//
// What threads run on: backends, one for each file of an extension, and contexts with graphs.
#ifndef QRN_TOOLS_THROUGHPUT_UNIT_H
#define QRN_TOOLS_THROUGHPUT_UNIT_H

#include "tools/sdk/prepare.h"
#include "tools/throughput/config.h"

// A backend, opened.
typedef struct tp_client {
    const tp_backend *backend;
    const char *config; // of its extension, or NULL
    qs_extension extension;
    qc_client *client;
} tp_client;

// A context with the graphs of one or more models.
typedef struct tp_unit {
    const tp_client *owner;
    qc_client view; // the backend's client, with a context of its own
    const tp_context *context;
    const tp_model *cached; // a binary has a context of its own; NULL: models are composed
    qs_run_config config;
    qs_model model;
} tp_unit;

// QT_EXIT_OK or another code after a message.
int tp_client_open(const tp_thread *t, const char *log_level, tp_client *out);
void tp_client_close(tp_client *c);

// Prepares or loads models, by their paths.
int tp_unit_open(const tp_client *c, const tp_context *context, const tp_model *cached,
                 const qs_words *paths, tp_unit *out);
void tp_unit_close(tp_unit *u); // a cleared one is fine

#endif
