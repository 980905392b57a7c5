// SPDX-License-Identifier: MIT
//
// Shapes, symbols and custom ops of a model, and whether what flags say about it is so.
#include "tools/converter/edit.h"

#include "tools/converter/prune.h"
#include "tools/op_package_generator/opdef.h"
#include "tools/quern/output.h"
#include "tools/sdk/spelling.h"

#include <stdlib.h>
#include <string.h>

int cv_no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

int cv_failed(const cv_model *m, int code) {
    qt_error("%s: %s", m->path, qrn_message());
    return code;
}

// --- the file

static int reject_framework(const char *path) {
    static const struct {
        const char *ending, *what;
    } others[] = {{".tflite", "TensorFlow Lite"},
                  {".pb", "TensorFlow"},
                  {".meta", "TensorFlow"},
                  {".pt", "PyTorch"},
                  {".pth", "PyTorch"},
                  {".pt2", "PyTorch"},
                  {".gguf", "GGUF"}};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        size_t k = strlen(others[i].ending);
        if (n > k && strcmp(path + n - k, others[i].ending) == 0) {
            qt_error("%s: %s models are not converted; give an ONNX model", path, others[i].what);
            return QT_EXIT_INPUT;
        }
    }
    return QT_EXIT_OK;
}

static int take(cv_model *m) {
    m->own = m->model->graph;
    ox_graph *g = qrn_arena_copy(m->arena, m->own, sizeof *g);
    ox_info *inputs = qrn_arena_copy(m->arena, m->own->inputs, m->own->n_inputs * sizeof *inputs);
    if (!g || (!inputs && m->own->n_inputs))
        return cv_no_memory();
    g->inputs = inputs;
    m->model->graph = g;
    return ox_model_check(m->model) == QRN_OK ? QT_EXIT_OK : cv_failed(m, QT_EXIT_INPUT);
}

int cv_open(cv_model *m) {
    int code = reject_framework(m->path);
    if (code != QT_EXIT_OK)
        return code;
    if (ox_model_open(m->path, &m->model) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    return take(m);
}

int cv_parse(cv_model *m, const void *data, size_t bytes) {
    if (ox_model_parse(data, bytes, m->path, &m->model) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    return take(m);
}

void cv_close(cv_model *m) {
    if (m->model && m->own)
        m->model->graph = m->own;
    ox_model_close(m->model);
    m->model = NULL;
}

// --- what flags say

char *cv_pair(const cv_model *m, const char *flag, const char *words, const char *value,
              char **first) {
    char *second = qs_second_word(m->arena, words, first);
    if (!second)
        qt_error("%s %s: expected a name and %s", flag, *first ? *first : "", value);
    return second;
}

static int find_input(const cv_model *m, const char *flag, const char *name, uint32_t *at) {
    const ox_graph *g = m->model->graph;
    for (*at = 0; *at < g->n_inputs; ++*at)
        if (strcmp(g->inputs[*at].name, name) == 0)
            return QT_EXIT_OK;
    qt_error("%s %s: %s has no such input", flag, name, m->path);
    return QT_EXIT_USAGE;
}

static bool read_dims(const char *text, ox_info *to) {
    uint32_t n = 0;
    for (const char *at = text; *at;) {
        char *end = NULL;
        long long v = strtoll(at, &end, 10);
        if (end == at || v <= 0 || v > UINT32_MAX || n == OX_MAX_RANK || (*end && *end != ','))
            return false;
        to->dims[n++] = v;
        at = end + (*end == ',');
    }
    to->rank = n;
    to->has_shape = true;
    return n > 0;
}

int cv_set_shapes(cv_model *m, const qt_list *shapes, uint64_t batch) {
    ox_graph *g = m->model->graph;
    ox_info *inputs = (ox_info *)(uintptr_t)g->inputs; // the copy
    for (uint32_t i = 0; batch && i < g->n_inputs; i++)
        if (inputs[i].rank)
            inputs[i].dims[0] = (int64_t)batch;
    for (size_t i = 0; i < shapes->n; i++) {
        uint32_t at;
        char *name, *dims = cv_pair(m, m->words->shape, shapes->items[i], "dimensions", &name);
        int code = dims ? find_input(m, m->words->shape, name, &at) : QT_EXIT_USAGE;
        if (code != QT_EXIT_OK)
            return code;
        if (!read_dims(dims, &inputs[at])) {
            qt_error("%s %s %s: expected positive numbers and commas, at most %d", m->words->shape,
                     name, dims, OX_MAX_RANK);
            return QT_EXIT_USAGE;
        }
    }
    return QT_EXIT_OK;
}

// The value also goes to the inputs that have the symbol: what is written of the model has it.
static void bind_symbol(const cv_model *m, const char *name, int64_t value) {
    const ox_graph *g = m->model->graph;
    ox_info *inputs = (ox_info *)(uintptr_t)g->inputs;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        for (uint32_t d = 0; d < inputs[i].rank; d++)
            if (inputs[i].dims[d] < 0 && inputs[i].symbols[d] &&
                strcmp(inputs[i].symbols[d], name) == 0)
                inputs[i].dims[d] = value;
}

int cv_set_symbols(cv_model *m, const qt_list *symbols) {
    const char **names = qrn_arena_alloc(m->arena, (symbols->n + 1) * sizeof *names);
    int64_t *values = qrn_arena_alloc(m->arena, (symbols->n + 1) * sizeof *values);
    if (!names || !values)
        return cv_no_memory();
    for (size_t i = 0; i < symbols->n; i++) {
        char *name, *end = NULL;
        char *value = cv_pair(m, m->words->symbol, symbols->items[i], "a number", &name);
        if (!value)
            return QT_EXIT_USAGE;
        values[i] = strtoll(value, &end, 10);
        names[i] = name;
        if (*end || end == value || values[i] <= 0 || values[i] > UINT32_MAX) {
            qt_error("%s %s: expected a positive number", m->words->symbol, name);
            return QT_EXIT_USAGE;
        }
        bind_symbol(m, name, values[i]);
    }
    m->import.dim_names = names;
    m->import.dim_values = values;
    m->import.n_dims = (uint32_t)symbols->n;
    return QT_EXIT_OK;
}

static bool is_constant(const ox_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->n_constants; i++)
        if (strcmp(g->constants[i].name, name) == 0)
            return true;
    return false;
}

int cv_check_shapes(const cv_model *m) {
    const ox_graph *g = m->model->graph;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const ox_info *in = &g->inputs[i];
        if (is_constant(g, in->name))
            continue;
        if (!in->has_shape) {
            qt_error("%s: input '%s' has no shape; give one with %s %s DIMS", m->path, in->name,
                     m->words->shape, in->name);
            return QT_EXIT_USAGE;
        }
        for (uint32_t d = 0; d < in->rank; d++)
            if (in->dims[d] < 0) {
                qt_error("%s: input '%s' dimension %u (%s) has no value; set it with %s, %s%s%s",
                         m->path, in->name, d, in->symbols[d] ? in->symbols[d] : "no name",
                         m->words->shape, m->words->symbol, d ? "" : " or ",
                         d ? "" : m->words->batch);
                return QT_EXIT_USAGE;
            }
    }
    return QT_EXIT_OK;
}

int cv_check_types(const cv_model *m, const qt_list *types) {
    for (size_t i = 0; i < types->n; i++) {
        uint32_t at;
        char *name, *type = cv_pair(m, m->words->type, types->items[i], "a type", &name);
        int code = type ? find_input(m, m->words->type, name, &at) : QT_EXIT_USAGE;
        if (code != QT_EXIT_OK)
            return code;
        const char *has = ox_type_name(m->model->graph->inputs[at].type);
        if (strcmp(has, type) != 0) {
            qt_error("%s %s %s: the model has %s, and inputs keep their type", m->words->type, name,
                     type, has);
            return QT_EXIT_USAGE;
        }
    }
    return QT_EXIT_OK;
}

int cv_set_outputs(cv_model *m, const qt_list *outputs, bool keep) {
    if (cv_prune(m->model, m->words->output, outputs, keep, m->arena) != QRN_OK)
        return cv_failed(m, QT_EXIT_INPUT);
    return QT_EXIT_OK;
}

// --- custom ops

int cv_set_packages(cv_model *m, const qt_list *definitions) {
    qg_packages all;
    uint32_t n = 0;
    if (!definitions->n)
        return QT_EXIT_OK;
    if (qg_opdef_read(definitions->items, definitions->n, m->arena, &all) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    for (uint32_t i = 0; i < all.n; i++)
        n += all.items[i].n_ops;
    ox_package *list = qrn_arena_alloc(m->arena, (n + 1u) * sizeof *list);
    if (!list)
        return cv_no_memory();
    for (uint32_t i = 0; i < all.n; i++)
        for (uint32_t k = 0; k < all.items[i].n_ops; k++)
            list[m->import.n_packages++] =
                (ox_package){all.items[i].ops[k].name, all.items[i].name};
    m->import.packages = list;
    return QT_EXIT_OK;
}

int cv_register(const qt_list *libraries, const qc_client *c, qrn_arena *a) {
    for (size_t i = 0; i < libraries->n; i++) {
        char *path = qrn_arena_strdup(a, libraries->items[i]);
        char *provider = path ? strchr(path, ':') : NULL;
        if (!provider) {
            qt_error("--op_package_lib %s: expected LIBRARY:PROVIDER", libraries->items[i]);
            return QT_EXIT_USAGE;
        }
        *provider++ = 0;
        qrn_status s = qc_check(
            c, c->qnn.backendRegisterOpPackage(c->backend, path, provider, NULL), "registration");
        if (s != QRN_OK) {
            qt_error("--op_package_lib %s: %s", libraries->items[i], qrn_message());
            return QT_EXIT_INPUT;
        }
    }
    return QT_EXIT_OK;
}

bool cv_has_quantizers(const ox_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (strstr(g->nodes[i].op, "QuantizeLinear") || strncmp(g->nodes[i].op, "QLinear", 7) == 0)
            return true;
    return false;
}
