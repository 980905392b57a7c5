// SPDX-License-Identifier: MIT
//
// quern run: a model with given inputs; results to files or summarised, and compared with a float
// reference on request.
#include "tools/quern/adapter.h"
#include "tools/quern/commands.h"
#include "tools/quern/dump.h"
#include "tools/quern/gpu.h"
#include "tools/quern/report.h"
#include "tools/quern/run_pte.h"
#include "tools/quern/subject.h"

#include <stdlib.h>
#include <string.h>

#define WORST_LAYERS 20 // rows of the table of layers
#define DEFAULT_TOP 5

typedef struct run_options {
    qt_backend_options backend;
    qt_input_options in;
    const char *outputs, *output_dir, *format, *labels, *against, *adapter;
    bool reference, per_layer, json, quiet;
    uint64_t top;
} run_options;

#define AT(field) offsetof(run_options, field)

static const qt_flag input_flags[] = {
    QT_INPUT_FLAGS(run_options, in),
    {"adapter", 0, QT_FILE, "FILE", AT(adapter), NULL,
     "apply a LoRA adapter to the context binary first"},
    {0},
};
static const qt_flag picture_flags[] = {QT_PICTURE_FLAGS(run_options, in), {0}};
static const qt_flag output_flags[] = {
    {"outputs", 'o', QT_DIR, "DIR", AT(outputs), NULL,
     "write outputs as output_0.npy, ... to this folder"},
    {"output-dir", 0, QT_DIR, "DIR", AT(output_dir), NULL,
     "write Result_<run>/<output>.raw to this folder"},
    {"format", 0, QT_CHOICE, "F", AT(format), "npy|raw", "format of the output files"},
    {"top", 'k', QT_COUNT1, "N", AT(top), NULL, "number of top scores to print (default 5)"},
    {"labels", 0, QT_FILE, "FILE", AT(labels), NULL, "file with class names, one per line"},
    {"reference", 0, QT_BOOL, NULL, AT(reference), NULL,
     "compare with the model in float32 on the CPU"},
    {"against", 0, QT_FILE, "MODEL", AT(against), NULL,
     "compare with another model, e.g. the float original"},
    {"per-layer", 0, QT_BOOL, NULL, AT(per_layer), NULL, "compare intermediate values as well"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {"quiet", 'q', QT_BOOL, NULL, AT(quiet), NULL, "print errors and data only"},
    {0},
};

// Tensors that hold the same value, of the model and of the reference.
typedef struct pair {
    const qc_tensor *got, *want;
} pair;

// A run in progress.
typedef struct job {
    const run_options *opt;
    const char *path;
    qt_subject subject;
    ox_model *against;
    qt_inputs in;
    qt_session main, reference;
    qt_array *arrays; // inputs of the current run
    ox_info *shapes;  // for which the sessions were made
    qt_labels labels;
    qt_compared *outputs, *layers; // results of the comparison
    pair *pairs;                   // the tensors behind the layers
    size_t n_layers;
    json_t *results; // one object a run, with --json
    double total_ms;
} job;

static int fail(qrn_status s, int code) {
    qt_error("%s", qrn_message());
    return s == QRN_E_MEM ? QT_EXIT_FAILURE : code;
}

static bool wants_reference(const run_options *o) {
    return o->reference || o->per_layer || o->against;
}

static bool same_shape(const qc_tensor *t, const qc_tensor *u) {
    return t->rank == u->rank && memcmp(t->dims, u->dims, t->rank * sizeof *t->dims) == 0;
}

// The tensor of the reference that should hold the same as `t`, which holds v: that of the same
// name, else that of the same plain name.
static const qc_tensor *find_pair(const qt_session *s, const ox_val *v, const qc_tensor *t) {
    size_t n = qt_plain_length(v->name);
    const qc_tensor *found = NULL;
    for (size_t i = 0; i < s->values.n; i++) {
        const ox_val *w = s->values.items[i];
        if (qt_plain_length(w->name) != n || strncmp(w->name, v->name, n) != 0)
            continue;
        const qc_tensor *u = qt_session_tensor_of(s, w);
        if (!u || !same_shape(t, u))
            continue;
        if (strcmp(w->name, v->name) == 0)
            return u;
        found = u;
    }
    return found;
}

static int match_layers(job *j) {
    const qt_values *values = &j->main.values;
    j->layers = calloc(values->n + 1, sizeof *j->layers);
    j->pairs = calloc(values->n + 1, sizeof *j->pairs);
    if (!j->layers || !j->pairs) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    for (size_t i = 0; i < values->n; i++) {
        const ox_val *v = values->items[i];
        const qc_tensor *t = qt_session_tensor_of(&j->main, v);
        const qc_tensor *u = t ? find_pair(&j->reference, v, t) : NULL;
        if (!u)
            continue;
        j->layers[j->n_layers].name = v->name;
        j->pairs[j->n_layers++] = (pair){t, u};
    }
    return QT_EXIT_OK;
}

// Both models get the same data, in the order of their inputs.
static int check_against(const job *j) {
    const ox_graph *g = j->against->graph;
    uint32_t at = 0;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const ox_info *p = &g->inputs[i];
        if (qt_find_constant(g, p->name) || at >= j->in.n_ports)
            continue;
        const qt_array *a = &j->arrays[at];
        bool fits = !p->has_shape || p->rank == a->rank;
        for (uint32_t d = 0; fits && p->has_shape && d < p->rank; d++)
            fits = p->dims[d] < 0 || (uint64_t)p->dims[d] == a->dims[d];
        char want[256], have[256];
        if (!fits) {
            qt_error("--against %s: input '%s' is %s, but the data for '%s' of %s is %s; both "
                     "models need the same inputs",
                     j->opt->against, p->name, qt_info_shape(p, want, sizeof want),
                     j->in.ports[at]->name, j->path,
                     qt_shape_text(a->rank, a->dims, have, sizeof have));
            return QT_EXIT_USAGE;
        }
        at++;
    }
    return QT_EXIT_OK;
}

static int open_reference(job *j, const ox_options *import) {
    const run_options *o = j->opt;
    const char *path = o->against ? o->against : j->path;
    if (o->against && !j->against) {
        int code = qt_open_model(path, &j->against);
        if (code == QT_EXIT_OK)
            code = check_against(j);
        if (code != QT_EXIT_OK)
            return code;
    }
    const qt_backend_options cpu = {.backend = "cpu"};
    ox_options options = *import;
    options.as_float = !o->against;
    int code = qt_session_open(path, j->against ? j->against : j->subject.model, &cpu, &options,
                               &j->reference);
    if (code != QT_EXIT_OK)
        return code;
    const ox_result *a = &j->main.model, *b = &j->reference.model;
    if (a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs) {
        qt_error("%s has %u inputs and %u outputs, %s has %u and %u", path, b->n_inputs,
                 b->n_outputs, j->path, a->n_inputs, a->n_outputs);
        return QT_EXIT_USAGE;
    }
    if (!j->outputs) {
        j->outputs = calloc(a->n_outputs + 1, sizeof *j->outputs);
        if (!j->outputs) {
            qt_error("out of memory");
            return QT_EXIT_FAILURE;
        }
    }
    return o->per_layer && !j->layers ? match_layers(j) : QT_EXIT_OK;
}

// (Re)builds the sessions for the shapes of the current arrays.
static int open_sessions(job *j) {
    qt_session_close(&j->main);
    qt_session_close(&j->reference);
    qt_inputs_shapes(&j->in, j->arrays, j->shapes);
    const ox_options import = {
        .input_shapes = j->shapes, .n_input_shapes = j->in.n_ports, .keep_all = j->opt->per_layer};
    int code = qt_subject_session(&j->subject, &j->opt->backend, &import, &j->main);
    if (code == QT_EXIT_OK && j->opt->adapter)
        code = qt_adapter_apply(j->main.client, j->opt->adapter);
    if (code == QT_EXIT_OK && wants_reference(j->opt))
        code = open_reference(j, &import);
    return code;
}

static bool same_shapes(const job *j) {
    for (uint32_t i = 0; i < j->in.n_ports; i++) {
        if (j->shapes[i].rank != j->arrays[i].rank)
            return false;
        for (uint32_t d = 0; d < j->arrays[i].rank; d++)
            if ((uint64_t)j->shapes[i].dims[d] != j->arrays[i].dims[d])
                return false;
    }
    return true;
}

static int compare(job *j, uint32_t i, const qt_array *got) {
    qt_array want;
    qrn_status s = qt_session_output(&j->reference, i, &want);
    if (s != QRN_OK)
        return fail(s, QT_EXIT_FAILURE);
    if (want.count != got->count) {
        qt_error("output '%s': %zu values, the reference has %zu", j->main.model.outputs[i].name,
                 got->count, want.count);
        qt_array_free(&want);
        return QT_EXIT_FAILURE;
    }
    j->outputs[i].name = j->main.model.outputs[i].name;
    qt_compare(&j->outputs[i].c, got, &want);
    qt_array_free(&want);
    return QT_EXIT_OK;
}

static int compare_layers(job *j) {
    for (size_t i = 0; i < j->n_layers; i++) {
        qt_array got = {0}, want = {0};
        qrn_status s = qt_session_tensor(&j->main, j->pairs[i].got, &got);
        if (s == QRN_OK)
            s = qt_session_tensor(&j->reference, j->pairs[i].want, &want);
        if (s == QRN_OK)
            qt_compare(&j->layers[i].c, &got, &want);
        qt_array_free(&got);
        qt_array_free(&want);
        if (s != QRN_OK)
            return fail(s, QT_EXIT_FAILURE);
    }
    return QT_EXIT_OK;
}

static bool is_selected(const qt_inputs *in, const char *name) {
    char plain[256];
    qt_file_name(name, plain, sizeof plain);
    for (size_t i = 0; i < in->n_selected; i++)
        if (strcmp(in->selected[i], name) == 0 || strcmp(in->selected[i], plain) == 0)
            return true;
    return in->n_selected == 0;
}

static int check_selection(const job *j) {
    for (size_t i = 0; i < j->in.n_selected; i++) {
        bool found = false;
        for (uint32_t k = 0; k < j->main.model.n_outputs && !found; k++) {
            char plain[256];
            const char *name = j->main.model.outputs[k].name;
            found = strcmp(j->in.selected[i], name) == 0 ||
                    strcmp(j->in.selected[i], qt_file_name(name, plain, sizeof plain)) == 0;
        }
        if (!found) {
            qt_error("%s: the model has no output '%s'", j->opt->in.input_list, j->in.selected[i]);
            return QT_EXIT_INPUT;
        }
    }
    return QT_EXIT_OK;
}

// Raw files hold the model's type; 4-bit values are packed again.
static bool write_raw(const char *path, const qt_array *a) {
    qt_part part = {a->data, a->bytes};
    uint8_t *packed = NULL;
    if (a->type == OX_U4 || a->type == OX_I4) {
        part.bytes = (a->count + 1) / 2;
        part.data = packed = calloc(part.bytes + 1, 1);
        if (!packed) {
            qt_error("%s: out of memory", path);
            return false;
        }
        for (size_t i = 0; i < a->count; i++)
            packed[i / 2] |= (uint8_t)((((const uint8_t *)a->data)[i] & 15) << (4 * (i & 1)));
    }
    bool ok = qt_write_result(path, &part, 1);
    free(packed);
    return ok;
}

// The place of output i: <dir>/output_<i>.npy or <dir>/Result_<set>/<name>.raw.
static int write_output(const job *j, size_t set, uint32_t i, const qt_array *a) {
    char path[4096], plain[256];
    const run_options *o = j->opt;
    bool raw = o->format ? strcmp(o->format, "raw") == 0 : o->output_dir != NULL;
    int n;
    if (o->output_dir) {
        const ox_port *ports = j->main.model.outputs;
        qt_file_name(ports[i].name, plain, sizeof plain);
        unsigned same = 0; // earlier outputs whose names fall together
        for (uint32_t k = 0; k < i; k++) {
            char other[256];
            same += strcmp(qt_file_name(ports[k].name, other, sizeof other), plain) == 0;
        }
        n = snprintf(path, sizeof path, "%s/Result_%zu", o->output_dir, set);
        if (n > 0 && (size_t)n < sizeof path && !qt_make_dir(path))
            return QT_EXIT_FAILURE;
        char number[16] = "";
        if (same)
            snprintf(number, sizeof number, "_%u", same);
        n = snprintf(path, sizeof path, "%s/Result_%zu/%s%s.%s", o->output_dir, set, plain, number,
                     raw ? "raw" : "npy");
    } else {
        n = snprintf(path, sizeof path, "%s/output_%u.%s", o->outputs, i, raw ? "raw" : "npy");
    }
    if (n < 0 || (size_t)n >= sizeof path) {
        qt_error("output '%s': the path is too long", j->main.model.outputs[i].name);
        return QT_EXIT_FAILURE;
    }
    return (raw ? write_raw(path, a) : qt_npy_write(path, a)) ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

static void show_output(const job *j, json_t *list, const char *name, const qt_array *a) {
    size_t top = j->opt->top ? (size_t)j->opt->top : DEFAULT_TOP;
    if (list)
        json_array_append_new(list, qt_json_array(name, a, top, &j->labels));
    else if (!j->opt->outputs && !j->opt->output_dir && !j->outputs)
        qt_print_array(name, a, top, &j->labels);
}

static int take_outputs(job *j, size_t set, double ms) {
    json_t *list = j->results ? json_array() : NULL;
    int code = QT_EXIT_OK;
    if (!j->opt->json && !j->opt->outputs && !j->opt->output_dir && !j->outputs && j->in.n_sets > 1)
        qt_print("run %zu\n", set);
    for (uint32_t i = 0; i < j->main.model.n_outputs && code == QT_EXIT_OK; i++) {
        const char *name = j->main.model.outputs[i].name;
        qt_array a;
        qrn_status s = qt_session_output(&j->main, i, &a);
        if (s != QRN_OK) {
            code = fail(s, QT_EXIT_REFUSED);
            break;
        }
        if (j->outputs)
            code = compare(j, i, &a);
        if (code == QT_EXIT_OK && is_selected(&j->in, name)) {
            show_output(j, list, name, &a);
            if (j->opt->outputs || j->opt->output_dir)
                code = write_output(j, set, i, &a);
        }
        qt_array_free(&a);
    }
    if (list)
        json_array_append_new(j->results,
                              json_pack("{s:o,s:f}", "outputs", list, "inference_ms", ms));
    return code;
}

static int run_set(job *j, size_t set) {
    qrn_status s = qt_inputs_load(&j->in, set, j->arrays);
    if (s != QRN_OK)
        return fail(s, QT_EXIT_INPUT);
    int code = QT_EXIT_OK;
    if (j->reference.client && !same_shapes(j)) {
        qt_error("run %zu: its shapes differ from the first run's, which --reference cannot mix",
                 set);
        return QT_EXIT_INPUT;
    }
    if (!j->main.client || !same_shapes(j))
        code = open_sessions(j);
    if (code == QT_EXIT_OK && set == 0)
        code = check_selection(j);
    if (code != QT_EXIT_OK)
        return code;
    if ((s = qt_session_set_inputs(&j->main, j->arrays)) != QRN_OK)
        return fail(s, QT_EXIT_INPUT);
    double t0 = qt_now_ms();
    if ((s = qt_session_execute(&j->main)) != QRN_OK)
        return fail(s, QT_EXIT_FAILURE);
    double ms = qt_now_ms() - t0;
    j->total_ms += ms;
    if (j->reference.client) {
        if ((s = qt_session_set_inputs(&j->reference, j->arrays)) != QRN_OK)
            return fail(s, QT_EXIT_INPUT);
        if ((s = qt_session_execute(&j->reference)) != QRN_OK)
            return fail(s, QT_EXIT_FAILURE);
        code = compare_layers(j);
    }
    return code == QT_EXIT_OK ? take_outputs(j, set, ms) : code;
}

static int run_sets(job *j) {
    int code = QT_EXIT_OK;
    for (size_t set = 0; set < j->in.n_sets && code == QT_EXIT_OK; set++) {
        qt_progress("running", set, j->in.n_sets);
        code = run_set(j, set);
        for (uint32_t i = 0; i < j->in.n_ports; i++)
            qt_array_free(&j->arrays[i]);
    }
    qt_progress(NULL, 0, 0);
    return code;
}

// Outputs that are not finite on one side only are no close results, whatever the rest is.
static int judge(const job *j) {
    int code = QT_EXIT_OK;
    for (uint32_t i = 0; j->outputs && i < j->main.model.n_outputs; i++) {
        const qt_comparison *c = &j->outputs[i].c;
        if (!c->n_mismatch)
            continue;
        qt_error("output '%s': %zu of %zu values are NaN or infinite on one side of the comparison "
                 "only",
                 j->outputs[i].name, c->n_mismatch, c->count);
        code = QT_EXIT_FAILURE;
    }
    return code;
}

static int report(job *j) {
    size_t n = j->outputs ? j->main.model.n_outputs : 0;
    qt_sort_compared(j->layers, j->n_layers);
    if (j->opt->json) {
        json_t *o =
            json_pack("{s:o,s:o,s:f,s:f,s:f,s:i,s:i,s:O}", "model", qt_json_text(j->path),
                      "backend", qt_json_text(j->main.client->path), "load_ms",
                      j->subject.load_ms + j->main.load_ms, "import_ms", j->main.import_ms,
                      "finalize_ms", j->main.finalize_ms, "ops", (int)j->main.model.graph->n_nodes,
                      "layout_transposes", (int)j->main.model.n_transposes, "results", j->results);
        qt_gpu_json(j->main.client, qt_precision(&j->opt->backend, j->subject.graph), o);
        if (o && j->outputs)
            json_object_set_new(o, "comparison", qt_json_compared(j->outputs, n));
        if (o && j->layers)
            json_object_set_new(o, "layers", qt_json_compared(j->layers, j->n_layers));
        return qt_print_json(o);
    }
    if (j->outputs)
        qt_print_compared("output", j->outputs, n, 0);
    if (j->layers) {
        qt_print("\n");
        qt_print_compared("layer, worst first", j->layers, j->n_layers, WORST_LAYERS);
    }
    qt_note("%zu run%s, %.3g ms each (load %.3g ms, import %.3g ms, finalize %.3g ms)",
            j->in.n_sets, j->in.n_sets == 1 ? "" : "s", j->total_ms / (double)j->in.n_sets,
            j->subject.load_ms + j->main.load_ms, j->main.import_ms, j->main.finalize_ms);
    return qt_close_stdout();
}

static int check_options(const run_options *o) {
    if (o->outputs && o->output_dir) {
        qt_error("--outputs and --output-dir exclude each other");
        return QT_EXIT_USAGE;
    }
    if (o->reference && o->against) {
        qt_error("--reference and --against exclude each other: both name the model to compare "
                 "with");
        return QT_EXIT_USAGE;
    }
    if (o->outputs && o->in.input_list) {
        qt_error("--input-list writes to --output-dir, not to --outputs");
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

// What needs a model cannot be had from a binary.
static int check_binary(const job *j) {
    const run_options *o = j->opt;
    if (!j->subject.graph && o->adapter) {
        qt_error("%s: adapters are for context binaries; 'quern compile -u' makes one", j->path);
        return QT_EXIT_USAGE;
    }
    if (!j->subject.graph || !(o->per_layer || (o->reference && !o->against)))
        return QT_EXIT_OK;
    if (o->per_layer && o->against)
        qt_error("%s: a context binary has no layers to compare; leave out --per-layer", j->path);
    else
        qt_error("%s: a context binary has no %s; compare with --against MODEL.onnx", j->path,
                 o->per_layer ? "layers to compare" : "float original");
    return QT_EXIT_USAGE;
}

static int prepare(job *j, const qt_list *args) {
    const run_options *o = j->opt;
    int code = check_options(o);
    if (code == QT_EXIT_OK)
        code = qt_subject_open(j->path, &o->in, &j->subject);
    if (code == QT_EXIT_OK)
        code = check_binary(j);
    if (code == QT_EXIT_OK)
        code = qt_inputs_open(j->subject.model, &o->in, args, 1, &j->in);
    if (code == QT_EXIT_OK && o->labels && qt_labels_read(o->labels, &j->labels) != QRN_OK)
        code = fail(QRN_OK, QT_EXIT_FAILURE);
    if (code == QT_EXIT_OK && o->outputs && !qt_make_dir(o->outputs))
        code = QT_EXIT_FAILURE;
    if (code != QT_EXIT_OK)
        return code;
    j->arrays = calloc(j->in.n_ports + 1, sizeof *j->arrays);
    j->shapes = calloc(j->in.n_ports + 1, sizeof *j->shapes);
    j->results = o->json ? json_array() : NULL;
    if (j->arrays && j->shapes)
        return QT_EXIT_OK;
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

// An ExecuTorch program has no float original, and its delegates hide their layers.
static int run_program(const run_options *o, const qt_list *args) {
    int code = check_options(o);
    if (code == QT_EXIT_OK && (o->adapter || wants_reference(o))) {
        qt_error("%s: an ExecuTorch program %s", args->items[0],
                 o->adapter ? "has no adapters" : "cannot be compared with a reference");
        code = QT_EXIT_USAGE;
    }
    if (code != QT_EXIT_OK)
        return code;
    bool raw = o->format ? strcmp(o->format, "raw") == 0 : o->output_dir != NULL;
    const qt_pte_options opt = {.in = &o->in,
                                .backend = &o->backend,
                                .outputs = o->outputs,
                                .output_dir = o->output_dir,
                                .raw = raw,
                                .json = o->json,
                                .top = o->top ? (size_t)o->top : DEFAULT_TOP,
                                .labels = o->labels};
    return qt_run_pte(args->items[0], &opt, args);
}

static int run(const void *options, const qt_list *args) {
    job j = {.opt = options, .path = args->items[0]};
    qt_set_quiet(j.opt->quiet);
    if (qt_is_pte(j.path))
        return run_program(j.opt, args);
    int code = prepare(&j, args);
    if (code == QT_EXIT_OK)
        code = run_sets(&j);
    if (code == QT_EXIT_OK)
        code = report(&j);
    if (code == QT_EXIT_OK)
        code = judge(&j);
    json_decref(j.results);
    qt_session_close(&j.main);
    qt_session_close(&j.reference);
    qt_inputs_close(&j.in);
    qt_subject_close(&j.subject);
    ox_model_close(j.against);
    qt_labels_free(&j.labels);
    free(j.arrays);
    free(j.shapes);
    free(j.outputs);
    free(j.layers);
    free(j.pairs);
    return code;
}

const qt_command qt_run = {
    .name = "run",
    .summary = "run a model",
    .args = "MODEL [[NAME=]FILE...]",
    .min_args = 1,
    .max_args = 1024,
    .about =
        "Runs an ONNX or .tflite model, a context binary, an EPContext model or an ExecuTorch "
        "program. Input files (.npy, .npz, .raw, .png, .jpg) are assigned in order or by name. "
        "Outputs are summarized, or written to a folder.\nRaw files hold the "
        "elements in the model's own type, in C order. Types and shapes must match the model; "
        "dynamic dimensions get the size that the files have.\nIn an input list, an item is PATH "
        "or NAME:=PATH; a first line that starts with % names the outputs to write, one that "
        "starts with # is skipped. Relative paths start at the current folder.\nA context binary "
        "runs on the backend and SoC that it was compiled for. Its quantized inputs and outputs "
        "are converted from and to real values unless --native is given.\nAn ExecuTorch program "
        "(.pte) runs its first method, or the one that --graph names, on the backend and SoC of "
        "its delegates; inputs and outputs are called input_0, output_0 and so on.\nRandom floats "
        "lie in [-1, 1), bytes have any value, larger integers are 0 to 9.\nA comparison reports "
        "for each output the signal-to-noise ratio in dB, the cosine similarity and the largest "
        "absolute difference.",
    .groups = {{"inputs", input_flags},
               {"pictures", picture_flags},
               {"outputs", output_flags},
               {"backend", qt_backend_flags}},
    .examples = {{"quern run model.onnx --random", "Does it run at all?"},
                 {"quern run net.onnx cat.jpg --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225",
                  "A photograph, normalized as ImageNet models want it."}},
    .options_size = sizeof(run_options),
    .run = run,
};
