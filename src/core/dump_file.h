// SPDX-License-Identifier: MIT
//
// The files of a dump: folders, arrays in NumPy's format, and the words of index.json.
#ifndef QRN_CORE_DUMP_FILE_H
#define QRN_CORE_DUMP_FILE_H

#include "runtime/plan.h"

#include <stdio.h>

// Makes a folder and those above it, then a folder for the graph in it and a new one for the
// execution in that; its descriptor, or -1 with errno. *run is its number, from 1.
int qrn_dump_folder(const char *root, const char *graph, uint32_t *run);

// A name that every file system accepts: number, letters and digits of `text`, ending.
#define QRN_DUMP_NAME_MAX 128
void qrn_dump_name(char *out, uint32_t number, const char *text);

// Writes the elements of a dense view as they are stored, but for types that NumPy lacks: 4-bit
// values one to a byte, bf16 as float. False with errno; nothing is left then.
bool qrn_dump_array(int folder, const char *name, const qrn_view *v);

// "type", "shape" and, if quantized, "encoding" of a view: members of a JSON object, a comma in
// front of each.
void qrn_dump_describe(FILE *to, const qrn_view *v);

#endif
