// SPDX-License-Identifier: MIT
//
// quern run of an ExecuTorch program.
#ifndef QRN_TOOLS_QUERN_RUN_PTE_H
#define QRN_TOOLS_QUERN_RUN_PTE_H

#include "frontend/executorch/method.h"
#include "tools/quern/inputs.h"
#include "tools/quern/report.h"
#include "tools/quern/session.h"

typedef struct qt_pte_options {
    const qt_input_options *in;
    const qt_backend_options *backend;
    const char *outputs, *output_dir; // folders, or NULL
    bool raw;                         // files, instead of .npy
    bool json;
    size_t top;
    const char *labels; // file, or NULL
} qt_pte_options;

bool qt_is_pte(const char *path); // by its first bytes
// What the flags say of a backend. QT_EXIT_OK or another code after a message.
int qt_pte_options_of(const qt_backend_options *backend, et_options *out);
// Runs the method that --graph names, or the first; files of the command line begin at 1. The exit
// code.
int qt_run_pte(const char *path, const qt_pte_options *opt, const qt_list *args);

#endif
