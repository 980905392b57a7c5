// SPDX-License-Identifier: MIT
//
// What the files of the model reader share; nothing else includes it.
#ifndef QRN_FRONTEND_ONNX_READER_H
#define QRN_FRONTEND_ONNX_READER_H

#include "base/file.h"
#include "frontend/onnx/reader/model.h"
#include "frontend/onnx/reader/wire.h"

typedef struct ox_reader {
    ox_model *model;
    const uint8_t *base; // start of the model's bytes
    uint32_t depth;      // of nested graphs
} ox_reader;

// A file that the model holds mapped.
typedef struct ox_mapping {
    struct ox_mapping *next;
    const char *path;
    qrn_file file;
} ox_mapping;

qrn_status ox_read_text(ox_reader *r, const ox_wire *w, const char **out);

// standard.c: fails for a model that breaks a rule which no reader of one part of it can see.
qrn_status ox_check_standard(const ox_model *m);

// tensor_read.c
qrn_status ox_read_tensor(ox_reader *r, ox_bytes message, ox_tensor *t);
qrn_status ox_read_info(ox_reader *r, ox_bytes message, ox_info *info);

// external.c: where the data of a tensor lies.
typedef struct ox_external {
    const char *location; // relative to the model's folder; NULL: not given
    uint64_t offset, length;
    bool has_length; // else up to the end of the tensor
} ox_external;

// One key and its value.
qrn_status ox_read_external_entry(ox_reader *r, ox_bytes message, ox_external *x);
// Points t->data into the mapped file; t->bytes is set.
qrn_status ox_read_external(ox_reader *r, const ox_external *x, ox_tensor *t);
// format.c: the message of the failure behind the name of the file, or what the file is instead.
qrn_status ox_fail_file(const char *path, qrn_status s, const void *data, size_t size);
// An empty model.
qrn_status ox_model_new(const char *path, ox_model **out);

// The mapping of a file, made at first use; dies with the model.
qrn_status ox_map_file(ox_model *m, const char *path, const qrn_file **out);
void ox_unmap_files(ox_model *m);

#endif
