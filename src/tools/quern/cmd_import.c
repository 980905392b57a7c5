// SPDX-License-Identifier: MIT
//
// quern import: a language model out of a GGUF file as a folder of ONNX graphs that share one file
// of weights, with tokenizer and configuration as Hugging Face lays them out.
#include "tools/quern/commands.h"
#include "tools/quern/compile.h"
#include "tools/quern/import_states.h"
#include "tools/quern/report.h"

#include "base/mem.h"
#include "frontend/llm/folder.h"
#include "frontend/llm/llama_graph.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CONTEXT 1024
#define PREFILL 128
#define WEIGHTS "weights.data"
#define MAX_FILES 8

typedef struct import_options {
    qt_backend_options backend; // of --compile
    const char *output, *weights, *logits, *text;
    uint64_t context, prefill, layers, state_bits;
    bool chunks, compile, force;
} import_options;

#define AT(field) offsetof(import_options, field)

static const qt_flag flags[] = {
    {"output", 'o', QT_DIR, "DIR", AT(output), NULL, "output folder"},
    {"weights", 'w', QT_CHOICE, "FORM", AT(weights), "fp32|fp16|w8|w4|keep",
     "type of the weight matrices: floats, 8 or 4 bits in blocks of 32, or as in the file "
     "(default: keep)"},
    {"context", 'c', QT_COUNT1, "N", AT(context), NULL,
     "context length (default: 1024, or that of the model if shorter)"},
    {"prefill", 'p', QT_COUNT1, "N", AT(prefill), NULL,
     "prompt tokens per execution (default: 128)"},
    {"logits", 0, QT_CHOICE, "WHICH", AT(logits), "last|all",
     "logits of prompts: of the last token, or of all, e.g. for perplexity (default: last)"},
    {"state-bits", 0, QT_COUNT, "N", AT(state_bits), NULL,
     "8: 8-bit KV caches, which need --text (default: fp16 caches; fp32 with fp32 weights)"},
    {"text", 0, QT_FILE, "FILE", AT(text), NULL,
     "text with which the ranges of 8-bit caches are measured"},
    {"chunks", 0, QT_BOOL, NULL, AT(chunks), NULL,
     "also write a graph that continues a long prompt"},
    {"layers", 0, QT_COUNT1, "N", AT(layers), NULL,
     "import the first N layers only, for experiments"},
    {"compile", 0, QT_BOOL, NULL, AT(compile), NULL,
     "also compile the graphs to a context binary, model.bin"},
    {"force", 0, QT_BOOL, NULL, AT(force), NULL, "overwrite existing files"},
    {0},
};

typedef struct job {
    const import_options *opt;
    ql_gguf *file;
    ql_llama model;
    ql_weight_form form;
    uint32_t context, prefill;
    ql_weights weights;
    qrn_arena *arena;
    ql_graph_form graphs[3]; // the first one is the prefill
    size_t n_graphs;
    ql_state *states;                  // of --state-bits 8, in the arena
    char written[MAX_FILES][PATH_MAX]; // by this run
    size_t n_written;
} job;

static int refused(void) {
    qt_error("%s", qrn_message());
    return QT_EXIT_REFUSED;
}

static int check_options(const import_options *o) {
    if (!o->output) {
        qt_error("no output: use --output DIR");
        return QT_EXIT_USAGE;
    }
    if (o->state_bits && o->state_bits != 8) {
        qt_error("--state-bits %llu: expected 8; without it caches are floats",
                 (unsigned long long)o->state_bits);
        return QT_EXIT_USAGE;
    }
    if ((o->state_bits == 8) != (o->text != NULL)) {
        qt_error("--state-bits 8 and --text FILE need each other: the text gives the ranges");
        return QT_EXIT_USAGE;
    }
    const qt_backend_options *b = &o->backend;
    if (!o->compile && (b->backend || b->soc || b->precision || b->threads || b->allow_fp16)) {
        qt_error("backend options need --compile");
        return QT_EXIT_USAGE;
    }
    if (o->compile && (!b->soc || strcmp(b->soc, "none") == 0) &&
        (!b->backend || strcmp(b->backend, "htp") == 0)) {
        qt_error("--compile needs a target SoC: --soc SM8750, for example");
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

static int open_model(job *j, const char *path) {
    if (access(path, R_OK) != 0) {
        qt_error("%s: %s", path, strerror(errno));
        return QT_EXIT_FAILURE;
    }
    j->arena = qrn_arena_create();
    if (!j->arena) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    if (j->opt->layers > UINT32_MAX) {
        qt_error("--layers %llu: too large", (unsigned long long)j->opt->layers);
        return QT_EXIT_USAGE;
    }
    if (ql_gguf_open(path, &j->file) != QRN_OK ||
        ql_llama_read(j->file, (uint32_t)j->opt->layers, j->arena, &j->model) != QRN_OK)
        return refused();
    return QT_EXIT_OK;
}

// Positions and tokens at once: defaults are no more than the model has.
static int choose_sizes(job *j) {
    uint64_t most = j->model.context;
    uint64_t context = j->opt->context ? j->opt->context : most < CONTEXT ? most : CONTEXT;
    uint64_t prefill = j->opt->prefill         ? j->opt->prefill
                       : context / 2 < PREFILL ? context / 2
                                               : PREFILL;
    if (context > most) {
        qt_error("%s: --context %llu: the model has %llu positions", j->file->path,
                 (unsigned long long)context, (unsigned long long)most);
        return QT_EXIT_USAGE;
    }
    if (prefill < 2 || prefill >= context) {
        qt_error("--prefill %llu: 2 to %llu are allowed, less than --context",
                 (unsigned long long)prefill, (unsigned long long)context - 1);
        return QT_EXIT_USAGE;
    }
    j->context = (uint32_t)context;
    j->prefill = (uint32_t)prefill;
    return QT_EXIT_OK;
}

static void choose_forms(job *j) {
    static const char *const words[] = {
#define X(name, word) word,
        QL_WEIGHT_FORMS(X)
#undef X
    };
    const import_options *o = j->opt;
    uint32_t context = j->context, prefill = j->prefill;
    j->form = QL_FORM_KEEP;
    for (unsigned i = 0; o->weights && i < QL_FORMS; i++)
        if (strcmp(o->weights, words[i]) == 0)
            j->form = (ql_weight_form)i;
    bool last = !o->logits || strcmp(o->logits, "last") == 0;
    j->graphs[j->n_graphs++] = (ql_graph_form){"prefill", prefill, 0, last, WEIGHTS, NULL};
    if (o->chunks)
        j->graphs[j->n_graphs++] =
            (ql_graph_form){"chunk", prefill, context - prefill, last, WEIGHTS, NULL};
    j->graphs[j->n_graphs++] = (ql_graph_form){"decode", 1, context - 1, false, WEIGHTS, NULL};
}

// DIR/name into the list of written files; NULL after a message.
static const char *new_path(job *j, const char *name) {
    char *path = j->written[j->n_written];
    if (snprintf(path, PATH_MAX, "%s/%s", j->opt->output, name) >= PATH_MAX) {
        qt_error("%s: the name is too long", j->opt->output);
        return NULL;
    }
    j->n_written++;
    return path;
}

// Nothing is written before all of it can be: names that are taken, and the room on the disk.
static int check_folder(job *j) {
    const char *names[MAX_FILES] = {WEIGHTS, "config.json", "tokenizer.json",
                                    "tokenizer_config.json"};
    char path[PATH_MAX], need[32], have[32], graph[3][32];
    size_t n = 4;
    for (size_t i = 0; i < j->n_graphs; i++) {
        snprintf(graph[i], sizeof graph[i], "%s.onnx", j->graphs[i].name);
        names[n++] = graph[i];
    }
    if (j->opt->compile)
        names[n++] = "model.bin";
    if (!qt_make_dir(j->opt->output))
        return QT_EXIT_FAILURE;
    for (size_t i = 0; i < n && !j->opt->force; i++) {
        snprintf(path, sizeof path, "%s/%s", j->opt->output, names[i]);
        if (access(path, F_OK) == 0) {
            qt_error("%s already exists; use --force to overwrite it", path);
            return QT_EXIT_FAILURE;
        }
    }
    struct statvfs disk;
    double bytes = (double)ql_weights_bytes(&j->model, j->form) * (j->opt->compile ? 2 : 1);
    if (statvfs(j->opt->output, &disk) == 0 &&
        (double)disk.f_bavail * (double)disk.f_frsize < bytes) {
        qt_error("%s: not enough disk space: %s needed, %s free", j->opt->output,
                 qt_bytes_text(bytes, need, sizeof need),
                 qt_bytes_text((double)disk.f_bavail * (double)disk.f_frsize, have, sizeof have));
        return QT_EXIT_FAILURE;
    }
    return QT_EXIT_OK;
}

static bool put_weights(void *ctx, const void *data, size_t n) {
    (void)ctx;
    return qt_file_put(data, n);
}

static void show_progress(void *ctx, size_t done, size_t total) {
    (void)ctx;
    qt_progress("weights", done, total);
}

static int write_weights(job *j) {
    const ql_sink sink = {.write = put_weights, .progress = show_progress};
    const char *path = new_path(j, WEIGHTS);
    if (!path || !qt_file_begin(path))
        return QT_EXIT_FAILURE;
    qrn_status s = ql_weights_write(&j->model, j->form, &sink, j->arena, &j->weights);
    qt_progress(NULL, 0, 0);
    bool full = s == QRN_E_SYSTEM; // the disk says why
    bool ended = qt_file_end(s == QRN_OK || full);
    if (s != QRN_OK && !full)
        return refused();
    return ended && !full ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

static int write_graph(job *j, const ql_graph_form *form, const char *path) {
    ox_writer w = {0};
    qrn_status s = ql_llama_graph(&j->model, &j->weights, form, &w);
    const qt_part whole = {w.data, w.n};
    bool ok = s == QRN_OK && qt_write_file(path, &whole, 1);
    ox_writer_free(&w);
    if (s != QRN_OK)
        return refused();
    return ok ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

static int write_graphs(job *j) {
    int code = QT_EXIT_OK;
    for (size_t i = 0; i < j->n_graphs && code == QT_EXIT_OK; i++) {
        ql_graph_form *form = &j->graphs[i];
        char name[32];
        snprintf(name, sizeof name, "%s.onnx", form->name);
        const char *path = new_path(j, name);
        code = path ? QT_EXIT_OK : QT_EXIT_FAILURE;
        if (i == 0 && code == QT_EXIT_OK && j->states) { // as floats, for the ranges
            code = write_graph(j, form, path);
            if (code == QT_EXIT_OK)
                code = qt_import_states(path, j->opt->text, j->model.layers, j->states);
        }
        form->states = j->states;
        if (code == QT_EXIT_OK)
            code = write_graph(j, form, path);
    }
    return code;
}

// The texts are made before anything is written: a tokenizer that is not supported ends the import.
typedef struct texts {
    qrn_text config, tokenizer, tokenizer_config;
} texts;

static int make_texts(const job *j, texts *t) {
    if (ql_config_json(&j->model, &t->config) != QRN_OK ||
        ql_tokenizer_json(&j->model, &t->tokenizer) != QRN_OK ||
        ql_tokenizer_config_json(&j->model, &t->tokenizer_config) != QRN_OK)
        return refused();
    return QT_EXIT_OK;
}

static int write_texts(job *j, const texts *t) {
    const struct {
        const char *name;
        const qrn_text *text;
    } files[] = {{"config.json", &t->config},
                 {"tokenizer.json", &t->tokenizer},
                 {"tokenizer_config.json", &t->tokenizer_config}};
    for (size_t i = 0; i < 3; i++) {
        const char *path = new_path(j, files[i].name);
        const qt_part whole = {files[i].text->data, files[i].text->n};
        if (!path || !qt_write_file(path, &whole, 1))
            return QT_EXIT_FAILURE;
    }
    return QT_EXIT_OK;
}

static int compile(const job *j) {
    char output[PATH_MAX], paths[3][PATH_MAX];
    const char *items[3];
    for (size_t i = 0; i < j->n_graphs; i++) {
        snprintf(paths[i], PATH_MAX, "%s/%s.onnx", j->opt->output, j->graphs[i].name);
        items[i] = paths[i];
    }
    snprintf(output, sizeof output, "%s/model.bin", j->opt->output);
    const qt_compile_options o = {.backend = j->opt->backend, .output = output};
    return qt_compile_models(&o, &(qt_list){items, j->n_graphs});
}

static int report(const job *j) {
    const ql_llama *m = &j->model;
    char a[32], b[32];
    double n = 0;
    for (uint32_t i = 0; i < j->file->n_tensors; i++)
        n += (double)j->file->tensors[i].n_values;
    qt_print("%s%s%s  %s, %u layers, %s parameters; weights %s\n", qt_style_on(QT_BOLD),
             j->opt->output, qt_style_off(), m->arch, m->layers, qt_count_text(n, a, sizeof a),
             qt_bytes_text((double)j->weights.bytes, b, sizeof b));
    for (size_t i = 0; i < j->n_graphs; i++)
        qt_print("  %s.onnx  %u token%s after up to %u\n", j->graphs[i].name, j->graphs[i].tokens,
                 j->graphs[i].tokens == 1 ? "" : "s", j->graphs[i].past);
    if (j->form != QL_FORM_FP32 && j->form != QL_FORM_FP16 && j->weights.n_requantized)
        qt_print("  %u matrices are requantized, %u keep the file's values\n",
                 j->weights.n_requantized, j->weights.n_exact);
    return qt_close_stdout();
}

static int import(job *j, const char *path, texts *t) {
    int code = check_options(j->opt);
    struct stat st;
    if (code == QT_EXIT_OK && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        qt_error("%s: a folder, but a GGUF file is expected; llama.cpp's convert_hf_to_gguf.py "
                 "makes one of a Hugging Face model",
                 path);
        code = QT_EXIT_REFUSED;
    }
    if (code == QT_EXIT_OK)
        code = open_model(j, path);
    if (code == QT_EXIT_OK)
        code = choose_sizes(j);
    if (code == QT_EXIT_OK)
        code = make_texts(j, t);
    if (code != QT_EXIT_OK)
        return code;
    choose_forms(j);
    if (j->opt->state_bits == 8) {
        j->states = qrn_arena_alloc(j->arena, 2 * j->model.layers * sizeof *j->states);
        if (!j->states)
            return qt_no_memory();
    }
    code = check_folder(j);
    if (code == QT_EXIT_OK)
        code = write_weights(j);
    if (code == QT_EXIT_OK)
        code = write_texts(j, t);
    if (code == QT_EXIT_OK)
        code = write_graphs(j);
    for (size_t i = 0; i < j->n_written && code != QT_EXIT_OK; i++)
        unlink(j->written[i]); // a part of a model is none
    if (code == QT_EXIT_OK)
        code = report(j);
    return code == QT_EXIT_OK && j->opt->compile ? compile(j) : code;
}

static int run(const void *options, const qt_list *args) {
    job *j = calloc(1, sizeof *j);
    texts t = {0};
    if (!j) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    j->opt = options;
    int code = import(j, args->items[0], &t);
    free(t.config.data);
    free(t.tokenizer.data);
    free(t.tokenizer_config.data);
    qrn_strmap_clear(&j->weights.by_name);
    ql_gguf_close(j->file);
    qrn_arena_destroy(j->arena);
    free(j);
    return code;
}

const qt_command qt_import = {
    .name = "import",
    .summary = "convert a GGUF language model to ONNX graphs",
    .args = "MODEL.gguf -o DIR",
    .min_args = 1,
    .max_args = 1,
    .about =
        "Writes a folder with a prefill graph, a decode graph, their shared weights, the tokenizer "
        "and the configuration. 'quern generate' runs the folder; every command that reads ONNX "
        "models reads the graphs.\nSupported: architectures llama and qwen2; weights F32, F16, "
        "BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K; byte-level BPE tokenizers. "
        "Everything else is rejected with its name.\nWith 4-bit weights the embedding and the head "
        "have 8 bits. Blocks of Q8_0, Q4_0, Q4_1 and Q4_K are kept exactly if the target type has "
        "as many bits. The report lists what is requantized.",
    .groups = {{"options", flags}, {"backend, with --compile", qt_backend_flags}},
    .examples = {{"quern import model.gguf -o model", "Graphs with the file's own bits."},
                 {"quern import model.gguf -o model --weights w4 --compile --soc SM8750",
                  "From a public file to a context binary."}},
    .options_size = sizeof(import_options),
    .run = run,
};
