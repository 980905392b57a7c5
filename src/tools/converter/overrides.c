// SPDX-License-Identifier: MIT
#include "tools/converter/overrides.h"

#include "base/file.h"
#include "quantizer/encodings_json.h"
#include "tools/converter/graph_edit.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>

static int wrong(void) {
    qt_error("%s", qrn_message());
    return QT_EXIT_INPUT;
}

// Names are those of the model; others are skipped by whoever applies the encodings.
static void report(const cv_model *m, const char *path, const qz_encodings *e) {
    const char *first = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n; i++)
        if (!cv_has_value(m->model->graph, e->items[i].name)) {
            first = first ? first : e->items[i].name;
            n++;
        }
    if (n)
        qt_warn("%s: %u of %u names are not tensors of %s and are skipped, such as '%s'", path, n,
                e->n, m->path, first);
    qt_inform("Processed %u quantization encodings", e->n - n);
}

int cv_overrides_read(const cv_model *m, const char *path, cv_overrides *out) {
    qrn_file f = {0};
    qz_encodings *e = NULL;
    if (qrn_file_map(path, &f) != QRN_OK)
        return wrong();
    qrn_status s = qz_encodings_parse(path, f.size ? f.data : "", f.size, &e);
    *out = (cv_overrides){s == QRN_OK ? malloc(f.size + 1) : NULL, f.size};
    if (out->text)
        memcpy(out->text, f.data, f.size);
    qrn_file_unmap(&f);
    if (s == QRN_OK)
        report(m, path, e);
    qz_encodings_free(e);
    if (s != QRN_OK)
        return wrong();
    return out->text ? QT_EXIT_OK : cv_no_memory();
}

void cv_overrides_free(cv_overrides *o) {
    free(o->text);
    *o = (cv_overrides){0};
}
