// SPDX-License-Identifier: MIT
//
// Op packages as folders. A package appears whole or not at all.
#ifndef QRN_TOOLS_OP_PACKAGE_GENERATOR_PACKAGE_WRITE_H
#define QRN_TOOLS_OP_PACKAGE_GENERATOR_PACKAGE_WRITE_H

#include "tools/op_package_generator/opdef.h"

typedef struct qg_write_options {
    const char *folder; // that packages are written into; it is made when it is not there
    bool force;         // replaces packages that are there
    bool cmake;         // CMakeLists.txt beside the Makefile
    bool list;          // says which files it writes
} qg_write_options;

// False after a message.
bool qg_package_write(const qg_package *p, const qg_write_options *opt);

#endif
