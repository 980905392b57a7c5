// SPDX-License-Identifier: MIT
//
// The files of quern quantize: models, the weights that they share, and DLC files.
#include "tools/quern/commands.h"
#include "tools/quern/compile.h"
#include "tools/quern/output.h"
#include "tools/quern/quantize_check.h"
#include "tools/quern/quantize_job.h"
#include "tools/quern/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_ROUNDS 3     // of taking nodes out that have no integer form
#define LARGE (64u << 20) // bytes of constants from which on they lie in a file of their own

// --- names

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static char *join(const char *folder, const char *name, const char *ending) {
    size_t n = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *path = malloc(n);
    if (path)
        snprintf(path, n, "%s%s%s%s", folder, folder[0] ? "/" : "", name, ending);
    return path;
}

// The calibration so far lies beside the output, unless that is a device or pipe.
static int name_state(qt_quantize_job *j) {
    struct stat st;
    const char *out = j->opt->output;
    if (out && stat(out, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return QT_EXIT_OK;
    j->state_path = out ? join("", out, ".calibration") : strdup(j->opt->run.only);
    return j->state_path ? QT_EXIT_OK : qt_no_memory();
}

bool qt_quantize_is_dlc(const char *output) {
    size_t n = strlen(output);
    return n > 4 && strcmp(output + n - 4, ".dlc") == 0;
}

int qt_quantize_name(qt_quantize_job *j, const qt_list *args) {
    const char *out = j->opt->output;
    size_t bytes = 0;
    if (name_state(j) != QT_EXIT_OK)
        return QT_EXIT_FAILURE;
    if (!out)
        return QT_EXIT_OK;
    if (qt_quantize_is_dlc(out) && !(j->onnx = join("", out, ".onnx")))
        return qt_no_memory();
    if (j->n > 1 && !qt_make_dir(out))
        return QT_EXIT_FAILURE;
    for (size_t i = 0; i < j->n; i++) {
        qt_quantize_model *m = &j->models[i];
        const ox_graph *g = m->model->graph;
        m->target =
            j->n > 1 ? join(out, base_name(args->items[i]), "") : strdup(j->onnx ? j->onnx : out);
        if (!m->target)
            return qt_no_memory();
        for (size_t k = 0; k < i; k++)
            if (strcmp(j->models[k].target, m->target) == 0) {
                qt_error("two models are called %s: rename one", base_name(m->target));
                return QT_EXIT_USAGE;
            }
        for (uint32_t k = 0; k < g->n_constants; k++)
            bytes += g->constants[k].bytes * j->scheme.weight_bits / 32;
    }
    if (j->n == 1 && bytes < LARGE)
        return QT_EXIT_OK;
    j->weights_path = j->n > 1 ? join(out, "weights", ".data") : join("", out, ".data");
    if (!j->weights_path)
        return qt_no_memory();
    j->weights_name = base_name(j->weights_path);
    return QT_EXIT_OK;
}

// --- results

// An empty list for each round of writing.
static qrn_status list_exported(qt_quantize_job *j) {
    qz_encodings_free(j->exported);
    j->exported = NULL;
    return j->opt->single.exported ? qz_encodings_create(&j->exported) : QRN_OK;
}

static int write_models(qt_quantize_job *j) {
    qz_weights_file *weights = NULL;
    if (j->weights_path && qz_weights_begin(j->weights_path, j->weights_name, &weights) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_FAILURE;
    }
    for (size_t i = 0; i < j->n; i++) {
        qt_quantize_model *m = &j->models[i];
        qt_progress("writing", i, j->n);
        if (list_exported(j) != QRN_OK || qz_write(m->graph, &j->scheme, weights, &m->bytes,
                                                   j->exported, &m->written) != QRN_OK) {
            qz_weights_abort(weights);
            return qt_failed(m->path, m->given ? QT_EXIT_REFUSED : QT_EXIT_FAILURE);
        }
    }
    qt_progress(NULL, 0, 0);
    if (weights && qz_weights_commit(weights) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_FAILURE;
    }
    for (size_t i = 0; i < j->n; i++) {
        const qt_part whole = {j->models[i].bytes.data, j->models[i].bytes.n};
        if (!qt_write_file(j->models[i].target, &whole, 1))
            return QT_EXIT_FAILURE;
        ox_writer_free(&j->models[i].bytes);
    }
    return QT_EXIT_OK;
}

static void keep_float(void *model, const char *node) {
    qt_quantize_model *m = model;
    m->n_refused++;
    qz_plan_float(m->graph, node);
}

// Writes the models, and again where the HTP refuses nodes: those that have no integer form stay
// float, which may be all that is in their way.
int qt_quantize_write(qt_quantize_job *j) {
    for (int round = 0;; round++) {
        uint32_t before = 0, refused = 0;
        for (size_t i = 0; i < j->n; i++)
            before += j->models[i].n_refused;
        int code = write_models(j);
        for (size_t i = 0; code == QT_EXIT_OK && !j->opt->no_check && i < j->n; i++) {
            qt_quantize_model *m = &j->models[i];
            m->n_refused = 0;
            code = qt_quantized_parts(m->target, qt_quantize_soc(j), keep_float, m, &m->n_parts);
            refused += m->n_refused;
        }
        if (code != QT_EXIT_OK || refused == 0 || round == MOST_ROUNDS || !j->scheme.act_bits ||
            (round && refused >= before))
            return code;
        for (size_t i = 0; i < j->n; i++)
            if (qz_plan_encodings(j->models[i].graph, &j->scheme) != QRN_OK)
                return qt_failed(j->models[i].path, QT_EXIT_FAILURE);
    }
}

// --- DLC files

// The graph is called like the model's file.
int qt_quantize_dlc(const qt_quantize_job *j) {
    if (!j->onnx)
        return QT_EXIT_OK;
    const char *base = base_name(j->models[0].path), *dot = strrchr(base, '.');
    char *stem = strndup(base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
    const char *model = j->onnx, *name = stem;
    const qt_list args = {.items = &model, .n = 1};
    const qt_compile_options opt = {
        .output = j->opt->output, .names = {.items = &name, .n = 1}, .silent = true};
    int code = stem ? qt_compile_models(&opt, &args) : qt_no_memory();
    free(stem);
    return code;
}

void qt_quantize_clean(const qt_quantize_job *j) {
    if (j->onnx)
        unlink(j->onnx);
    if (j->onnx && j->weights_path)
        unlink(j->weights_path);
}
