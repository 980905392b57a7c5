// SPDX-License-Identifier: MIT
//
// quern quantize: a float model in, a quantized one out. Calibrates, plans, writes, and says how
// far the result is from the float model.
#include "quantizer/declare.h"
#include "tools/quern/commands.h"
#include "tools/quern/context_node.h"
#include "tools/quern/llm_files.h"
#include "tools/quern/quantize_check.h"
#include "tools/quern/quantize_job.h"
#include "tools/quern/report.h"

#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(qt_quantize_options, field)

static const qt_flag flags[] = {
    {"output", 'o', QT_FILE, "OUT", AT(output), NULL,
     "output file; for several models, the output folder"},
    {"scheme", 's', QT_CHOICE, "S", AT(scheme), "a8w8|a16w8|a16w4|a16w16|a8w4|w8|w4|float",
     "bits of activations and weights, or of weights only (default a8w8)"},
    {"activations", 0, QT_CHOICE, "A", AT(activations), "a8|a16",
     "bits of activations, instead of --scheme"},
    {"weights", 0, QT_CHOICE, "W", AT(weights), "w4|w8|w16",
     "bits of weights, instead of --scheme"},
    {"block", 0, QT_COUNT, "N", AT(block), NULL,
     "one scale per N weights of a channel; 0: one per channel"},
    {"per-tensor", 0, QT_BOOL, NULL, AT(per_tensor), NULL, "one scale per weight tensor"},
    {"symmetric", 0, QT_BOOL, NULL, AT(symmetric), NULL, "symmetric encodings for activations"},
    {"float-below", 0, QT_NUMBER, "DB", AT(float_below), NULL,
     "keep 16-bit tensors below this SNR in fp16 (default 40)"},
    {"all-integers", 0, QT_BOOL, NULL, AT(all_integers), NULL, "keep no tensor in fp16"},
    {"float-states", 0, QT_BOOL, NULL, AT(float_states), NULL,
     "keep KV caches (past_X, new_X) in float"},
    {"state-bits", 0, QT_COUNT, "N", AT(state_bits), NULL,
     "bits of KV caches (past_X, new_X): 8 (default) or, with a16, 16"},
    {"repair", 0, QT_TEXT, "LIST", AT(repair), NULL,
     "repairs of the model: auto (default), none, or a list (docs/quantize.md)"},
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
    QT_DIM_FLAG(qt_quantize_options, in),
    QT_CALIBRATION_FLAGS(qt_quantize_options, run),
    {"method", 'm', QT_CHOICE, "M", AT(method), "minmax|percentile|mse|sqnr|entropy|auto",
     "how ranges are chosen (default minmax); auto tries the first four"},
    {"percentile", 0, QT_NUMBER, "P", AT(percentile), NULL,
     "share of values inside the range (default 99.99)"},
    {0},
};

static const qt_flag single_flags[] = {QT_OVERRIDE_FLAGS(qt_quantize_options, single), {0}};

static const qt_flag mixed_flags[] = {QT_MIXED_FLAGS(qt_quantize_options, mixed), {0}};

static const qt_flag picture_flags[] = {QT_PICTURE_FLAGS(qt_quantize_options, in), {0}};

static int open_model(const qt_quantize_job *j, const char *path, bool all_rows,
                      qt_quantize_model *m) {
    m->path = path;
    int code = qt_open_nodes(path, &j->opt->in, &m->model);
    if (code == QT_EXIT_OK && all_rows && !qt_text_all_rows(m->model))
        return qt_no_memory();
    if (code == QT_EXIT_OK)
        code = qt_repair_fold(path, &j->opt->in, j->repairs, m->model, &m->repaired);
    if (code != QT_EXIT_OK)
        return code;
    if (qz_declare(m->model) != QRN_OK || qz_graph_create(m->model, &m->graph) != QRN_OK)
        return qt_failed(path, QT_EXIT_REFUSED);
    return qt_overrides_apply(&j->opt->single, m->graph, path, &m->given);
}

static int open_models(qt_quantize_job *j, const qt_list *args) {
    j->n = args->n;
    j->models = calloc(args->n, sizeof *j->models);
    if (!j->models)
        return qt_no_memory();
    for (size_t i = 0; i < args->n; i++) {
        int code = open_model(j, args->items[i], false, &j->models[i]);
        if (code != QT_EXIT_OK)
            return code;
    }
    if (j->opt->text.text && qt_text_one_row(j->models[0].model)) {
        int code = QT_EXIT_OK;
        if (j->n > 1)
            code = open_model(j, args->items[0], true, &j->all_rows);
        else
            qt_warn("%s gives the logits of one token: ranges behind its choice come from one "
                    "token of each window; 'quern import --logits all' makes a graph of all",
                    args->items[0]);
        if (code != QT_EXIT_OK)
            return code;
    }
    return qt_quantize_name(j, args);
}

// --- calibration

static int open_samples(qt_quantize_job *j, const qt_quantize_model *m) {
    const qt_quantize_options *o = j->opt;
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
static int equalize(qt_quantize_job *j) {
    qt_quantize_model *m = &j->models[0];
    if (j->n > 1 || !j->samples.in.n_sets)
        return QT_EXIT_OK;
    int code = qt_repair_equalize(m->path, j->repairs, &j->scheme, &j->samples, m->model, &m->graph,
                                  &m->repaired);
    if (code != QT_EXIT_OK || !m->repaired.new_graph)
        return code;
    return qt_overrides_apply(&j->opt->single, m->graph, m->path, &m->given);
}

// One model runs; of the others only the shapes are needed.
static int calibrate_model(qt_quantize_job *j, qt_quantize_model *m) {
    bool runs = m == qt_quantize_calibrated(j);
    const qz_run_options opt = {
        .n_threads = (uint32_t)j->opt->threads,
        .histograms = runs && (j->choose_method || j->scheme.method != QZ_MINMAX),
        .grams = runs && j->scheme.weight_bits == 4,
        .patches = j->n == 1 && !j->opt->run.only && j->scheme.weight_bits <= 8 &&
                   (j->scheme.adaround || j->scheme.correct_bias),
        .n_samples = (uint32_t)j->samples.n,
        .shapes_only = !runs || !j->samples.in.n_sets};
    qt_calibration c = {.opt = &j->opt->run,
                        .model = m->path,
                        .graph = m->graph,
                        .samples = &j->samples,
                        .state = j->state_path,
                        .histograms = opt.histograms,
                        .grams = opt.grams};
    if (qz_run_open(m->graph, &opt, &c.run) != QRN_OK)
        return qt_failed(m->path, QT_EXIT_REFUSED);
    runs = runs && (j->samples.in.n_sets || j->opt->run.merged.n);
    int code = runs ? qt_calibrate(&c) : QT_EXIT_OK;
    qz_run_close(c.run);
    return code;
}

static int calibrate(qt_quantize_job *j) {
    int code = QT_EXIT_OK;
    if (j->all_rows.path)
        code = calibrate_model(j, &j->all_rows);
    for (size_t i = 0; i < j->n && code == QT_EXIT_OK; i++)
        code = calibrate_model(j, &j->models[i]);
    return code;
}

static int plan(qt_quantize_job *j) {
    const qt_quantize_model *from = qt_quantize_calibrated(j);
    for (size_t i = 0; i < j->n && j->n > 1 && j->scheme.narrow_states; i++) {
        for (size_t k = 0; k < j->n; k++)
            qz_plan_narrow_states(j->models[i].graph, j->models[k].graph);
        qz_plan_narrow_states(j->models[i].graph, from->graph);
    }
    if (j->all_rows.path && qz_plan_shares(from->graph, &j->scheme) != QRN_OK)
        return qt_failed(from->path, QT_EXIT_REFUSED);
    for (size_t i = 0; i < j->n; i++) {
        qt_quantize_model *m = &j->models[i];
        qrn_status s = qz_plan_shares(m->graph, &j->scheme);
        if (s == QRN_OK && m != from)
            s = qz_plan_alike(m->graph, from->graph);
        if (s != QRN_OK)
            return qt_failed(m->path, QT_EXIT_REFUSED);
    }
    // Graphs that are written together pass their states on among themselves.
    for (size_t i = 0; i < j->n * j->n && j->n > 1 && !j->opt->float_states; i++)
        qz_plan_states(j->models[i / j->n].graph, j->models[i % j->n].graph);
    for (size_t i = 0; i < j->n; i++)
        if (qz_plan_encodings(j->models[i].graph, &j->scheme) != QRN_OK)
            return qt_failed(j->models[i].path, QT_EXIT_REFUSED);
    return QT_EXIT_OK;
}

// The precision of each layer, instead of one scheme for all.
static int search(qt_quantize_job *j) {
    const qt_mixed_task task = {.opt = &j->opt->mixed,
                                .path = j->models[0].path,
                                .output = j->opt->output,
                                .model = j->models[0].model,
                                .graph = j->models[0].graph,
                                .scheme = &j->scheme,
                                .samples = &j->samples,
                                .soc = qt_quantize_soc(j),
                                .threads = j->opt->threads,
                                .quiet = j->opt->quiet || j->opt->json};
    return qt_mixed_search(&task);
}

static int report(qt_quantize_job *j) {
    int code = QT_EXIT_OK;
    if (j->all_rows.path && !j->opt->no_check) { // the samples are those of all rows
        qt_samples_close(&j->samples);
        j->samples = (qt_samples){0};
        code = open_samples(j, &j->models[0]);
    }
    json_t *list = j->opt->json ? json_array() : NULL;
    for (size_t i = 0; i < j->n && code == QT_EXIT_OK; i++) {
        const qt_quantize_model *m = &j->models[i];
        qt_quantized q = {.path = m->target,
                          .shown = j->onnx ? j->opt->output : m->target,
                          .model = m->repaired.original,
                          .soc = qt_quantize_soc(j),
                          .threads = j->opt->threads,
                          .samples = i == 0 && j->samples.in.n_sets ? &j->samples : NULL,
                          .written = &m->written,
                          .method = j->methods.n ? j->methods.tried[j->methods.best].name : NULL,
                          .check = !j->opt->no_check,
                          .n_parts = m->n_parts,
                          .n_refused = m->n_refused};
        code = qt_quantized_report(&q, list);
        if (code == QT_EXIT_OK && !list)
            qt_report_repairs(&m->repaired, &m->written);
        if (code == QT_EXIT_OK && !list)
            qt_report_method(&j->methods);
    }
    if (list && code == QT_EXIT_OK)
        code = qt_print_json(list);
    else
        json_decref(list);
    return code == QT_EXIT_OK ? qt_close_stdout() : code;
}

static void release_model(qt_quantize_model *m) {
    ox_writer_free(&m->bytes);
    qz_graph_destroy(m->graph);
    qz_encodings_free(m->given);
    ox_model_close(m->model);
    ox_model_close(m->repaired.original);
    free(m->target);
}

static void release(qt_quantize_job *j) {
    qt_quantize_clean(j);
    for (size_t i = 0; j->models && i < j->n; i++)
        release_model(&j->models[i]);
    release_model(&j->all_rows);
    qz_encodings_free(j->exported);
    qt_samples_close(&j->samples);
    free(j->models);
    free(j->onnx);
    free(j->weights_path);
    free(j->state_path);
}

// --calibration was forgotten before the data.
static int check_models(const qt_list *args) {
    for (size_t i = 1; i < args->n; i++) {
        const char *dot = strrchr(args->items[i], '.');
        if (!dot || (strcmp(dot, ".npz") != 0 && strcmp(dot, ".npy") != 0))
            continue;
        qt_error("%s: data where a model is expected; use --calibration %s", args->items[i],
                 args->items[i]);
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

static int run(const void *options, const qt_list *args) {
    qt_quantize_job j = {.opt = options};
    qt_set_quiet(j.opt->quiet);
    int code = check_models(args);
    if (code == QT_EXIT_OK)
        code = qt_quantize_usage(j.opt, args->n);
    if (code == QT_EXIT_OK)
        code = qt_quantize_scheme(j.opt, &j.scheme);
    if (code == QT_EXIT_OK)
        code = qt_read_repairs(j.opt->repair, &j.opt->single, &j.opt->run, &j.scheme, &j.repairs);
    if (code == QT_EXIT_OK)
        code = qt_mixed_check(&j.opt->mixed, args->n,
                              j.opt->text.text || j.opt->calibration || j.opt->in.random);
    if (code == QT_EXIT_OK && j.scheme.block && j.scheme.act_bits)
        qt_warn("the HTP has no integer activations with weights in blocks here; it runs "
                "--scheme w%u --block, or weights per channel",
                j.scheme.weight_bits);
    j.choose_method = qt_quantize_auto(j.opt) && j.scheme.act_bits == 8;
    if (code == QT_EXIT_OK)
        code = open_models(&j, args);
    if (code == QT_EXIT_OK)
        code = open_samples(&j, qt_quantize_calibrated(&j));
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
        code = qt_failed(j.models[0].path, QT_EXIT_FAILURE);
    j.models[0].graph->keeps_rounded |= j.choose_method; // candidates share rounded weights
    if (code == QT_EXIT_OK)
        code = qt_quantize_write(&j);
    if (code == QT_EXIT_OK && j.choose_method)
        code = qt_quantize_method(&j);
    if (code == QT_EXIT_OK && j.exported)
        code = qt_overrides_export(&j.opt->single, j.exported);
    if (code == QT_EXIT_OK && j.n > 1)
        code = qt_llm_files_copy(j.models[0].path, j.opt->output);
    if (code == QT_EXIT_OK)
        code = qt_quantize_dlc(&j);
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
             "Runtime; with an output that ends in .dlc, a DLC file. Reports the SQNR of its "
             "outputs against the float model.\nSeveral models, "
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
    .options_size = sizeof(qt_quantize_options),
    .run = run,
};
