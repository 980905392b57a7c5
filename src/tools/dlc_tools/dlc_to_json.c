// SPDX-License-Identifier: MIT
//
// qairt-dlc-to-json: a DLC file as one JSON text. Scales and offsets stand where the file has
// places in records; constants of few bytes too, as hexadecimal digits.
#include "tools/dlc_tools/program.h"

#include <stdlib.h>
#include <string.h>

#define FEW_BYTES 256u // of a constant that is printed

typedef struct json_options {
    const char *input, *output;
    bool version;
} json_options;

#define AT(field) offsetof(json_options, field)

static const qt_flag flags[] = {
    {"input_dlc", 'i', QT_FILE, "FILE", AT(input), NULL, "the file"},
    {"output_json", 'o', QT_FILE, "FILE", AT(output), NULL, "where to write (default: print it)"},
    {"version", 0, QT_BOOL, NULL, AT(version), NULL, "print the version"},
    {0},
};

// Puts the values of a list in place of its place.
static void expand(const qt_dlc *d, json_t *object, const char *key, bool floats) {
    uint64_t n = 0;
    const uint8_t *data = qp_bytes(d, json_object_get(object, key), "model.encodings", &n);
    if (!data)
        return;
    json_t *list = json_array();
    for (uint64_t i = 0; i + 4 <= n; i += 4) {
        float f;
        int32_t v;
        memcpy(&f, data + i, 4);
        memcpy(&v, data + i, 4);
        json_array_append_new(list, floats ? qt_json_number((double)f) : json_integer(v));
    }
    json_object_set_new(object, key, list);
}

static void expand_encoding(const qt_dlc *d, json_t *e) {
    json_t *expansion = json_object_get(e, "expansion");
    expand(d, e, "scales", true);
    expand(d, e, "offsets", false);
    expand(d, e, "real_offsets", true);
    if (expansion) {
        expand(d, expansion, "scales", true);
        expand(d, expansion, "offsets", false);
    }
}

static void expand_data(const qt_dlc *d, json_t *tensor) {
    static const char digits[] = "0123456789abcdef";
    char text[2 * FEW_BYTES + 1];
    uint64_t n = 0;
    const uint8_t *data = qp_bytes(d, json_object_get(tensor, "data"), "model.weights", &n);
    if (!data || n > FEW_BYTES)
        return;
    for (uint64_t i = 0; i < n; i++) {
        text[2 * i] = digits[data[i] >> 4];
        text[2 * i + 1] = digits[data[i] & 15];
    }
    json_object_set_new(tensor, "bytes", json_stringn(text, 2 * n));
}

static void expand_tensors(const qt_dlc *d, json_t *list) {
    json_t *t;
    size_t i;
    json_array_foreach(list, i, t) {
        if (json_object_get(t, "encoding"))
            expand_encoding(d, json_object_get(t, "encoding"));
        expand_data(d, t);
    }
}

static json_t *as_json(const qt_dlc *d) {
    json_t *top = d->topology ? json_deep_copy(d->topology) : json_object();
    json_t *g;
    size_t i;
    expand_tensors(d, json_object_get(top, "tensors"));
    json_array_foreach(json_object_get(top, "graphs"), i, g)
        expand_tensors(d, json_object_get(g, "tensors"));
    json_object_set(top, "metadata", d->metadata);
    return top;
}

static int write_json(json_t *report, const char *path) {
    if (!path)
        return qt_print_json(report);
    char *text = report ? json_dumps(report, JSON_INDENT(2)) : NULL;
    json_decref(report);
    if (!text) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    const qt_part parts[] = {{text, strlen(text)}, {"\n", 1}};
    bool good = qt_write_file(path, parts, 2);
    free(text);
    return good ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

static int run(const void *options, const qt_list *args);

static const qt_command to_json = {
    .name = "qairt-dlc-to-json",
    .args = "-i FILE [-o FILE]",
    .max_args = 1,
    .alone = true,
    .about = "Writes a DLC file as JSON: the members that docs/dlc.md describes, with the values "
             "of scales and offsets and the bytes of small constants.\n",
    .groups = {{"options", flags}},
    .examples = {{"qairt-dlc-to-json -i net.dlc -o net.json", NULL}},
    .options_size = sizeof(json_options),
    .run = run,
};

static int run(const void *options, const qt_list *args) {
    const json_options *o = options;
    const char *path = o->input ? o->input : args->n ? args->items[0] : NULL;
    qt_dlc d;
    if (o->version)
        return qp_version(&to_json);
    if (!path) {
        qt_error("--input_dlc is needed");
        return QT_EXIT_USAGE;
    }
    int code = qt_dlc_open(path, &d);
    if (code != QT_EXIT_OK)
        return code;
    code = write_json(as_json(&d), o->output);
    qt_dlc_close(&d);
    return code;
}

const qt_command *const qt_commands[] = {&to_json, NULL};

int main(int argc, char **argv) {
    json_options options = {0};
    return qp_main(&to_json, &options, argc, argv);
}
