// SPDX-License-Identifier: MIT
//
// An ONNX model on its way through a converter: opened, then changed in memory as the flags say
// (shapes, outputs, what inputs and outputs are), then imported. The file stays as it is.
#ifndef QRN_TOOLS_CONVERTER_EDIT_H
#define QRN_TOOLS_CONVERTER_EDIT_H

#include "frontend/onnx/import.h"
#include "tools/quern/flags.h"

// What a program calls its flags, for messages.
typedef struct cv_words {
    const char *shape, *batch, *symbol, *type, *layout, *output, *io;
} cv_words;

typedef struct cv_model {
    const char *path; // as messages call it
    const cv_words *words;
    qrn_arena *arena; // of everything that is changed
    ox_model *model;  // its graph is a copy that may be changed
    ox_graph *own;    // the file's
    ox_options import;
} cv_model;

// Opens a model; other frameworks are rejected by the ending of the name. The caller fills path,
// words and arena. All functions: QT_EXIT_OK or another code after a message.
int cv_open(cv_model *m);
// The same of bytes that stay.
int cv_parse(cv_model *m, const void *data, size_t bytes);
void cv_close(cv_model *m); // one that is not open is fine

// "NAME\nDIMS", and the first dimension of every input (0: unchanged).
int cv_set_shapes(cv_model *m, const qt_list *shapes, uint64_t batch);
int cv_set_symbols(cv_model *m, const qt_list *symbols);     // "NAME\nN"
int cv_check_shapes(const cv_model *m);                      // all are known
int cv_check_types(const cv_model *m, const qt_list *types); // "NAME\nTYPE": as the model has it
// The outputs by name (none: the model's), without nodes that lead to none unless `keep`.
int cv_set_outputs(cv_model *m, const qt_list *outputs, bool keep);
// Custom ops: their packages, by XML definitions.
int cv_set_packages(cv_model *m, const qt_list *definitions);
// "LIB:PROVIDER": packages that validate them.
int cv_register(const qt_list *libraries, const qc_client *c, qrn_arena *a);

bool cv_has_quantizers(const ox_graph *g);
int cv_no_memory(void);
// "PATH: <message of the failure>" and the code.
int cv_failed(const cv_model *m, int code);

// A word of the list of a flag with two; NULL after a message.
char *cv_pair(const cv_model *m, const char *flag, const char *words, const char *value,
              char **first);

#endif
