// SPDX-License-Identifier: MIT
#include "tools/converter/overrides.h"

#include "base/file.h"
#include "base/json_read.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>

static int wrong(void) {
    qt_error("%s", qrn_message());
    return QT_EXIT_INPUT;
}

int cv_overrides_read(const cv_model *m, const char *path, cv_overrides *out) {
    qrn_file f = {0};
    qrn_json *top = NULL;
    if (qrn_file_map(path, &f) != QRN_OK)
        return wrong();
    qrn_status s = qrn_json_read(path, f.size ? f.data : "", f.size, m->arena, &top);
    *out = (cv_overrides){s == QRN_OK ? malloc(f.size + 1) : NULL, f.size};
    if (out->text)
        memcpy(out->text, f.data, f.size);
    qrn_file_unmap(&f);
    if (s != QRN_OK)
        return wrong();
    return out->text ? QT_EXIT_OK : cv_no_memory();
}

void cv_overrides_free(cv_overrides *o) {
    free(o->text);
    *o = (cv_overrides){0};
}
