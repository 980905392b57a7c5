// SPDX-License-Identifier: MIT
//
// quern show for GGUF files: keys of the metadata and tensors. The text shows the beginning of long
// values, JSON all of them.
#include "tools/quern/show_gguf.h"

#include "frontend/llm/gguf.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 60 // bytes of a value in the text
#define LIST_MAX 6  // elements of an array in the text

static json_t *json_string_of(const ql_gguf_value *v) {
    char *text = strndup((const char *)v->at, (size_t)v->n);
    json_t *o = text ? qt_json_text(text) : NULL;
    free(text);
    return o;
}

static json_t *json_value(const ql_gguf_value *v) {
    if (v->kind == QL_GGUF_STRING)
        return json_string_of(v);
    if (v->kind == QL_GGUF_BOOL)
        return json_boolean(ql_gguf_number(v) != 0);
    if (v->kind != QL_GGUF_ARRAY) {
        double x = ql_gguf_number(v);
        bool whole = v->kind != QL_GGUF_F32 && v->kind != QL_GGUF_F64 && fabs(x) < 0x1p53;
        return whole ? json_integer((json_int_t)x) : qt_json_number(x);
    }
    json_t *list = json_array();
    ql_gguf_value rest = *v, e;
    while (ql_gguf_next(&rest, &e))
        json_array_append_new(list, json_value(&e));
    return list;
}

static json_t *json_tensors(const ql_gguf *g) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const ql_gguf_tensor *t = &g->tensors[i];
        uint64_t dims[QL_GGUF_RANK]; // the outermost first, as everywhere else
        for (uint32_t k = 0; k < t->rank; k++)
            dims[k] = t->dims[t->rank - 1 - k];
        json_array_append_new(list, json_pack("{s:o,s:s,s:o,s:I}", "name", qt_json_text(t->name),
                                              "type", ql_gguf_type_name(t->type), "shape",
                                              qt_json_shape(t->rank, dims), "bytes",
                                              (json_int_t)t->bytes));
    }
    return list;
}

static int show_json(const ql_gguf *g) {
    json_t *keys = json_object();
    for (uint32_t i = 0; i < g->n_keys; i++) {
        json_t *name = qt_json_text(g->keys[i].name);
        if (name)
            json_object_set_new(keys, json_string_value(name), json_value(&g->keys[i].value));
        json_decref(name);
    }
    return qt_print_json(json_pack("{s:o,s:i,s:o,s:o}", "model", qt_json_text(g->path),
                                   "gguf_version", (int)g->version, "keys", keys, "tensors",
                                   json_tensors(g)));
}

static void print_value(const ql_gguf_value *v) {
    ql_gguf_value rest = *v, e;
    if (v->kind == QL_GGUF_STRING) {
        char text[TEXT_MAX + 1];
        size_t n = v->n < TEXT_MAX ? (size_t)v->n : TEXT_MAX;
        memcpy(text, v->at, n);
        text[n] = 0;
        qt_print("\"%s\"%s", text, v->n > TEXT_MAX ? "..." : "");
        return;
    }
    if (v->kind == QL_GGUF_BOOL) {
        qt_print("%s", ql_gguf_number(v) != 0 ? "true" : "false");
        return;
    }
    if (v->kind != QL_GGUF_ARRAY) {
        qt_print("%.9g", ql_gguf_number(v));
        return;
    }
    qt_print("%llu x %s [", (unsigned long long)v->n, ql_gguf_kind_name(v->element));
    for (int i = 0; i < LIST_MAX && ql_gguf_next(&rest, &e); i++) {
        qt_print(i ? ", " : "");
        print_value(&e);
    }
    qt_print(rest.n ? ", ...]" : "]");
}

// How many tensors of each type there are, in the order of the file.
static void print_types(const ql_gguf *g) {
    char size[32], count[32];
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        ql_ggml_type type = g->tensors[i].type;
        uint32_t first = 0, n = 0;
        double values = 0, bytes = 0;
        while (g->tensors[first].type != type)
            first++;
        for (uint32_t k = i; k < g->n_tensors && first == i; k++)
            if (g->tensors[k].type == type) {
                n++;
                values += (double)g->tensors[k].n_values;
                bytes += (double)g->tensors[k].bytes;
            }
        if (n)
            qt_print("  %6u  %-8s %s values, %s\n", n, ql_gguf_type_name(type),
                     qt_count_text(values, count, sizeof count),
                     qt_bytes_text(bytes, size, sizeof size));
    }
}

static int show_text(const ql_gguf *g) {
    qt_print("%s%s%s  GGUF version %u\n", qt_style_on(QT_BOLD), g->path, qt_style_off(),
             g->version);
    qt_print("keys        %u\n", g->n_keys);
    for (uint32_t i = 0; i < g->n_keys; i++) {
        qt_print("  %s  ", g->keys[i].name);
        print_value(&g->keys[i].value);
        qt_print("\n");
    }
    qt_print("tensors     %u\n", g->n_tensors);
    print_types(g);
    return qt_close_stdout();
}

int qt_show_gguf(const char *path, bool json) {
    ql_gguf *g = NULL;
    if (ql_gguf_open(path, &g) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_REFUSED;
    }
    int code = (json ? show_json : show_text)(g);
    ql_gguf_close(g);
    return code;
}
