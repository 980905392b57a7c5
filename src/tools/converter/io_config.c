// SPDX-License-Identifier: MIT
//
// Files about inputs and outputs: `--custom_io` of qnn-onnx-converter, `--config` of
// qairt-converter. Both are YAML; unknown keys, wrong types and values are failures that name file,
// line, key and what is legal.
#include "base/report_text.h"
#include "tools/converter/io.h"
#include "tools/quern/output.h"
#include "tools/sdk/json_keys.h"
#include "tools/sdk/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QS_IO_TYPES "float32|float16|uint8|int8"

// --- what both have

typedef struct quant {
    qs_int type, offset;
    qs_real scale;
    bool given;
} quant;

typedef struct layouts {
    const char *model, *custom;
} layouts;

typedef struct params {
    qs_int type;
    const char *layout, *shape, *color;
    quant quant;
} params;

typedef struct entry {
    const char *name;
    layouts layout;
    qs_int type;
    quant quant;
    params source, wanted;
    unsigned line;
} entry;

static const char *where_of(const qs_file *f, unsigned line) {
    size_t n = strlen(f->path) + 16;
    char *text = qrn_arena_alloc(f->arena, n);
    if (text)
        snprintf(text, n, "%s:%u:", f->path, line);
    return text;
}

static int word_type(const qs_int *w) {
    static const int types[] = {OX_F32, OX_F16, OX_U8, OX_I8}; // in the order of QS_IO_TYPES
    return w->given ? types[w->v] : OX_NONE;
}

static qrn_status set_quant(const qs_file *f, const quant *q, unsigned line, cv_io *io) {
    if (!q->given)
        return QRN_OK;
    io->undefined = q->type.given && q->type.v == 1;
    if (q->scale.given != q->offset.given)
        return qs_json_wrong(f, line, "'%s' has only a scale or an offset; both are needed",
                             io->name);
    io->scaled = q->scale.given && !io->undefined;
    io->scale = (float)q->scale.v;
    io->offset = (int32_t)q->offset.v;
    return QRN_OK;
}

// --- custom I/O

#define AT(type, field) offsetof(type, field)

static const qs_key custom_quant_keys[] = {
    {"Type", QS_WORD, AT(quant, type), 0, 0, "QNN_DEFINITION_DEFINED|QNN_DEFINITION_UNDEFINED",
     NULL, false, "whether scale and offset count; integers without them are cast"},
    {"Scale", QS_REAL, AT(quant, scale), 0, INT32_MAX, NULL, NULL, false, "of one step"},
    {"Offset", QS_INT, AT(quant, offset), -255, 255, NULL, NULL, false,
     "real = (q + offset) * scale"},
    {0},
};

static const qs_key custom_layout_keys[] = {
    {"Model", QS_TEXT, AT(layouts, model), 0, 0, NULL, NULL, false, "layout in the model"},
    {"Custom", QS_TEXT, AT(layouts, custom), 0, 0, NULL, NULL, false, "desired layout"},
    {0},
};

static qrn_status read_custom_quant(const qs_file *f, const qrn_json *v, void *to) {
    ((quant *)to)->given = true;
    return qs_keys_read(f, v, "QuantParam", custom_quant_keys, to);
}

static qrn_status read_custom_layout(const qs_file *f, const qrn_json *v, void *to) {
    return qs_keys_read(f, v, "Layout", custom_layout_keys, to);
}

static const qs_key custom_keys[] = {
    {"IOName", QS_TEXT, AT(entry, name), 0, 0, NULL, NULL, true, "an input or output"},
    {"Layout", QS_INNER, AT(entry, layout), 0, 0, NULL, read_custom_layout, false, NULL},
    {"Datatype", QS_WORD, AT(entry, type), 0, 0, QS_IO_TYPES, NULL, false, "desired type"},
    {"QuantParam", QS_INNER, AT(entry, quant), 0, 0, NULL, read_custom_quant, false, NULL},
    {0},
};

static qrn_status add_custom(const qs_file *f, const entry *e, unsigned line, cv_ios *list) {
    for (uint32_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].name, e->name) == 0 && list->items[i].where[0] != '-')
            return qs_json_wrong(f, line, "'%s' for the second time", e->name);
    cv_io *io = cv_io_find(list, f->arena, e->name, where_of(f, line));
    if (!io)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", f->path);
    if (io->model_layout && e->layout.model)
        return qs_json_wrong(f, line, "'%s': its layout is said by %s, too", e->name, io->where);
    if (e->layout.model)
        io->model_layout = e->layout.model;
    io->layout = e->layout.custom;
    io->type = word_type(&e->type);
    return set_quant(f, &e->quant, line, io);
}

static qrn_status read_custom(const qs_file *f, const qrn_json *top, cv_ios *list) {
    void *items = NULL;
    uint32_t n = 0;
    QRN_TRY(qs_keys_list(f, top, "the list of inputs and outputs", custom_keys, sizeof(entry),
                         false, &items, &n));
    const qrn_json *v = top->first;
    for (uint32_t i = 0; i < n; i++, v = v->next)
        QRN_TRY(add_custom(f, (entry *)items + i, v->line, list));
    return QRN_OK;
}

// --- the newer form

static const qs_key quant_keys[] = {
    {"Scale", QS_REAL, AT(quant, scale), 0, INT32_MAX, NULL, NULL, true, "of one step"},
    {"Offset", QS_INT, AT(quant, offset), -255, 255, NULL, NULL, true,
     "real = (q + offset) * scale"},
    {0},
};

static qrn_status read_quant(const qs_file *f, const qrn_json *v, void *to) {
    ((quant *)to)->given = true;
    return qs_keys_read(f, v, "QuantParams", quant_keys, to);
}

static qrn_status read_shape(const qs_file *f, const qrn_json *v, void *to) {
    const char **text = to;
    if (v->kind == QRN_JSON_STRING || v->kind == QRN_JSON_NUMBER) {
        *text = v->text;
        return QRN_OK;
    }
    size_t n = 1;
    for (const qrn_json *x = v->kind == QRN_JSON_ARRAY ? v->first : NULL; x; x = x->next)
        n += x->kind == QRN_JSON_NUMBER ? strlen(x->text) + 1 : 0;
    char *joined = qrn_arena_alloc(f->arena, n), *at = joined;
    if (!joined)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", f->path);
    for (const qrn_json *x = v->kind == QRN_JSON_ARRAY ? v->first : NULL; x; x = x->next)
        if (x->kind == QRN_JSON_NUMBER)
            at += snprintf(at, n - (size_t)(at - joined), "%s%s", at > joined ? "," : "", x->text);
    if (at == joined)
        return qs_json_wrong(f, v->line, "'Shape' is %s, expected 1,3,224,224",
                             qrn_json_kind_text(v->kind));
    *text = joined;
    return QRN_OK;
}

static const qs_key source_keys[] = {
    {"DataType", QS_WORD, AT(params, type), 0, 0, QS_IO_TYPES, NULL, false, "type in the model"},
    {"Layout", QS_TEXT, AT(params, layout), 0, 0, NULL, NULL, false, "layout in the model"},
    {0},
};

static const qs_key wanted_keys[] = {
    {"DataType", QS_WORD, AT(params, type), 0, 0, QS_IO_TYPES, NULL, false, "desired type"},
    {"DType", QS_WORD, AT(params, type), 0, 0, QS_IO_TYPES, NULL, false, "the same, of outputs"},
    {"Layout", QS_TEXT, AT(params, layout), 0, 0, NULL, NULL, false, "desired layout"},
    {"Shape", QS_INNER, AT(params, shape), 0, 0, NULL, read_shape, false, "of an input: 1,3,8,8"},
    {"Color Conversion", QS_TEXT, AT(params, color), 0, 0, NULL, NULL, false,
     "of an input: rgb or bgr, and the order that the model expects (bgr)"},
    {"QuantParams", QS_INNER, AT(params, quant), 0, 0, NULL, read_quant, false, NULL},
    {0},
};

static qrn_status read_source(const qs_file *f, const qrn_json *v, void *to) {
    return qs_keys_read(f, v, "Src Model Parameters", source_keys, to);
}

static qrn_status read_wanted(const qs_file *f, const qrn_json *v, void *to) {
    return qs_keys_read(f, v, "Desired Model Parameters", wanted_keys, to);
}

static const qs_key tensor_keys[] = {
    {"Name", QS_TEXT, AT(entry, name), 0, 0, NULL, NULL, true, "the tensor"},
    {"Src Model Parameters", QS_INNER, AT(entry, source), 0, 0, NULL, read_source, false, NULL},
    {"Desired Model Parameters", QS_INNER, AT(entry, wanted), 0, 0, NULL, read_wanted, false, NULL},
    {0},
};

typedef struct entries {
    entry *items;
    uint32_t n;
} entries;

static qrn_status read_tensors(const qs_file *f, const qrn_json *v, void *to) {
    entries *e = to;
    void *items = NULL;
    QRN_TRY(qs_keys_list(f, v, v->key, tensor_keys, sizeof(entry), false, &items, &e->n));
    e->items = items;
    const qrn_json *x = v->first;
    for (uint32_t i = 0; i < e->n; i++, x = x->next)
        e->items[i].line = x->line;
    return QRN_OK;
}

typedef struct config {
    entries inputs, outputs;
} config;

static const qs_key config_keys[] = {
    {"Input Tensor Configuration", QS_INNER, AT(config, inputs), 0, 0, NULL, read_tensors, false,
     NULL},
    {"Output Tensor Configuration", QS_INNER, AT(config, outputs), 0, 0, NULL, read_tensors, false,
     NULL},
    {0},
};

static qrn_status set_color(const qs_file *f, const entry *e, cv_io *io) {
    char *in = qrn_arena_strdup(f->arena, e->wanted.color);
    char *out = in ? strchr(in, ' ') : NULL;
    if (!in)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", f->path);
    if (out)
        *out++ = 0;
    io->color_in = in;
    io->color_out = out ? out + strspn(out, " ") : "bgr";
    return QRN_OK;
}

// What the command line says stays: it is in the list already.
static qrn_status add_tensor(const qs_file *f, const entry *e, cv_ios *list) {
    const params *from = &e->source, *to = &e->wanted;
    if ((to->type.given && !from->type.given) || (to->layout && !from->layout))
        return qs_json_wrong(f, e->line,
                             "'%s': 'Desired Model Parameters' has '%s', so 'Src Model Parameters' "
                             "must have it, too",
                             e->name, to->type.given && !from->type.given ? "DataType" : "Layout");
    cv_io *io = cv_io_find(list, f->arena, e->name, where_of(f, e->line));
    if (!io || !io->where)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", f->path);
    if (!io->model_layout)
        io->model_layout = from->layout;
    if (!io->layout)
        io->layout = to->layout;
    if (!io->shape)
        io->shape = to->shape;
    if (!io->color_in && to->color)
        QRN_TRY(set_color(f, e, io));
    io->model_type = word_type(&from->type);
    io->type = word_type(&to->type);
    return set_quant(f, &to->quant, e->line, io);
}

static qrn_status read_config(const qs_file *f, const qrn_json *top, cv_ios *list) {
    config c = {0};
    if (top->kind == QRN_JSON_NULL)
        return QRN_OK;
    QRN_TRY(qs_keys_read(f, top, "the file", config_keys, &c));
    for (uint32_t i = 0; i < c.inputs.n; i++)
        QRN_TRY(add_tensor(f, &c.inputs.items[i], list));
    for (uint32_t i = 0; i < c.outputs.n; i++)
        QRN_TRY(add_tensor(f, &c.outputs.items[i], list));
    return QRN_OK;
}

int cv_io_read(const char *path, bool qairt, qrn_arena *a, cv_ios *list) {
    const qs_file f = {path, a};
    qrn_json *top = NULL;
    qrn_status s = qs_yaml_read_file(path, a, &top);
    if (s == QRN_OK)
        s = qairt ? read_config(&f, top, list) : read_custom(&f, top, list);
    if (s == QRN_OK)
        return QT_EXIT_OK;
    qt_error("%s", qrn_message());
    return QT_EXIT_INPUT;
}

// --- templates

static void put_name(FILE *to, const char *name) {
    fputc('\'', to);
    for (; *name; name++) {
        if (*name == '\'')
            fputc('\'', to);
        fputc(*name, to);
    }
    fputs("'\n", to);
}

static const char *usual_layout(const ox_info *i) {
    return i->rank == 3 ? "NCF" : i->rank == 4 ? "NCHW" : i->rank == 5 ? "NCDHW" : "NONTRIVIAL";
}

static void put_custom(FILE *to, const ox_graph *g) {
    fputs("# An entry for each input and output to change; the others stay unchanged.\n"
          "# Layout: NCDHW and NDHWC, NCHW and NHWC, NCF and NFC, NTF and TNF can be exchanged.\n"
          "# Datatype: float32, float16, uint8, int8. Integers need a QuantParam:\n"
          "#   QuantParam:\n"
          "#     Type: QNN_DEFINITION_DEFINED\n"
          "#     Scale: 0.1\n"
          "#     Offset: -128\n",
          to);
    for (uint32_t i = 0; i < g->n_inputs + g->n_outputs; i++) {
        const ox_info *info = i < g->n_inputs ? &g->inputs[i] : &g->outputs[i - g->n_inputs];
        fputs("- IOName: ", to);
        put_name(to, info->name);
        fprintf(to, "  Layout:\n    Model: %s\n    Custom: %s\n", usual_layout(info),
                usual_layout(info));
        if (cv_io_type(ox_type_name(info->type)) != OX_NONE)
            fprintf(to, "  Datatype: %s\n", ox_type_name(info->type));
    }
}

static void put_tensor(FILE *to, const ox_info *info, const char *type_key) {
    bool typed = cv_io_type(ox_type_name(info->type)) != OX_NONE;
    fputs("  - Name: ", to);
    put_name(to, info->name);
    fputs("    Src Model Parameters:\n", to);
    fprintf(to, "        DataType: %s\n        Layout: %s\n", typed ? ox_type_name(info->type) : "",
            usual_layout(info));
    fputs("    Desired Model Parameters:\n", to);
    fprintf(to, "        %s: %s\n        Layout: %s\n", type_key,
            typed ? ox_type_name(info->type) : "", usual_layout(info));
    if (strcmp(type_key, "DataType") == 0)
        fputs("        Shape:\n        Color Conversion:\n", to);
    fputs("        # QuantParams, of uint8 and int8: Scale and Offset\n", to);
}

static void put_config(FILE *to, const ox_graph *g) {
    fputs("# Desired inputs and outputs; empty values change nothing.\n", to);
    fputs("Input Tensor Configuration:\n", to);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        put_tensor(to, &g->inputs[i], "DataType");
    fputs("\nOutput Tensor Configuration:\n", to);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        put_tensor(to, &g->outputs[i], "DType");
}

int cv_io_template(const cv_model *m, const char *path, bool qairt) {
    qrn_text t = {0};
    FILE *f = qrn_text_open(&t);
    if (f && qairt)
        put_config(f, m->model->graph);
    else if (f)
        put_custom(f, m->model->graph);
    if (!f || !qrn_text_close(f, &t))
        return cv_no_memory();
    bool done = qt_write_file(path, &(qt_part){t.data, t.n}, 1);
    free(t.data);
    return done ? QT_EXIT_OK : QT_EXIT_FAILURE;
}
