// SPDX-License-Identifier: MIT
//
// The file behind --config: {"features": {key: true or false}}.
#include "tools/profile_viewer/optrace.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <string.h>

#define AT(field)                                                                                  \
    { #field, offsetof(qv_features, field) }

static const struct {
    const char *key;
    size_t offset;
} keys[] = {AT(enable_input_output_flow_events),
            AT(enable_sequencer_flow_events),
            AT(htp_json),
            AT(runtrace),
            AT(memory_info),
            AT(traceback),
            AT(qhas_schema),
            AT(qhas_json),
            AT(gzip)};
enum { N_KEYS = sizeof keys / sizeof keys[0] };

const qv_features qv_default_features = {
    .htp_json = true, .runtrace = true, .memory_info = true, .traceback = true};

static int unknown_key(const char *path, const char *key) {
    char known[256] = "";
    for (size_t i = 0; i < N_KEYS; i++) {
        strncat(known, i ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, keys[i].key, sizeof known - strlen(known) - 1);
    }
    qt_error("%s: features.%s: no such feature; known are %s", path, key, known);
    return QT_EXIT_INPUT;
}

static int read_feature(const char *path, const char *key, const json_t *value, qv_features *out) {
    for (size_t i = 0; i < N_KEYS; i++)
        if (strcmp(keys[i].key, key) == 0) {
            if (!json_is_boolean(value)) {
                qt_error("%s: features.%s: neither true nor false", path, key);
                return QT_EXIT_INPUT;
            }
            *(bool *)((char *)out + keys[i].offset) = json_is_true(value);
            return QT_EXIT_OK;
        }
    return unknown_key(path, key);
}

static int read_root(const char *path, json_t *root, qv_features *out) {
    const char *key;
    json_t *value, *features = json_object_get(root, "features");
    int code = QT_EXIT_OK;
    json_object_foreach(root, key, value) if (strcmp(key, "features") != 0) {
        qt_error("%s: %s: no such key; known is features", path, key);
        return QT_EXIT_INPUT;
    }
    if (!json_is_object(features)) {
        qt_error("%s: not an object with the key features, which is one too", path);
        return QT_EXIT_INPUT;
    }
    json_object_foreach(features, key, value) if (code == QT_EXIT_OK) code =
        read_feature(path, key, value, out);
    return code;
}

int qv_read_features(const char *path, qv_features *out) {
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        if (error.line > 0)
            qt_error("%s:%d: %s", path, error.line, error.text);
        else
            qt_error("%s: %s", path, error.text);
        return QT_EXIT_INPUT;
    }
    int code = read_root(path, root, out);
    json_decref(root);
    return code;
}
