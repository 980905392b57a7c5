// SPDX-License-Identifier: MIT
//
// Reading the tables of a file: codes, signatures, the main graph's inputs and outputs.
#include "frontend/onnx/reader/reader.h"
#include "frontend/tflite/internal.h"
#include "frontend/tflite/schema.h"

#include "base/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_NAME 4096 // of a tensor or op, in bytes

const char tl_domain[] = "tflite";
const char tl_dispatch[] = "DISPATCH_OP";

bool tl_is_model(const void *data, size_t size) {
    return size >= 8 && memcmp((const char *)data + 4, TL_IDENTIFIER, 4) == 0;
}

bool tl_is_file(const char *path) {
    qrn_file f = {0};
    bool is = qrn_file_map(path, &f) == QRN_OK && tl_is_model(f.data, f.size);
    qrn_file_unmap(&f);
    return is;
}

qrn_status tl_broken(const tl_reader *r, const char *fmt, ...) {
    char text[QRN_MESSAGE_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return QRN_FAIL(QRN_E_BINARY, "%.500s: not a valid .tflite file: %s", r->m->path, text);
}

qrn_status tl_flat_status(const tl_reader *r) {
    return r->flat.error ? tl_broken(r, "%s", r->flat.error) : QRN_OK;
}

qrn_status tl_room(const tl_reader *r, size_t n, size_t bytes, void *out) {
    void *p = qrn_arena_alloc(r->m->arena, (n ? n : 1) * bytes);
    if (!p)
        return QRN_FAIL(QRN_E_MEM, "%.500s: out of memory", r->m->path);
    *(void **)out = p;
    return QRN_OK;
}

static qrn_status read_codes(tl_reader *r) {
    qc_vector v;
    qc_flat_vector(&r->root, TL_MODEL_CODES, 4, &v);
    QRN_TRY(tl_room(r, v.n, sizeof *r->codes, &r->codes));
    r->n_codes = v.n;
    for (uint32_t i = 0; i < v.n; i++) {
        qc_table t;
        if (!qc_vector_table(&v, i, &t))
            return tl_flat_status(r);
        int old = (int8_t)qc_flat_u8(&t, TL_CODE_OLD, 0);
        int code = qc_flat_i32(&t, TL_CODE_BUILTIN, 0);
        code = code > old ? code : old;
        const char *custom = qc_flat_text(&t, TL_CODE_CUSTOM, "");
        const char *name = tl_op_name(code);
        char number[32];
        snprintf(number, sizeof number, "OP_%d", code);
        r->codes[i].custom = code == TL_CUSTOM;
        r->codes[i].name = code == TL_CUSTOM ? custom : name ? name : number;
        if (strlen(r->codes[i].name) > MAX_NAME)
            return tl_broken(r, "op code %u has a name of %zu bytes", i, strlen(r->codes[i].name));
        r->codes[i].name = qrn_arena_strdup(r->m->arena, r->codes[i].name);
        if (!r->codes[i].name)
            return QRN_FAIL(QRN_E_MEM, "%.500s: out of memory", r->m->path);
    }
    return tl_flat_status(r);
}

// The names that a signature of the main graph gives to tensors.
static void name_by_signature(const qc_table *signature, unsigned field, const char **names,
                              uint32_t n) {
    qc_vector v;
    qc_flat_vector(signature, field, 4, &v);
    for (uint32_t i = 0; i < v.n; i++) {
        qc_table map;
        if (!qc_vector_table(&v, i, &map))
            return;
        uint32_t tensor = qc_flat_u32(&map, TL_MAP_TENSOR, 0);
        const char *name = qc_flat_text(&map, TL_MAP_NAME, "");
        if (tensor < n && name[0] && strlen(name) <= MAX_NAME)
            names[tensor] = name;
    }
}

static void read_signature(const tl_reader *r, const char **names, uint32_t n) {
    qc_vector v;
    qc_flat_vector(&r->root, TL_MODEL_SIGNATURES, 4, &v);
    for (uint32_t i = 0; i < v.n; i++) {
        qc_table s;
        if (!qc_vector_table(&v, i, &s))
            return;
        if (qc_flat_u32(&s, TL_SIGNATURE_GRAPH, 0) != 0)
            continue;
        name_by_signature(&s, TL_SIGNATURE_INPUTS, names, n);
        name_by_signature(&s, TL_SIGNATURE_OUTPUTS, names, n);
        return;
    }
}

// Every tensor has a name, and no two the same one: nodes refer to them by name.
static qrn_status name_tensors(tl_reader *r, const qc_vector *tensors, const char **names) {
    static const char mark;
    qrn_strmap taken = {0};
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; s == QRN_OK && i < tensors->n; i++) {
        qc_table t;
        if (!qc_vector_table(tensors, i, &t))
            break;
        const char *name = names[i] ? names[i] : qc_flat_text(&t, TL_TENSOR_NAME, "");
        char made[MAX_NAME + 48];
        if (strlen(name) > MAX_NAME)
            name = "";
        snprintf(made, sizeof made, "%s", name);
        for (unsigned k = 0; !made[0] || qrn_strmap_get(&taken, made); k++)
            snprintf(made, sizeof made, k ? "%s_%u_%u" : "%s_%u", name[0] ? name : "tensor", i, k);
        r->tensors[i].name = qrn_arena_strdup(r->m->arena, made);
        if (!r->tensors[i].name ||
            !qrn_strmap_put(&taken, r->tensors[i].name, (void *)(uintptr_t)&mark))
            s = QRN_FAIL(QRN_E_MEM, "%.500s: out of memory", r->m->path);
    }
    qrn_strmap_clear(&taken);
    return s == QRN_OK ? tl_flat_status(r) : s;
}

// Inputs or outputs of the graph.
static qrn_status read_borders(tl_reader *r, const qc_table *graph, unsigned field,
                               const char *what, const ox_info **out, uint32_t *n) {
    qc_vector v;
    ox_info *list;
    qc_flat_vector(graph, field, 4, &v);
    QRN_TRY(tl_room(r, v.n, sizeof *list, &list));
    for (uint32_t i = 0; i < v.n; i++) {
        uint32_t tensor = (uint32_t)qc_vector_i32(&v, i);
        if (tensor >= r->n_tensors)
            return tl_broken(r, "%s %u is tensor %d, of %u", what, i, (int)tensor, r->n_tensors);
        tl_tensor *t = &r->tensors[tensor];
        if (field == TL_GRAPH_INPUTS && (t->written || t->data))
            return tl_broken(r, "input '%s' is given twice, or constant", t->name);
        t->written |= field == TL_GRAPH_INPUTS;
        list[i] = t->info;
    }
    *out = list;
    *n = v.n;
    return tl_flat_status(r);
}

// What importers may ask about the values in between, and the constants.
static qrn_status list_values(tl_reader *r, ox_graph *g) {
    ox_info *infos;
    ox_tensor *constants;
    QRN_TRY(tl_room(r, r->n_tensors, sizeof *infos, &infos));
    QRN_TRY(tl_room(r, r->n_tensors, sizeof *constants, &constants));
    for (uint32_t i = 0; i < r->n_tensors; i++) {
        tl_tensor *t = &r->tensors[i];
        if (t->empty && !t->written)
            t->data = r->data; // of 0 bytes
        if (!t->data) {
            infos[g->n_infos++] = t->info;
            continue;
        }
        ox_tensor *c = &constants[g->n_constants++];
        *c = (ox_tensor){.name = t->name,
                         .type = t->info.type,
                         .rank = t->info.rank,
                         .data = t->data,
                         .bytes = t->bytes,
                         .enc = t->info.enc};
        for (uint32_t d = 0; d < c->rank; d++)
            c->dims[d] = (uint64_t)t->info.dims[d];
    }
    g->infos = infos;
    g->constants = constants;
    return QRN_OK;
}

static qrn_status read_graph(tl_reader *r, const qc_table *t) {
    qc_vector tensors;
    const char **names;
    ox_graph *g;
    QRN_TRY(tl_room(r, 1, sizeof *g, &g));
    r->graph = g->name = qc_flat_text(t, TL_GRAPH_NAME, "main");
    if (!g->name[0] || strlen(g->name) > MAX_NAME)
        r->graph = g->name = "main";
    if (!(r->graph = g->name = qrn_arena_strdup(r->m->arena, g->name)))
        return QRN_FAIL(QRN_E_MEM, "%.500s: out of memory", r->m->path);
    qc_flat_vector(t, TL_GRAPH_TENSORS, 4, &tensors);
    QRN_TRY(tl_room(r, tensors.n, sizeof *r->tensors, &r->tensors));
    QRN_TRY(tl_room(r, tensors.n, sizeof *names, &names));
    r->n_tensors = tensors.n;
    read_signature(r, names, tensors.n);
    QRN_TRY(name_tensors(r, &tensors, names));
    QRN_TRY(tl_read_tensors(r, t));
    QRN_TRY(read_borders(r, t, TL_GRAPH_INPUTS, "input", &g->inputs, &g->n_inputs));
    QRN_TRY(tl_read_ops(r, t, g));
    QRN_TRY(read_borders(r, t, TL_GRAPH_OUTPUTS, "output", &g->outputs, &g->n_outputs));
    QRN_TRY(list_values(r, g));
    r->m->graph = g;
    return QRN_OK;
}

static qrn_status read_model(ox_model *m, const void *data, size_t size) {
    static const ox_opset opsets[] = {{"", 21}, {tl_domain, TL_VERSION}};
    tl_reader r = {.m = m, .data = data, .size = size};
    qc_vector graphs;
    qc_table graph;
    m->producer = ""; // files have a description, but it says nothing about who wrote it
    m->ir_version = TL_VERSION;
    m->opsets = opsets;
    m->n_opsets = 2;
    m->foreign_domain = tl_domain;
    m->import_foreign = tl_import;
    if (!tl_is_model(data, size))
        return tl_broken(&r, "it does not begin with the identifier " TL_IDENTIFIER);
    // Tables have offsets of 32 bits; what lies behind them is found by 64.
    if (!qc_flat_root(&r.flat, data, size < INT32_MAX ? size : INT32_MAX, &r.root))
        return tl_flat_status(&r);
    uint32_t version = qc_flat_u32(&r.root, TL_MODEL_VERSION, 0);
    if (!r.flat.error && version != TL_VERSION)
        return tl_broken(&r, "version %u of the format, expected %d", version, TL_VERSION);
    qc_flat_vector(&r.root, TL_MODEL_BUFFERS, 4, &r.buffers);
    QRN_TRY(read_codes(&r));
    qc_flat_vector(&r.root, TL_MODEL_GRAPHS, 4, &graphs);
    if (graphs.n == 0)
        return r.flat.error ? tl_flat_status(&r) : tl_broken(&r, "it has no graph");
    if (!qc_vector_table(&graphs, 0, &graph))
        return tl_flat_status(&r);
    return read_graph(&r, &graph);
}

static qrn_status finish(ox_model *m, qrn_status s, ox_model **out) {
    if (s != QRN_OK)
        ox_model_close(m);
    else
        *out = m;
    return s;
}

qrn_status tl_model_open(const char *path, ox_model **out) {
    ox_model *m;
    const qrn_file *f = NULL;
    QRN_TRY(ox_model_new(path, &m));
    qrn_status s = ox_map_file(m, path, &f);
    return finish(m, s == QRN_OK ? read_model(m, f->data, f->size) : s, out);
}

qrn_status tl_model_parse(const void *data, size_t size, const char *name, ox_model **out) {
    ox_model *m;
    QRN_TRY(ox_model_new(name, &m));
    return finish(m, read_model(m, data, size), out);
}
