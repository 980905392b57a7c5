// SPDX-License-Identifier: MIT
#include "tools/converter/quantize.h"

#include "tools/converter/dlc_write.h"
#include "tools/converter/source.h"
#include "tools/quern/commands.h"
#include "tools/quern/output.h"
#include "tools/quern/quantize_overrides.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cv_quantize_word(cv_quantizing *q, const char *flag, const char *value) {
    q->words[q->n++] = flag;
    if (value)
        q->words[q->n++] = value;
}

const char *cv_quantize_scheme(const char *act_bits, const char *weight_bits) {
    static const struct {
        const char *act, *weights, *scheme;
    } known[] = {{"8", "8", "a8w8"},
                 {"8", "4", "a8w4"},
                 {"16", "8", "a16w8"},
                 {"16", "4", "a16w4"},
                 {"16", "16", "a16w16"}};
    const char *act = act_bits ? act_bits : "8", *weights = weight_bits ? weight_bits : "8";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].act, act) == 0 && strcmp(known[i].weights, weights) == 0)
            return known[i].scheme;
    qt_error("--act_bitwidth %s with --weights_bitwidth %s is not supported; allowed are 8 with 4 "
             "and 8, 16 with 4, 8 and 16",
             act, weights);
    return NULL;
}

const char *cv_quantize_repairs(const char *flag, const char *algorithms) {
    static const char *const known[][2] = {{"cle", "fold,cle,absorb"}, {"adaround", "adaround"}};
    for (size_t i = 0; algorithms && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i][0], algorithms) == 0)
            return known[i][1];
    if (!algorithms)
        return "none";
    qt_error("%s %s is not supported; allowed are cle and adaround", flag, algorithms);
    return NULL;
}

// Runs the command on one model.
static int run_command(const cv_quantizing *q, const char *from, const char *to,
                       const char *overrides) {
    const qt_command *c = &qt_quantize_command;
    const char *words[CV_MOST_WORDS + 8];
    uint32_t n = 0;
    qt_list args = {0};
    void *options = calloc(1, c->options_size);
    if (!options)
        return cv_no_memory();
    words[n++] = from;
    words[n++] = "--output";
    words[n++] = to;
    words[n++] = "--no-check";
    words[n++] = "--quiet";
    if (overrides) {
        words[n++] = "--encodings";
        words[n++] = overrides;
    }
    memcpy(words + n, q->words, q->n * sizeof *words);
    n += q->n;
    bool quiet = qt_is_quiet();
    int code = qt_flags_parse(c, (int)n, (char **)(uintptr_t)words, options, &args);
    if (code == QT_EXIT_OK)
        code = c->run(options, &args);
    qt_set_quiet(quiet);
    qt_flags_free(c, options, &args);
    free(options);
    return code;
}

static char *joined(qrn_arena *a, const char *folder, const char *name, const char *ending) {
    size_t n = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *path = qrn_arena_alloc(a, n);
    if (path)
        snprintf(path, n, "%s/%s%s", folder, name, ending);
    return path;
}

static int write_source(const cv_model *m, const char *path) {
    ox_writer bytes = {0};
    const char *why = NULL;
    int code = cv_source_write(m, &bytes, &why);
    if (code == QT_EXIT_OK && why) {
        qt_error("%s: it cannot be quantized: %s", m->path, why);
        code = QT_EXIT_REFUSED;
    }
    if (code == QT_EXIT_OK && !qt_write_file(path, &(qt_part){bytes.data, bytes.n}, 1))
        code = QT_EXIT_FAILURE;
    ox_writer_free(&bytes);
    return code;
}

// The quantized model takes the place of the float one; its options of the import stay.
static int replace(cv_model *m, const char *path) {
    cv_model made = {.path = path, .words = m->words, .arena = m->arena};
    int code = cv_open(&made);
    if (code == QT_EXIT_OK) {
        cv_close(m);
        m->model = made.model;
        m->own = made.own;
        m->import.n_dims = 0; // all shapes are fixed by now
    } else {
        cv_close(&made);
    }
    return code;
}

// The encodings alone. The bytes of the new model stay in the arena.
static int encode(cv_model *m, const char *from, const char *overrides) {
    ox_writer bytes = {0};
    cv_model plain = {.path = from, .words = m->words, .arena = m->arena}, made = plain;
    int code = cv_open(&plain);
    if (code == QT_EXIT_OK) {
        plain.model->graph = plain.own; // as the file has it
        code = qt_overrides_encode(overrides, m->path, &plain.model, &bytes);
        plain.own = plain.model->graph;
    }
    void *kept = code == QT_EXIT_OK ? qrn_arena_copy(m->arena, bytes.data, bytes.n) : NULL;
    if (code == QT_EXIT_OK)
        code = kept ? cv_parse(&made, kept, bytes.n) : cv_no_memory();
    cv_close(&plain);
    ox_writer_free(&bytes);
    if (code != QT_EXIT_OK) {
        cv_close(&made);
        return code;
    }
    cv_close(m);
    m->model = made.model;
    m->own = made.own;
    m->import.n_dims = 0;
    return QT_EXIT_OK;
}

// The files of one run.
typedef struct files {
    char folder[32];
    char *from, *to, *beside, *overrides;
} files;

static bool name_files(const cv_model *m, files *f) {
    char *name = cv_graph_name(m->arena, m->path);
    f->from = name ? joined(m->arena, f->folder, name, ".onnx") : NULL;
    f->to = name ? joined(m->arena, f->folder, name, "_quantized.onnx") : NULL;
    f->beside = name ? joined(m->arena, f->folder, name, "_quantized.onnx.data") : NULL;
    f->overrides = name ? joined(m->arena, f->folder, name, "_overrides.json") : NULL;
    return f->from && f->to && f->beside && f->overrides;
}

static int with_files(cv_model *m, const cv_quantizing *q, const files *f) {
    const char *overrides = q->overrides ? f->overrides : NULL;
    int code = write_source(m, f->from);
    if (code == QT_EXIT_OK && overrides &&
        !qt_write_file(overrides, &(qt_part){q->overrides, q->n_overrides}, 1))
        code = QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK && q->fallback)
        return encode(m, f->from, overrides);
    if (code == QT_EXIT_OK)
        code = run_command(q, f->from, f->to, overrides);
    return code == QT_EXIT_OK ? replace(m, f->to) : code;
}

int cv_quantize(cv_model *m, const cv_quantizing *q) {
    files f = {.folder = "/tmp/quern-convert-XXXXXX"};
    if (q->fallback && !q->overrides)
        return QT_EXIT_OK; // all stays float
    if (!mkdtemp(f.folder)) {
        qt_error("%s: %s", f.folder, strerror(errno));
        return QT_EXIT_FAILURE;
    }
    bool named = name_files(m, &f);
    int code = named ? with_files(m, q, &f) : cv_no_memory();
    char *const made[] = {f.from, f.to, f.beside, f.overrides};
    for (size_t i = 0; named && i < sizeof made / sizeof made[0]; i++)
        unlink(made[i]); // what is mapped stays readable
    if (rmdir(f.folder) != 0)
        qt_warn("%s: %s", f.folder, strerror(errno));
    return code;
}
