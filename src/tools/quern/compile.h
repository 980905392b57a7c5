// SPDX-License-Identifier: MIT
//
// quern compile, for commands that end with it.
#ifndef QRN_TOOLS_QUERN_COMPILE_H
#define QRN_TOOLS_QUERN_COMPILE_H

#include "tools/quern/flags.h"
#include "tools/quern/inputs.h"
#include "tools/quern/session.h"

typedef struct qt_compile_options {
    qt_backend_options backend;
    qt_input_options in; // only dims
    const char *output;
    const char *formats;         // file of data formats, or NULL
    const char *encodings;       // file of encodings for a float model, or NULL
    qt_list names;               // of graphs; those of the files for the rest
    qt_list updatable, adapters; // of constants; files with other values for them
    uint64_t vtcm_mb, level, hvx_threads, cores;
    bool dlbc, json;
    bool silent; // no report: the caller has one
} qt_compile_options;

// compile_usage.c: what is written, a DLC file or a binary for the HTP (else: for another backend),
// and whether the options go together. QT_EXIT_OK, or QT_EXIT_USAGE after a message.
bool qt_compile_to_dlc(const qt_compile_options *o);
bool qt_compile_to_htp(const qt_compile_options *o);
int qt_compile_usage(const qt_compile_options *o, const qt_list *models);

// Compiles models to one context binary and prints a report. QT_EXIT_OK or another code after a
// message.
int qt_compile_models(const qt_compile_options *options, const qt_list *models);

#endif
