// SPDX-License-Identifier: MIT
//
// What the files of an op package say about its ops, as text for the templates.
#ifndef QRN_TOOLS_OP_PACKAGE_GENERATOR_OP_TEXT_H
#define QRN_TOOLS_OP_PACKAGE_GENERATOR_OP_TEXT_H

#include "tools/op_package_generator/opdef.h"

#include <stdio.h>

// A word of the templates, @NAME@, and what writes its text. `op` is NULL in files of a package.
typedef struct qg_word {
    const char *name;
    void (*write)(FILE *to, const qg_package *p, const qg_op *op);
} qg_word;

extern const qg_word qg_words[]; // ends with a row without a name

// A template with its words replaced.
void qg_fill(FILE *to, const char *text, const qg_package *p, const qg_op *op);

#endif
