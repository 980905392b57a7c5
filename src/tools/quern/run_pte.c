// SPDX-License-Identifier: MIT
//
// ExecuTorch programs in quern run. A method poses as a model with inputs and outputs alone
// (input_0, output_0, ...), so that inputs are found and read in the same way as a model's.
#include "tools/quern/run_pte.h"

#include "base/report_text.h"
#include "frontend/executorch/method.h"
#include "tools/quern/soc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    uint8_t type;
    int ox;
} types[] = {{ET_BYTE, OX_U8},    {ET_CHAR, OX_I8},       {ET_SHORT, OX_I16},  {ET_INT, OX_I32},
             {ET_LONG, OX_I64},   {ET_HALF, OX_F16},      {ET_FLOAT, OX_F32},  {ET_DOUBLE, OX_F64},
             {ET_BOOL, OX_BOOL},  {ET_BFLOAT16, OX_BF16}, {ET_UINT16, OX_U16}, {ET_BITS16, OX_U16},
             {ET_UINT32, OX_U32}, {ET_UINT64, OX_U64},    {ET_QINT8, OX_I8},   {ET_QUINT8, OX_U8},
             {ET_QINT32, OX_I32}};

typedef struct job {
    const char *path;
    const qt_pte_options *opt;
    et_program *program;
    et_method *method;
    ox_model *model; // that the method poses as
    qt_inputs in;
    qt_array *arrays;
    qt_labels labels;
    json_t *results;
    double total_ms;
} job;

static int fail(int code) {
    qt_error("%s", qrn_message());
    return code;
}

bool qt_is_pte(const char *path) {
    qrn_file f = {0};
    bool is = qrn_file_map(path, &f) == QRN_OK && f.size >= 8 && et_is_program(f.data, 8);
    qrn_file_unmap(&f);
    return is;
}

static int ox_type_of(unsigned type) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].type == type)
            return types[i].ox;
    return OX_NONE;
}

static int choose_method(const job *j, uint32_t *index) {
    const char *name = j->opt->in->graph;
    *index = 0;
    for (uint32_t i = 0; name && i < j->program->n_methods; i++) {
        if (strcmp(j->program->methods[i].name, name) == 0) {
            *index = i;
            return QT_EXIT_OK;
        }
    }
    if (!name)
        return QT_EXIT_OK;
    qt_error("%s: no method '%s'; the first of %u is '%s'", j->path, name, j->program->n_methods,
             j->program->methods[0].name);
    return QT_EXIT_USAGE;
}

static int pose(job *j) {
    const et_method_def *d = j->method->def;
    qrn_arena *a = qrn_arena_create();
    ox_model *m = a ? qrn_arena_alloc(a, sizeof *m) : NULL;
    ox_graph *g = m ? qrn_arena_alloc(a, sizeof *g) : NULL;
    ox_info *infos = g ? qrn_arena_alloc(a, d->n_inputs * sizeof *infos) : NULL;
    if (!infos) {
        qrn_arena_destroy(a);
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    m->arena = a;
    m->graph = g;
    j->model = m;
    g->name = d->name;
    g->inputs = infos;
    g->n_inputs = d->n_inputs;
    for (uint32_t i = 0; i < d->n_inputs; i++) {
        const et_item *v = et_method_input(j->method, i);
        char name[32];
        snprintf(name, sizeof name, "input_%u", i);
        infos[i].name = qrn_arena_strdup(a, name);
        if (v->kind != ET_KIND_TENSOR || v->tensor->def->rank > OX_MAX_RANK || !infos[i].name) {
            qt_error("%s: method '%s': input %u is not a tensor of rank %d or less", j->path,
                     d->name, i, OX_MAX_RANK);
            return QT_EXIT_REFUSED;
        }
        const et_tensor_def *t = v->tensor->def;
        infos[i].type = ox_type_of(t->type);
        infos[i].has_shape = true;
        infos[i].rank = t->rank;
        for (uint32_t k = 0; k < t->rank; k++)
            infos[i].dims[k] = t->sizes[k];
    }
    return QT_EXIT_OK;
}

static void print_log(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    (void)level;
    (void)timestamp;
    char raw[2048], line[2048];
    qrn_log_line(raw, sizeof raw, fmt, args);
    qrn_shown_text(line, sizeof line, raw);
    fprintf(stderr, "%s\n", line);
}

int qt_pte_options_of(const qt_backend_options *b, et_options *out) {
    static const char *const levels[] = {"", "error", "warn", "info", "verbose", "debug"};
    *out = (et_options){.backend = b->backend, .n_threads = (uint32_t)b->threads};
    if (b->soc && !qt_soc_find(b->soc, &out->soc))
        return qt_soc_unknown("--soc", b->soc);
    for (int i = 1; b->log && i < 6; i++)
        if (strcmp(b->log, levels[i]) == 0) {
            out->log = print_log;
            out->log_level = i;
        }
    return QT_EXIT_OK;
}

static int open_method(job *j) {
    et_options o;
    uint32_t index;
    int code = qt_pte_options_of(j->opt->backend, &o);
    if (code != QT_EXIT_OK)
        return code;
    if (et_program_open(j->path, &j->program) != QRN_OK)
        return fail(QT_EXIT_REFUSED);
    code = choose_method(j, &index);
    if (code != QT_EXIT_OK)
        return code;
    if (et_method_load(j->program, index, &o, &j->method) != QRN_OK)
        return fail(QT_EXIT_REFUSED);
    return pose(j);
}

// --- Outputs

static qrn_status read_output(const job *j, uint32_t i, const char *name, qt_array *a) {
    const et_item *v = et_method_output(j->method, i);
    uint64_t dims[OX_MAX_RANK] = {0};
    if (v->kind == ET_KIND_INT || v->kind == ET_KIND_BOOL || v->kind == ET_KIND_DOUBLE) {
        bool real = v->kind == ET_KIND_DOUBLE;
        QRN_TRY(qt_array_create(name, real ? OX_F64 : OX_I64, 0, dims, a));
        if (real)
            memcpy(a->data, &v->d, sizeof v->d);
        else
            memcpy(a->data, &v->i, sizeof v->i);
        return QRN_OK;
    }
    if (v->kind != ET_KIND_TENSOR || v->tensor->rank > OX_MAX_RANK)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%s: %s is neither a number nor a tensor of rank %d or "
                        "less",
                        j->path, name, OX_MAX_RANK);
    const et_tensor *t = v->tensor;
    for (uint32_t d = 0; d < t->rank; d++)
        dims[d] = (uint64_t)t->sizes[d];
    QRN_TRY(qt_array_create(name, ox_type_of(t->def->type), t->rank, dims, a));
    size_t each = et_type_bytes(t->def->type), n = 0;
    int64_t index[ET_MAX_RANK] = {0};
    for (; n < t->count; n++) { // in C order, whatever the order in memory is
        int64_t at = 0;
        for (uint32_t d = 0; d < t->rank; d++)
            at += index[d] * t->strides[d];
        memcpy((char *)a->data + n * each, t->data + (size_t)at * each, each);
        for (uint32_t d = t->rank; d-- > 0 && ++index[d] == t->sizes[d];)
            index[d] = 0;
    }
    return QRN_OK;
}

static bool write_output(const job *j, size_t set, const char *name, const qt_array *a) {
    char path[4096], folder[4096];
    const char *end = j->opt->raw ? "raw" : "npy";
    int n = j->opt->output_dir
                ? snprintf(folder, sizeof folder, "%s/Result_%zu", j->opt->output_dir, set)
                : snprintf(folder, sizeof folder, "%s", j->opt->outputs);
    if (n < 0 || (size_t)n >= sizeof folder || !qt_make_dir(folder))
        return false;
    n = snprintf(path, sizeof path, "%s/%s.%s", folder, name, end);
    if (n < 0 || (size_t)n >= sizeof path) {
        qt_error("output '%s': the path is too long", name);
        return false;
    }
    const qt_part part = {a->data, a->bytes};
    return j->opt->raw ? qt_write_result(path, &part, 1) : qt_npy_write(path, a);
}

static int take_outputs(job *j, size_t set, double ms) {
    bool files = j->opt->outputs || j->opt->output_dir;
    json_t *list = j->results ? json_array() : NULL;
    int code = QT_EXIT_OK;
    for (uint32_t i = 0; i < j->method->def->n_outputs && code == QT_EXIT_OK; i++) {
        char name[32];
        qt_array a = {0};
        snprintf(name, sizeof name, "output_%u", i);
        if (read_output(j, i, name, &a) != QRN_OK) {
            code = fail(QT_EXIT_REFUSED);
            break;
        }
        if (list)
            json_array_append_new(list, qt_json_array(name, &a, j->opt->top, &j->labels));
        else if (!files)
            qt_print_array(name, &a, j->opt->top, &j->labels);
        if (files && !write_output(j, set, name, &a))
            code = QT_EXIT_FAILURE;
        qt_array_free(&a);
    }
    if (list)
        json_array_append_new(j->results,
                              json_pack("{s:o,s:f}", "outputs", list, "inference_ms", ms));
    return code;
}

// --- Running

static int run_set(job *j, size_t set) {
    if (qt_inputs_load(&j->in, set, j->arrays) != QRN_OK)
        return fail(QT_EXIT_INPUT);
    for (uint32_t i = 0; i < j->in.n_ports; i++) {
        const et_tensor *t = et_method_input(j->method, i)->tensor;
        bool dense = true;
        for (uint32_t d = 0; d < t->def->rank; d++)
            dense = dense && t->def->order[d] == d;
        if (!dense) {
            qt_error("%s: input %u is not in C order; use qnn_executor_runner", j->path, i);
            return QT_EXIT_REFUSED;
        }
        if (et_method_set_input(j->method, i, j->arrays[i].data, j->arrays[i].bytes, NULL) !=
            QRN_OK)
            return fail(QT_EXIT_INPUT);
    }
    double t0 = qt_now_ms();
    if (et_method_execute(j->method) != QRN_OK)
        return fail(QT_EXIT_FAILURE);
    double ms = qt_now_ms() - t0;
    j->total_ms += ms;
    return take_outputs(j, set, ms);
}

static int run_sets(job *j, const qt_list *args) {
    int code = qt_set_shapes(j->opt->in, j->model);
    if (code == QT_EXIT_OK)
        code = qt_inputs_open(j->model, j->opt->in, args, 1, &j->in);
    if (code == QT_EXIT_OK && j->opt->labels &&
        qt_labels_read(j->opt->labels, &j->labels) != QRN_OK)
        code = fail(QT_EXIT_FAILURE);
    if (code != QT_EXIT_OK)
        return code;
    j->arrays = calloc(j->in.n_ports + 1, sizeof *j->arrays);
    if (!j->arrays) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    for (size_t set = 0; set < j->in.n_sets && code == QT_EXIT_OK; set++) {
        code = run_set(j, set);
        for (uint32_t i = 0; i < j->in.n_ports; i++)
            qt_array_free(&j->arrays[i]);
    }
    return code;
}

static int report(job *j) {
    if (j->opt->json)
        return qt_print_json(json_pack("{s:o,s:o,s:O}", "model", qt_json_text(j->path), "method",
                                       qt_json_text(j->method->def->name), "results", j->results));
    qt_note("%zu run%s, %.3g ms each", j->in.n_sets, j->in.n_sets == 1 ? "" : "s",
            j->total_ms / (double)j->in.n_sets);
    return qt_close_stdout();
}

int qt_run_pte(const char *path, const qt_pte_options *opt, const qt_list *args) {
    job j = {.path = path, .opt = opt, .results = opt->json ? json_array() : NULL};
    int code = open_method(&j);
    if (code == QT_EXIT_OK)
        code = run_sets(&j, args);
    if (code == QT_EXIT_OK)
        code = report(&j);
    json_decref(j.results);
    free(j.arrays);
    qt_labels_free(&j.labels);
    qt_inputs_close(&j.in);
    ox_model_close(j.model);
    et_method_free(j.method);
    et_program_close(j.program);
    return code;
}
