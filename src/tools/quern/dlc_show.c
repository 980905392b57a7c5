// SPDX-License-Identifier: MIT
//
// What is in a DLC file, as text or JSON.
#include "tools/quern/dlc.h"

#include "tools/quern/report.h"

#include <string.h>

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

const char *qt_dlc_shape(const json_t *tensor, char *buf, size_t size) {
    const json_t *dims = json_object_get(tensor, "dims");
    size_t at = (size_t)snprintf(buf, size, "[");
    for (size_t i = 0; i < json_array_size(dims) && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%lld", i ? ", " : "",
                               (long long)json_integer_value(json_array_get(dims, i)));
    if (at < size)
        snprintf(buf + at, size - at, "]");
    return buf;
}

uint64_t qt_dlc_weight_bytes(const json_t *graph) {
    const json_t *tensors = json_object_get(graph, "tensors"), *t;
    uint64_t bytes = 0, behind = 0;
    size_t i;
    json_array_foreach(tensors, i, t) {
        const json_t *data = json_object_get(t, "data");
        uint64_t at = (uint64_t)json_integer_value(json_array_get(data, 0));
        uint64_t n = (uint64_t)json_integer_value(json_array_get(data, 1));
        if (data && (at >= behind || behind == 0)) { // what was there before lies before
            bytes += n;
            behind = at + n;
        }
    }
    return bytes;
}

// The encoding of a tensor in a few words; "" for none.
static const char *encoding_text(const json_t *tensor, char *buf, size_t size) {
    const json_t *e = json_object_get(tensor, "encoding");
    const char *kind = text_of(e, "kind");
    long long bits = json_integer_value(json_object_get(e, "bits"));
    if (!e)
        snprintf(buf, size, "%s", "");
    else if (strcmp(kind, "TENSOR") == 0)
        snprintf(buf, size, "  %lld bits, scale %.9g, offset %lld", bits,
                 json_number_value(json_object_get(e, "scale")),
                 (long long)json_integer_value(json_object_get(e, "offset")));
    else if (strcmp(kind, "AXIS") == 0)
        snprintf(buf, size, "  %lld bits, %lld scales by axis %lld", bits,
                 (long long)json_integer_value(json_object_get(e, "count")),
                 (long long)json_integer_value(json_object_get(e, "axis")));
    else
        snprintf(buf, size, "  %lld bits, %lld scales by block", bits,
                 (long long)json_integer_value(json_object_get(e, "count")));
    return buf;
}

static void print_tensor(const char *what, const json_t *t) {
    char shape[160], encoding[120], line[600];
    snprintf(line, sizeof line, "  %-7s %s  %s %s%s", what, text_of(t, "name"),
             text_of(t, "data_type"), qt_dlc_shape(t, shape, sizeof shape),
             encoding_text(t, encoding, sizeof encoding));
    qt_print("%s\n", line);
}

static void print_ports(const json_t *tensors, const char *type, const char *what) {
    const json_t *t;
    size_t i;
    json_array_foreach(tensors, i, t) if (strcmp(text_of(t, "type"), type) == 0)
        print_tensor(what, t);
}

static void print_nodes(const json_t *graph) {
    const json_t *nodes = json_object_get(graph, "nodes"), *n;
    size_t i;
    qt_print("  nodes:\n");
    json_array_foreach(nodes, i, n) {
        bool own = strcmp(text_of(n, "package"), "qti.aisw") == 0;
        qt_print("  %5zu %s%s%s  %s\n", i, own ? "" : text_of(n, "package"),
                 own ? "" : "::", text_of(n, "type"), text_of(n, "name"));
    }
}

static void print_graph(const json_t *graph, bool all) {
    const json_t *tensors = json_object_get(graph, "tensors"), *t;
    char size[32];
    size_t i;
    qt_print("graph %s%s%s  %zu ops, %zu tensors, %s of constants\n", qt_style_on(QT_BOLD),
             text_of(graph, "name"), qt_style_off(),
             json_array_size(json_object_get(graph, "nodes")), json_array_size(tensors),
             qt_bytes_text((double)qt_dlc_weight_bytes(graph), size, sizeof size));
    print_ports(tensors, "APP_WRITE", "input");
    print_ports(tensors, "APP_READ", "output");
    if (!all)
        return;
    qt_print("  tensors:\n");
    json_array_foreach(tensors, i, t) print_tensor(text_of(t, "type"), t);
    print_nodes(graph);
}

// Ports as the description has them.
static json_t *ports_json(const json_t *tensors, const char *type) {
    json_t *out = json_array(), *t;
    size_t i;
    json_array_foreach((json_t *)tensors, i, t) if (strcmp(text_of(t, "type"), type) == 0)
        json_array_append_new(out, json_deep_copy(t));
    return out;
}

json_t *qt_dlc_describe(const qt_dlc *d) {
    json_t *graphs = json_array();
    const json_t *list = json_object_get(d->topology, "graphs"), *g;
    size_t i;
    json_array_foreach(list, i, g) {
        const json_t *tensors = json_object_get(g, "tensors");
        json_array_append_new(
            graphs, json_pack("{s:O,s:I,s:I,s:I,s:o,s:o}", "name", json_object_get(g, "name"),
                              "ops", (json_int_t)json_array_size(json_object_get(g, "nodes")),
                              "tensors", (json_int_t)json_array_size(tensors), "constant_bytes",
                              (json_int_t)qt_dlc_weight_bytes(g), "inputs",
                              ports_json(tensors, "APP_WRITE"), "outputs",
                              ports_json(tensors, "APP_READ")));
    }
    return json_pack("{s:o,s:I,s:O,s:O,s:O,s:o}", "file", qt_json_text(d->path), "bytes",
                     (json_int_t)d->n_bytes, "version", json_object_get(d->metadata, "version"),
                     "producer", json_object_get(d->metadata, "producer"), "records",
                     json_object_get(d->metadata, "records"), "graphs", graphs);
}

int qt_dlc_show(const qt_dlc *d, bool json, bool all) {
    const json_t *records = json_object_get(d->metadata, "records"), *r;
    const json_t *version = json_object_get(d->metadata, "version");
    const json_t *graphs = json_object_get(d->topology, "graphs"), *g;
    char size[32];
    size_t i;
    if (json)
        return qt_print_json(qt_dlc_describe(d));
    qt_print("%s%s%s  DLC file, version %lld.%lld, %s, by %s\n", qt_style_on(QT_BOLD), d->path,
             qt_style_off(), (long long)json_integer_value(json_array_get(version, 0)),
             (long long)json_integer_value(json_array_get(version, 1)),
             qt_bytes_text((double)d->n_bytes, size, sizeof size),
             text_of(d->metadata, "producer"));
    json_array_foreach(records, i, r) {
        uint64_t n = 0;
        qt_dlc_record(d, text_of(r, "name"), &n);
        qt_print("  record %s  type %lld, %s\n", text_of(r, "name"),
                 (long long)json_integer_value(json_object_get(r, "type")),
                 qt_bytes_text((double)n, size, sizeof size));
    }
    json_array_foreach(graphs, i, g) print_graph(g, all);
    return qt_close_stdout();
}
