// SPDX-License-Identifier: MIT
#include "tools/quern/quantize_overrides.h"

#include "quantizer/calibrate.h"
#include "tools/quern/commands.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

#include <stdlib.h>
#include <string.h>

static int apply_file(const char *path, qz_graph *g, const char *model, qz_encodings **list) {
    qz_overridden found;
    if (qz_encodings_read(path, list) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_REFUSED;
    }
    if (qz_override_encodings(g, *list, &found) != QRN_OK)
        return qt_failed(model, QT_EXIT_REFUSED);
    if (found.unknown && !found.n_used) {
        qt_error("%s: none of the %u tensors of %s is in the model, not even '%s'", model,
                 (*list)->n, path, found.unknown->name);
        return QT_EXIT_REFUSED;
    }
    if (found.unknown)
        qt_warn("%s:%u: %s has no tensor '%s'; %u of %u encodings are for tensors that it does not "
                "have and are left out",
                path, found.unknown->line, model, found.unknown->name, found.n_unknown, (*list)->n);
    return QT_EXIT_OK;
}

// NAME=BITS; names may hold '=' themselves.
static int apply_bits(const char *text, qz_graph *g, const char *model) {
    const char *equals = strrchr(text, '=');
    char *end = NULL;
    unsigned long bits = equals ? strtoul(equals + 1, &end, 10) : 0;
    if (!equals || equals == text || end == equals + 1 || *end || bits > 32) {
        qt_error("--bits %s: a name and a number are expected, such as conv1_output=16", text);
        return QT_EXIT_USAGE;
    }
    char *name = strndup(text, (size_t)(equals - text));
    if (!name) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    qrn_status s = qz_override_bits(g, name, (unsigned)bits);
    free(name);
    if (s == QRN_OK)
        return QT_EXIT_OK;
    qt_error("--bits %s: %s (%s)", text, qrn_message(), model);
    return QT_EXIT_USAGE;
}

int qt_overrides_apply(const qt_override_options *o, qz_graph *g, const char *model,
                       qz_encodings **list) {
    int code = o->encodings ? apply_file(o->encodings, g, model, list) : QT_EXIT_OK;
    for (size_t i = 0; i < o->bits.n && code == QT_EXIT_OK; i++)
        code = apply_bits(o->bits.items[i], g, model);
    for (size_t i = 0; i < o->floats.n && code == QT_EXIT_OK; i++)
        if (qz_override_float(g, o->floats.items[i]) != QRN_OK) {
            qt_error("--float %s: %s (%s)", o->floats.items[i], qrn_message(), model);
            code = QT_EXIT_USAGE;
        }
    return code;
}

int qt_overrides_export(const qt_override_options *o, const qz_encodings *list) {
    const char *v = o->version ? o->version : "1.0.0";
    qz_encodings_version version = v[0] == '0'   ? QZ_ENCODINGS_0_6_1
                                   : v[0] == '1' ? QZ_ENCODINGS_1_0_0
                                                 : QZ_ENCODINGS_2_0_0;
    if (qz_encodings_write(list, version, o->exported) == QRN_OK)
        return QT_EXIT_OK;
    qt_error("%s", qrn_message());
    return QT_EXIT_FAILURE;
}

static int encode(qz_graph *g, const char *path, ox_writer *bytes) {
    const qz_scheme scheme = {.act_bits = 8, .weight_bits = 8, .only_given = true};
    const qz_run_options run = {.shapes_only = true};
    qz_written written;
    qz_run *r = NULL;
    qrn_status s = qz_run_open(g, &run, &r);
    qz_run_close(r);
    if (s == QRN_OK)
        s = qz_plan_shares(g, &scheme);
    if (s == QRN_OK)
        s = qz_plan_encodings(g, &scheme);
    if (s == QRN_OK)
        s = qz_write(g, &scheme, NULL, bytes, NULL, &written);
    return s == QRN_OK ? QT_EXIT_OK : qt_failed(path, QT_EXIT_REFUSED);
}

int qt_overrides_encode(const char *encodings, const char *path, ox_model **model,
                        ox_writer *bytes) {
    const qt_override_options o = {.encodings = encodings};
    qz_graph *g = NULL;
    qz_encodings *list = NULL;
    ox_model *made = NULL;
    int code =
        qz_graph_create(*model, &g) == QRN_OK ? QT_EXIT_OK : qt_failed(path, QT_EXIT_REFUSED);
    if (code == QT_EXIT_OK)
        code = qt_overrides_apply(&o, g, path, &list);
    if (code == QT_EXIT_OK)
        code = encode(g, path, bytes);
    if (code == QT_EXIT_OK && ox_model_parse(bytes->data, bytes->n, path, &made) != QRN_OK)
        code = qt_failed(path, QT_EXIT_FAILURE);
    qz_graph_destroy(g);
    qz_encodings_free(list);
    if (code == QT_EXIT_OK) {
        ox_model_close(*model);
        *model = made;
    }
    return code;
}
