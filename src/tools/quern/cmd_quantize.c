// SPDX-License-Identifier: MIT
//
// quern quantize: a float model in, a quantized one out. Calibrates, plans, writes, and says how
// far the result is from the float model.
#include "quantizer/declare.h"
#include "quantizer/write.h"
#include "tools/quern/commands.h"
#include "tools/quern/llm_files.h"
#include "tools/quern/quantize_calibrate.h"
#include "tools/quern/quantize_check.h"
#include "tools/quern/quantize_mixed.h"
#include "tools/quern/quantize_overrides.h"
#include "tools/quern/quantize_repair.h"
#include "tools/quern/report.h"
#include "tools/quern/samples.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_ROUNDS 3     // of taking nodes out that have no integer form
#define LARGE (64u << 20) // bytes of constants from which on they lie in a file of their own

typedef struct quantize_options {
    qt_input_options in;
    qt_text_options text;
    qt_override_options single;
    qt_calibration_options run;
    qt_mixed_options mixed;
    const char *output, *calibration, *scheme, *activations, *weights, *method, *soc, *repair;
    uint64_t block, threads;
    double percentile, float_below;
    bool symmetric, per_tensor, all_integers, float_states, no_check, json, quiet;
} quantize_options;

#define AT(field) offsetof(quantize_options, field)

static const qt_flag flags[] = {
    {"output", 'o', QT_FILE, "OUT", AT(output), NULL,
     "output file; for several models, the output folder"},
    {"scheme", 's', QT_CHOICE, "S", AT(scheme), "a8w8|a16w8|a16w4|a16w16|a8w4|w8|w4|float",
     "bits of activations and weights, or of weights alone (default a8w8)"},
    {"activations", 0, QT_CHOICE, "A", AT(activations), "a8|a16", "set them separately"},
    {"weights", 0, QT_CHOICE, "W", AT(weights), "w4|w8|w16", "set them separately"},
    {"block", 0, QT_COUNT, "N", AT(block), NULL,
     "one scale per N weights of a channel; 0: one per channel"},
    {"per-tensor", 0, QT_BOOL, NULL, AT(per_tensor), NULL, "one scale per weight tensor"},
    {"symmetric", 0, QT_BOOL, NULL, AT(symmetric), NULL, "symmetric encodings for activations"},
    {"float-below", 0, QT_NUMBER, "DB", AT(float_below), NULL,
     "keep 16-bit tensors below this SNR in fp16 (default 40)"},
    {"all-integers", 0, QT_BOOL, NULL, AT(all_integers), NULL, "keep no tensor in fp16"},
    {"float-states", 0, QT_BOOL, NULL, AT(float_states), NULL,
     "keep KV caches (past_X, new_X) in float"},
    {"repair", 0, QT_TEXT, "LIST", AT(repair), NULL,
     "auto (default), none, or a list (docs/quantize.md)"},
    {"soc", 0, QT_TEXT, "SOC", AT(soc), NULL, "target SoC for the check (default SM8650)"},
    {"no-check", 0, QT_BOOL, NULL, AT(no_check), NULL, "do not run the result on the modelled HTP"},
    {"threads", 't', QT_COUNT, "N", AT(threads), NULL,
     "number of threads (default: all available CPUs)"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {"quiet", 'q', QT_BOOL, NULL, AT(quiet), NULL, "errors only"},
    {0},
};

static const qt_flag data_flags[] = {
    {"calibration", 'c', QT_FILE, "DATA", AT(calibration), NULL,
     "calibration data: .npz, .npy, folder or input list"},
    {"text", 0, QT_FILE, "FILE", AT(text.text), NULL,
     "text file to calibrate a language model with"},
    {"tokenizer", 0, QT_FILE, "FILE", AT(text.tokenizer), NULL,
     "its tokenizer.json (default: beside the model)"},
    {"rope-theta", 0, QT_NUMBER, "X", AT(text.rope_theta), NULL,
     "override rope_theta of config.json"},
    {"random", 'r', QT_BOOL, NULL, AT(in.random), NULL,
     "random calibration data, for a first try only"},
    {"seed", 0, QT_COUNT, "N", AT(in.seed), NULL, "seed of the random data"},
    {"cast", 0, QT_BOOL, NULL, AT(in.cast), NULL, "convert data of another type"},
    QT_DIM_FLAG(quantize_options, in),
    QT_CALIBRATION_FLAGS(quantize_options, run),
    {"method", 'm', QT_CHOICE, "M", AT(method), "minmax|percentile|mse|sqnr|entropy",
     "how ranges are chosen (default minmax)"},
    {"percentile", 0, QT_NUMBER, "P", AT(percentile), NULL,
     "share of values inside the range (default 99.99)"},
    {0},
};

static const qt_flag single_flags[] = {QT_OVERRIDE_FLAGS(quantize_options, single), {0}};

static const qt_flag mixed_flags[] = {QT_MIXED_FLAGS(quantize_options, mixed), {0}};

static const qt_flag picture_flags[] = {QT_PICTURE_FLAGS(quantize_options, in), {0}};

// One model on its way.
typedef struct subject {
    const char *path;
    char *target;    // file to write
    ox_model *model; // repaired
    qt_repaired repaired;
    qz_graph *graph;
    qz_encodings *given; // of a file, or NULL
    ox_writer bytes;
    qz_written written;
    uint32_t n_parts, n_refused; // on the HTP
} subject;

typedef struct job {
    const quantize_options *opt;
    qz_scheme scheme;
    uint32_t repairs; // qz_repair bits
    subject *models;
    size_t n;
    qt_samples samples;
    qz_encodings *exported; // or NULL
    char *weights_path;     // NULL: constants are in the models
    char *state_path;       // of the calibration so far, NULL: it is not kept
    const char *weights_name;
} job;

static int failed(const char *path, int code) {
    qt_error("%s: %s", path, qrn_message());
    return code;
}

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

// --- what is asked for

static int read_scheme(const quantize_options *o, qz_scheme *s) {
    if (o->scheme && (o->activations || o->weights)) {
        qt_error("--scheme excludes --activations and --weights");
        return QT_EXIT_USAGE;
    }
    const char *a = o->activations ? o->activations : o->scheme ? o->scheme : "a8w8";
    const char *w = o->weights ? o->weights : o->scheme ? strchr(o->scheme, 'w') : "w8";
    if (o->scheme && strcmp(o->scheme, "float") == 0) // repaired only
        w = "w32";
    *s = (qz_scheme){.act_bits = a[0] != 'a'   ? 0
                                 : a[1] == '1' ? 16
                                               : 8,
                     .weight_bits = (unsigned)strtoul(w + 1, NULL, 10),
                     .block = (uint32_t)o->block,
                     .symmetric = o->symmetric,
                     .per_tensor = o->per_tensor,
                     .float_below_db = o->all_integers      ? 0
                                       : o->float_below > 0 ? o->float_below
                                                            : 40,
                     .tail = (100 - (o->percentile > 0 ? o->percentile : 99.99)) / 100};
    if (o->calibration && o->text.text) {
        qt_error("--calibration and --text exclude each other");
        return QT_EXIT_USAGE;
    }
    bool samples = o->calibration || o->text.text || o->in.random || o->run.merged.n;
    s->only_given = o->single.encodings && !samples;
    if (s->act_bits && !samples && !o->single.encodings) {
        qt_error("--calibration DATA is needed: ranges of activations follow from samples (or "
                 "--text for a language model, --encodings for those of a file, --random to try "
                 "things out)");
        return QT_EXIT_USAGE;
    }
    if (o->per_tensor && o->block) {
        qt_error("--per-tensor and --block exclude each other");
        return QT_EXIT_USAGE;
    }
    if (s->weight_bits == 16 && s->act_bits == 8) {
        qt_error("16-bit weights need 16-bit activations: choose a16w16");
        return QT_EXIT_USAGE;
    }
    if (o->block && (o->block < 8 || o->block > 4096 || (o->block & (o->block - 1)))) {
        qt_error("--block %llu: expected a power of two from 8 to 4096",
                 (unsigned long long)o->block);
        return QT_EXIT_USAGE;
    }
    if (s->tail < 0 || s->tail > 0.1) {
        qt_error("--percentile %g: expected 90 to 100", o->percentile);
        return QT_EXIT_USAGE;
    }
    static const char *const methods[] = {[QZ_MINMAX] = "minmax",
                                          [QZ_PERCENTILE] = "percentile",
                                          [QZ_LEAST_ERROR] = "mse",
                                          [QZ_SQNR] = "sqnr",
                                          [QZ_ENTROPY] = "entropy"};
    for (size_t i = 0; o->method && i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(o->method, methods[i]) == 0)
            s->method = (qz_method)i;
    return QT_EXIT_OK;
}

static int check_usage(const quantize_options *o, size_t n_models) {
    if (o->single.exported && n_models > 1) {
        qt_error("--export-encodings goes with one model, found %zu", n_models);
        return QT_EXIT_USAGE;
    }
    if (!o->output == !o->run.only) {
        qt_error(o->output ? "--output and --calibrate-only exclude each other"
                           : "no output: use --output FILE");
        return QT_EXIT_USAGE;
    }
    if (o->run.only && n_models > 1) {
        qt_error("--calibrate-only goes with one model, found %zu", n_models);
        return QT_EXIT_USAGE;
    }
    if (o->single.version && !o->single.exported) {
        qt_error("--encodings-version needs --export-encodings: the file to write");
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

// --- files

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
static int name_state(job *j) {
    struct stat st;
    const char *out = j->opt->output;
    if (out && stat(out, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return QT_EXIT_OK;
    j->state_path = out ? join("", out, ".calibration") : strdup(j->opt->run.only);
    return j->state_path ? QT_EXIT_OK : no_memory();
}

static int name_targets(job *j, const qt_list *args) {
    const char *out = j->opt->output;
    size_t bytes = 0;
    if (name_state(j) != QT_EXIT_OK)
        return QT_EXIT_FAILURE;
    if (!out)
        return QT_EXIT_OK;
    if (j->n > 1 && !qt_make_dir(out))
        return QT_EXIT_FAILURE;
    for (size_t i = 0; i < j->n; i++) {
        subject *m = &j->models[i];
        const ox_graph *g = m->model->graph;
        m->target = j->n > 1 ? join(out, base_name(args->items[i]), "") : strdup(out);
        if (!m->target)
            return no_memory();
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
        return no_memory();
    j->weights_name = base_name(j->weights_path);
    return QT_EXIT_OK;
}

static int open_models(job *j, const qt_list *args) {
    j->n = args->n;
    j->models = calloc(args->n, sizeof *j->models);
    if (!j->models)
        return no_memory();
    for (size_t i = 0; i < args->n; i++) {
        subject *m = &j->models[i];
        m->path = args->items[i];
        int code = qt_open_shaped(m->path, &j->opt->in, &m->model);
        if (code == QT_EXIT_OK)
            code = qt_repair_fold(m->path, &j->opt->in, j->repairs, m->model, &m->repaired);
        if (code != QT_EXIT_OK)
            return code;
        if (qz_declare(m->model) != QRN_OK || qz_graph_create(m->model, &m->graph) != QRN_OK)
            return failed(m->path, QT_EXIT_REFUSED);
        code = qt_overrides_apply(&j->opt->single, m->graph, m->path, &m->given);
        if (code != QT_EXIT_OK)
            return code;
    }
    return name_targets(j, args);
}

// --- calibration

static int open_samples(job *j) {
    const quantize_options *o = j->opt;
    const subject *m = &j->models[0];
    bool random = o->in.random && !o->text.text && !o->calibration && !o->run.merged.n;
    int code = QT_EXIT_OK;
    if (random)
        qt_warn("random samples: the ranges are not those of real data, and neither is the "
                "result's quality");
    if (o->text.text)
        code = qt_samples_of_text(m->model, m->path, &o->in, &o->text, &j->samples);
    else if (o->calibration || random)
        code = qt_samples_open(m->model, &o->in, o->calibration, &j->samples);
    if (code == QT_EXIT_OK && random)
        code = qt_samples_random(&j->samples, (size_t)(o->run.skip + o->run.n));
    return code == QT_EXIT_OK && j->samples.in.n_sets ? qt_calibration_range(&o->run, &j->samples)
                                                      : code;
}

// Several graphs of one model would need the same factors.
static int equalize(job *j) {
    subject *m = &j->models[0];
    if (j->n > 1 || !j->samples.in.n_sets)
        return QT_EXIT_OK;
    int code = qt_repair_equalize(m->path, j->repairs, &j->scheme, &j->samples, m->model, &m->graph,
                                  &m->repaired);
    if (code != QT_EXIT_OK || !m->repaired.new_graph)
        return code;
    return qt_overrides_apply(&j->opt->single, m->graph, m->path, &m->given);
}

// The first model runs; of the others only the shapes are needed.
static int calibrate(job *j) {
    for (size_t i = 0; i < j->n; i++) {
        subject *m = &j->models[i];
        const qz_run_options opt = {.n_threads = (uint32_t)j->opt->threads,
                                    .histograms = i == 0 && j->scheme.method != QZ_MINMAX,
                                    .grams = i == 0 && j->scheme.weight_bits == 4,
                                    .patches = j->n == 1 && j->scheme.weight_bits <= 8 &&
                                               (j->scheme.adaround || j->scheme.correct_bias),
                                    .n_samples = (uint32_t)j->samples.n,
                                    .shapes_only = i > 0 || !j->samples.in.n_sets};
        qt_calibration c = {.opt = &j->opt->run,
                            .model = m->path,
                            .graph = m->graph,
                            .samples = &j->samples,
                            .state = j->state_path,
                            .histograms = opt.histograms,
                            .grams = opt.grams};
        if (qz_run_open(m->graph, &opt, &c.run) != QRN_OK)
            return failed(m->path, QT_EXIT_REFUSED);
        bool first = i == 0 && (j->samples.in.n_sets || j->opt->run.merged.n);
        int code = first ? qt_calibrate(&c) : QT_EXIT_OK;
        qz_run_close(c.run);
        if (code != QT_EXIT_OK)
            return code;
    }
    return QT_EXIT_OK;
}

static int plan(job *j) {
    for (size_t i = 0; i < j->n; i++) {
        subject *m = &j->models[i];
        qrn_status s = qz_plan_shares(m->graph, &j->scheme);
        if (s == QRN_OK && i > 0)
            s = qz_plan_alike(m->graph, j->models[0].graph);
        if (s != QRN_OK)
            return failed(m->path, QT_EXIT_REFUSED);
    }
    // Graphs that are written together pass their states on among themselves.
    for (size_t i = 0; i < j->n * j->n && j->n > 1 && !j->opt->float_states; i++)
        qz_plan_states(j->models[i / j->n].graph, j->models[i % j->n].graph);
    for (size_t i = 0; i < j->n; i++)
        if (qz_plan_encodings(j->models[i].graph, &j->scheme) != QRN_OK)
            return failed(j->models[i].path, QT_EXIT_REFUSED);
    return QT_EXIT_OK;
}

static const char *soc_of(const job *j) { return j->opt->soc ? j->opt->soc : "SM8650"; }

// The precision of each layer, instead of one scheme for all.
static int search(job *j) {
    const qt_mixed_task task = {.opt = &j->opt->mixed,
                                .path = j->models[0].path,
                                .output = j->opt->output,
                                .model = j->models[0].model,
                                .graph = j->models[0].graph,
                                .scheme = &j->scheme,
                                .samples = &j->samples,
                                .soc = soc_of(j),
                                .threads = j->opt->threads,
                                .quiet = j->opt->quiet || j->opt->json};
    return qt_mixed_search(&task);
}

// --- results

// An empty list for each round of writing.
static qrn_status list_exported(job *j) {
    qz_encodings_free(j->exported);
    j->exported = NULL;
    return j->opt->single.exported ? qz_encodings_create(&j->exported) : QRN_OK;
}

static int write_models(job *j) {
    qz_weights_file *weights = NULL;
    if (j->weights_path && qz_weights_begin(j->weights_path, j->weights_name, &weights) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_FAILURE;
    }
    for (size_t i = 0; i < j->n; i++) {
        subject *m = &j->models[i];
        qt_progress("writing", i, j->n);
        if (list_exported(j) != QRN_OK || qz_write(m->graph, &j->scheme, weights, &m->bytes,
                                                   j->exported, &m->written) != QRN_OK) {
            qz_weights_abort(weights);
            return failed(m->path, m->given ? QT_EXIT_REFUSED : QT_EXIT_FAILURE);
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
    subject *m = model;
    m->n_refused++;
    qz_plan_float(m->graph, node);
}

// Writes the models, and again where the HTP refuses nodes: those that have no integer form stay
// float, which may be all that is in their way.
static int write_and_check(job *j) {
    for (int round = 0;; round++) {
        uint32_t before = 0, refused = 0;
        for (size_t i = 0; i < j->n; i++)
            before += j->models[i].n_refused;
        int code = write_models(j);
        for (size_t i = 0; code == QT_EXIT_OK && !j->opt->no_check && i < j->n; i++) {
            subject *m = &j->models[i];
            m->n_refused = 0;
            code = qt_quantized_parts(m->target, soc_of(j), keep_float, m, &m->n_parts);
            refused += m->n_refused;
        }
        if (code != QT_EXIT_OK || refused == 0 || round == MOST_ROUNDS || !j->scheme.act_bits ||
            (round && refused >= before))
            return code;
        for (size_t i = 0; i < j->n; i++)
            if (qz_plan_encodings(j->models[i].graph, &j->scheme) != QRN_OK)
                return failed(j->models[i].path, QT_EXIT_FAILURE);
    }
}

static int report(job *j) {
    json_t *list = j->opt->json ? json_array() : NULL;
    int code = QT_EXIT_OK;
    for (size_t i = 0; i < j->n && code == QT_EXIT_OK; i++) {
        const subject *m = &j->models[i];
        qt_quantized q = {.path = m->target,
                          .model = m->repaired.original,
                          .soc = soc_of(j),
                          .threads = j->opt->threads,
                          .samples = i == 0 && j->samples.in.n_sets ? &j->samples : NULL,
                          .written = &m->written,
                          .check = !j->opt->no_check,
                          .n_parts = m->n_parts,
                          .n_refused = m->n_refused};
        code = qt_quantized_report(&q, list);
        if (code == QT_EXIT_OK && !list)
            qt_report_repairs(&m->repaired, &m->written);
    }
    if (list && code == QT_EXIT_OK)
        code = qt_print_json(list);
    else
        json_decref(list);
    return code == QT_EXIT_OK ? qt_close_stdout() : code;
}

static void release(job *j) {
    for (size_t i = 0; j->models && i < j->n; i++) {
        ox_writer_free(&j->models[i].bytes);
        qz_graph_destroy(j->models[i].graph);
        qz_encodings_free(j->models[i].given);
        ox_model_close(j->models[i].model);
        ox_model_close(j->models[i].repaired.original);
        free(j->models[i].target);
    }
    qz_encodings_free(j->exported);
    qt_samples_close(&j->samples);
    free(j->models);
    free(j->weights_path);
    free(j->state_path);
}

static int run(const void *options, const qt_list *args) {
    job j = {.opt = options};
    qt_set_quiet(j.opt->quiet);
    int code = check_usage(j.opt, args->n);
    if (code == QT_EXIT_OK)
        code = read_scheme(j.opt, &j.scheme);
    if (code == QT_EXIT_OK)
        code = qt_read_repairs(j.opt->repair, &j.opt->single, &j.opt->run, &j.scheme, &j.repairs);
    if (code == QT_EXIT_OK)
        code = qt_mixed_check(&j.opt->mixed, args->n,
                              j.opt->text.text || j.opt->calibration || j.opt->in.random);
    if (code == QT_EXIT_OK && j.scheme.block && j.scheme.act_bits)
        qt_warn("the HTP has no integer activations with weights in blocks here; it runs "
                "--scheme w%u --block, or weights per channel",
                j.scheme.weight_bits);
    if (code == QT_EXIT_OK)
        code = open_models(&j, args);
    if (code == QT_EXIT_OK)
        code = open_samples(&j);
    if (code == QT_EXIT_OK)
        code = equalize(&j);
    if (code == QT_EXIT_OK)
        code = calibrate(&j);
    if (code != QT_EXIT_OK || j.opt->run.only) {
        release(&j);
        return code;
    }
    code = plan(&j);
    if (code == QT_EXIT_OK && j.opt->mixed.on)
        code = search(&j);
    if (code == QT_EXIT_OK && j.opt->mixed.on && qz_plan_encodings(j.models[0].graph, &j.scheme))
        code = failed(j.models[0].path, QT_EXIT_FAILURE);
    if (code == QT_EXIT_OK)
        code = write_and_check(&j);
    if (code == QT_EXIT_OK && j.exported)
        code = qt_overrides_export(&j.opt->single, j.exported);
    if (code == QT_EXIT_OK && j.n > 1)
        code = qt_llm_files_copy(j.models[0].path, j.opt->output);
    if (code == QT_EXIT_OK && !j.opt->quiet)
        code = report(&j);
    release(&j);
    return code;
}

const qt_command qt_quantize_command = {
    .name = "quantize",
    .summary = "quantize a float model for the NPU",
    .args = "MODEL... -o OUT",
    .min_args = 1,
    .max_args = 16,
    .about = "Calibrates a float model with samples and writes a quantized ONNX model "
             "(QuantizeLinear and DequantizeLinear nodes) that runs on the HTP and in ONNX "
             "Runtime. Reports the SQNR of its outputs against the float model.\nSeveral models, "
             "such as prefill and decode graphs of a language model, are calibrated with the first "
             "one: they must have the same structure and may differ in shapes. They share a file "
             "of weights and the encodings of their states (past_X, new_X).",
    .groups = {{"options", flags},
               {"samples", data_flags},
               {"single tensors", single_flags},
               {"mixed precision", mixed_flags},
               {"pictures", picture_flags}},
    .examples = {{"quern quantize net.onnx -o net_a8.onnx --calibration images.npz",
                  "8 bits, ranges from samples."},
                 {"quern quantize net.onnx -o net_q.onnx --encodings net.encodings",
                  "With the encodings of AIMET, without samples."},
                 {"quern quantize prefill.onnx decode.onnx -o a16w8 -s a16w8 -c text.npz",
                  "A language model."}},
    .options_size = sizeof(quantize_options),
    .run = run,
};
