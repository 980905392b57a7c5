// SPDX-License-Identifier: MIT
//
// A converted model and its files.
#ifndef QRN_TOOLS_ONNX_CONVERTER_CONVERT_H
#define QRN_TOOLS_ONNX_CONVERTER_CONVERT_H

#include "tools/onnx_converter/record.h"

#include <jansson.h>
#include <stdio.h>

typedef struct mc_model {
    const mc_record *record;
    const char *graph_name;          // a name of C
    const char *prefix;              // of the entry points
    const char *command;             // that made it
    const char *copyright;           // text of the user, or NULL
    const char *cpp_name, *bin_name; // of the files, without folders; bin_name NULL: there is none
} mc_model;

void mc_write_cpp(FILE *to, const mc_model *m);
// The view for people and tools (docs/model-libraries.md); NULL when out of memory.
json_t *mc_make_json(const mc_model *m);

#endif
