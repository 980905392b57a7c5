// SPDX-License-Identifier: MIT
//
// qairt-accuracy-evaluator, in its minimal mode: a float model is quantized in several ways, each
// result runs on a backend, and the ways are ranked by how near their outputs are to the model's
// own in float32 on the CPU.
#include "base/file.h"
#include "base/report_text.h"
#include "tools/quern/output.h"
#include "tools/sdk/model_values.h"
#include "tools/sdk/program.h"
#include "tools/sdk/quantize.h"
#include "tools/sdk/verifier.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct ae_options {
    bool version; // first: see tools/sdk/program.h
    const char *model, *target_arch, *backend, *inputs, *comparator, *work_dir, *soc, *config;
    const char *act_bits, *weight_bits, *bias_bits;
    double threshold;
} ae_options;

#define AT(field) offsetof(ae_options, field)

static const qt_flag flags[] = {
    {"model", 0, QT_FILE, "FILE", AT(model), NULL, "float ONNX model"},
    {"preproc_file", 0, QT_FILE, "FILE", AT(inputs), NULL,
     "list of raw files, with one set of inputs per line, for calibration and comparison"},
    {"backend", 0, QT_CHOICE, "NAME", AT(backend), "cpu|htp",
     "backend that runs the quantized models (htp)"},
    {"target_arch", 0, QT_CHOICE, "NAME", AT(target_arch), "x86_64-linux-clang",
     "machine that runs them (this one)"},
    {"soc", 0, QT_TEXT, "SOC", AT(soc), NULL, "target SoC of the HTP (SM8650; Quern's own)"},
    {"comparator", 0, QT_TEXT, "NAME[,PARAM,VALUE]..", AT(comparator), NULL,
     "a verifier of qnn-accuracy-debugger (SQNR)"},
    {"tol_thresh", 0, QT_NUMBER, "X", AT(threshold), NULL, "threshold of the comparator"},
    {"act_bw", 0, QT_CHOICE, "N", AT(act_bits), "8|16", "bits of activations (8)"},
    {"weights_bw", 0, QT_CHOICE, "N", AT(weight_bits), "4|8|16", "bits of weights (8)"},
    {"bias_bw", 0, QT_CHOICE, "N", AT(bias_bits), "8|32", "bits of biases (32); 8 is rejected"},
    {"work_dir", 0, QT_DIR, "DIR", AT(work_dir), NULL, "folder of the results (qacc_temp)"},
    {"config", 0, QT_FILE, "FILE", AT(config), NULL,
     "rejected: the format of its data sets is not published"},
    QS_COMMON_FLAGS(ae_options),
    {0},
};

// Ways to choose ranges: the published word, and that of quern quantize.
static const struct {
    const char *option, *method;
} ways[] = {{"tf", "minmax"}, {"enhanced", "mse"}, {"percentile", "percentile"}};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

typedef struct score {
    size_t way, n, n_passed; // outputs of all sets of inputs
    double sum;
} score;

typedef struct work {
    const ae_options *o;
    const char *root, *scheme;
    qs_verifier verifier;
    bool more_is_better;
    char golden[PATH_MAX / 2];
    score scores[N_WAYS];
} work;

// Appends to a path; false after a message.
static bool path_of(char *to, size_t size, const char *dir, const char *name) {
    int n = snprintf(to, size, "%s/%s", dir, name);
    if (n > 0 && (size_t)n < size)
        return true;
    qt_error("%.80s...: the path is too long", dir);
    return false;
}

static int run_model(const work *w, const char *model, const char *backend, const char *dir) {
    const qs_filter outputs = {.outputs_only = true};
    qs_values v = {.model = model,
                   .backend = {.backend = backend, .allow_fp16 = true},
                   .in = {.input_list = w->o->inputs},
                   .filter = &outputs,
                   .tree = true};
    if (strcmp(backend, "htp") == 0)
        v.backend.soc = w->o->soc ? w->o->soc : "SM8650";
    return qt_make_dir(dir) ? qs_write_values(&v, dir) : QT_EXIT_FAILURE;
}

// --- comparing

static int compare_file(const work *w, const char *golden, const char *found, score *s) {
    qrn_file f[2] = {0};
    int code = QT_EXIT_OK;
    const char *paths[] = {found, golden};
    for (int i = 0; i < 2 && code == QT_EXIT_OK; i++)
        if (qrn_file_map(paths[i], &f[i]) != QRN_OK) {
            qt_error("%s", qrn_message());
            code = QT_EXIT_FAILURE;
        }
    if (code == QT_EXIT_OK && f[0].size != f[1].size) {
        qt_error("%s and %s have different sizes", found, golden);
        code = QT_EXIT_FAILURE;
    }
    if (code == QT_EXIT_OK) {
        qs_verdict v = qs_verify(&w->verifier, f[0].data, f[1].data, f[0].size / sizeof(float));
        s->sum += v.value;
        s->n_passed += v.pass;
        s->n++;
    }
    qrn_file_unmap(&f[0]);
    qrn_file_unmap(&f[1]);
    return code;
}

static int is_raw(const struct dirent *d) {
    size_t n = strlen(d->d_name);
    return n > 4 && strcmp(d->d_name + n - 4, ".raw") == 0;
}

// All outputs of all sets; Result_<i> as long as there are some.
static int compare_all(const work *w, const char *dir, score *s) {
    int code = QT_EXIT_OK;
    for (size_t set = 0; code == QT_EXIT_OK; set++) {
        char name[32], golden[PATH_MAX], found[PATH_MAX], files[2][PATH_MAX + NAME_MAX + 2];
        struct dirent **list = NULL;
        snprintf(name, sizeof name, "Result_%zu", set);
        if (!path_of(golden, sizeof golden, w->golden, name) ||
            !path_of(found, sizeof found, dir, name))
            return QT_EXIT_FAILURE;
        int n = scandir(golden, &list, is_raw, alphasort);
        if (n < 0 && errno != ENOENT) {
            qt_error("%s: %s", golden, errno == ENOMEM ? "out of memory" : strerror(errno));
            return QT_EXIT_FAILURE;
        }
        if (n < 0)
            break;
        for (int i = 0; i < n; i++) {
            snprintf(files[0], sizeof files[0], "%s/%s", golden, list[i]->d_name);
            snprintf(files[1], sizeof files[1], "%s/%s", found, list[i]->d_name);
            if (code == QT_EXIT_OK)
                code = compare_file(w, files[0], files[1], s);
            free(list[i]);
        }
        free(list);
    }
    return code;
}

static int try_way(work *w, size_t way) {
    char model[PATH_MAX], dir[PATH_MAX / 2], name[64];
    score *s = &w->scores[way];
    *s = (score){.way = way};
    snprintf(name, sizeof name, "quantized_%s.onnx", ways[way].option);
    if (!path_of(model, sizeof model, w->root, name))
        return QT_EXIT_FAILURE;
    snprintf(name, sizeof name, "infer/schema%zu_qnn_%s", way + 1, ways[way].option);
    if (!path_of(dir, sizeof dir, w->root, name))
        return QT_EXIT_FAILURE;
    int code = qs_quantize(w->o->model, model, w->o->inputs, w->scheme, ways[way].method);
    if (code == QT_EXIT_OK)
        code = run_model(w, model, w->o->backend ? w->o->backend : "htp", dir);
    return code == QT_EXIT_OK ? compare_all(w, dir, s) : code;
}

// --- ranking

static double mean_of(const score *s) { return s->n ? s->sum / (double)s->n : 0; }

static bool is_better(const work *w, const score *a, const score *b) {
    double x = mean_of(a), y = mean_of(b);
    return w->more_is_better ? x > y : x < y;
}

// Best first; equal ones stay in order.
static void rank(work *w) {
    for (size_t i = 1; i < N_WAYS; i++)
        for (size_t k = i; k > 0 && is_better(w, &w->scores[k], &w->scores[k - 1]); k--) {
            score s = w->scores[k];
            w->scores[k] = w->scores[k - 1];
            w->scores[k - 1] = s;
        }
}

static int report(work *w) {
    char path[PATH_MAX], params[128];
    qrn_text text = {0};
    FILE *f = qrn_text_open(&text);
    rank(w);
    if (f)
        fputs("Rank,Schema,Option,Scheme,Comparator,Parameters,Value,Passed,Outputs\n", f);
    qs_verifier_params(&w->verifier, params, sizeof params);
    for (size_t i = 0; i < N_WAYS; i++) {
        const score *s = &w->scores[i];
        if (f)
            fprintf(f, "%zu,schema%zu_qnn_%s,%s,%s,%s,%s,%.9g,%zu,%zu\n", i + 1, s->way + 1,
                    ways[s->way].option, ways[s->way].option, w->scheme,
                    qs_verifier_name(&w->verifier), params, mean_of(s), s->n_passed, s->n);
        qt_print("%zu  %-10s  %s %.6g, %zu of %zu outputs pass\n", i + 1, ways[s->way].option,
                 qs_verifier_name(&w->verifier), mean_of(s), s->n_passed, s->n);
    }
    bool whole = f && qrn_text_close(f, &text);
    const qt_part part = {text.data, text.n};
    bool done = whole && path_of(path, sizeof path, w->root, "metrics-info.csv") &&
                qt_write_file(path, &part, 1);
    if (!whole)
        qt_error("out of memory");
    free(text.data);
    if (!done)
        return QT_EXIT_FAILURE;
    qt_print("%s\n", path);
    return qt_close_stdout();
}

// --- the program

static int read_flags(const ae_options *o, work *w) {
    char text[256];
    const char *missing = !o->model ? "model" : !o->inputs ? "preproc_file" : NULL;
    if (missing) {
        qt_error("--%s is needed", missing);
        return QT_EXIT_USAGE;
    }
    if (o->bias_bits && strcmp(o->bias_bits, "32") != 0) {
        qt_error("--bias_bw %s is not supported: biases have 32 bits", o->bias_bits);
        return QT_EXIT_USAGE;
    }
    w->scheme = qs_scheme("--act_bw", o->act_bits, "--weights_bw", o->weight_bits);
    if (!w->scheme)
        return QT_EXIT_USAGE;
    const char *name = o->comparator ? o->comparator : "SQNR";
    bool limited = o->threshold != 0;
    snprintf(text, sizeof text, limited ? "%.200s,threshold,%.17g" : "%.200s", name, o->threshold);
    int code = qs_verifier_parse("--comparator", text, &w->verifier);
    if (code != QT_EXIT_OK)
        return code;
    const char *kind = qs_verifier_name(&w->verifier);
    w->more_is_better = strcmp(kind, "SQNR") == 0 || strcmp(kind, "CosineSimilarity") == 0 ||
                        strcmp(kind, "TopK") == 0;
    return QT_EXIT_OK;
}

static int run(const void *options, const qt_list *args) {
    const ae_options *o = options;
    char infer[PATH_MAX / 2];
    (void)args;
    work *w = calloc(1, sizeof *w);
    if (!w) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    w->o = o;
    w->root = o->work_dir ? o->work_dir : "qacc_temp";
    int code = read_flags(o, w);
    if (code == QT_EXIT_OK &&
        !(path_of(infer, sizeof infer, w->root, "infer") &&
          path_of(w->golden, sizeof w->golden, w->root, "infer/schema0_cpu_fp32") &&
          qt_make_dir(w->root) && qt_make_dir(infer)))
        code = QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK)
        code = run_model(w, o->model, "cpu", w->golden);
    for (size_t i = 0; i < N_WAYS && code == QT_EXIT_OK; i++)
        code = try_way(w, i);
    if (code == QT_EXIT_OK)
        code = report(w);
    free(w);
    return code;
}

static const qt_command command = {
    .name = "qairt-accuracy-evaluator",
    .summary = "rank ways to quantize a model by the accuracy that they keep",
    .args = "-model FILE -preproc_file FILE [OPTIONS]",
    .alone = true,
    .about = "Quantizes a float model with ranges by minimum and maximum (tf), by the smallest "
             "error (enhanced) and by percentile, runs each on a backend, and ranks them by the "
             "accuracy of their outputs, compared with the model in float32.\n"
             "Flags may have one dash.",
    .groups = {{"options", flags}},
    .examples = {{"qairt-accuracy-evaluator -model net.onnx -preproc_file list.txt -act_bw 8",
                  "Writes qacc_temp/metrics-info.csv."}},
    .options_size = sizeof(ae_options),
    .run = run,
};

const qt_command *const qt_commands[] = {&command, NULL};

// "-model" to "--model": the published form has one dash. The words are of the flag table.
static void add_dashes(int argc, char **argv, char (*words)[32]) {
    for (int i = 1; i < argc; i++)
        for (const qt_flag *f = flags; argv[i][0] == '-' && f->name; f++)
            if (strcmp(argv[i] + 1, f->name) == 0) {
                snprintf(words[i], sizeof words[i], "--%s", f->name);
                argv[i] = words[i];
                break;
            }
}

int main(int argc, char **argv) {
    char(*words)[32] = calloc((size_t)argc + 1, sizeof *words);
    if (!words) {
        qt_set_program(command.name);
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    add_dashes(argc, argv, words);
    int code = qs_program(&command, NULL, argc, argv);
    free(words);
    return code;
}
