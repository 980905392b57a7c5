// SPDX-License-Identifier: MIT
//
// quantization_overrides: the text of a JSON file with encodings, as a DLC keeps it.
#ifndef QRN_TOOLS_CONVERTER_OVERRIDES_H
#define QRN_TOOLS_CONVERTER_OVERRIDES_H

#include "tools/converter/edit.h"

typedef struct cv_overrides {
    char *text;
    size_t bytes; // 0: none
} cv_overrides;

// Reads a file, checks it (quantizer/encodings_json.h) and says how many encodings it has for the
// model.
int cv_overrides_read(const cv_model *m, const char *path, cv_overrides *out);
void cv_overrides_free(cv_overrides *o); // a cleared one is fine

#endif
