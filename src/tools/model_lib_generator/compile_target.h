// SPDX-License-Identifier: MIT
//
// One library: a compiler for its target, and what it is given.
#ifndef QRN_TOOLS_MODEL_LIB_GENERATOR_COMPILE_TARGET_H
#define QRN_TOOLS_MODEL_LIB_GENERATOR_COMPILE_TARGET_H

#include <limits.h>
#include <stdbool.h>

typedef struct ml_job {
    const char *source;     // the model's .cpp
    const char *data;       // its .bin, or NULL
    const char *name;       // of the library, lib<name>.so
    const char *folder;     // for <target>/lib<name>.so
    char include[PATH_MAX]; // folder that has QNN and Quern
    bool debug;             // says what is run
} ml_job;

// The target of this machine.
const char *ml_host_target(void);
// The folder of the headers: that of QNN_SDK_ROOT, or the one beside this program's. False after a
// message.
bool ml_find_headers(ml_job *j);
// Builds the library for a target. QT_EXIT_OK or another code after a message.
int ml_compile(const ml_job *j, const char *target);

#endif
