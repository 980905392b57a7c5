// SPDX-License-Identifier: MIT
//
// Framework diagnosis (the model in float on the CPU) and inference engine (the model on a backend,
// quantized before where widths are given), each in a folder of its own.
#include "tools/accuracy_debugger/debugger.h"
#include "tools/accuracy_debugger/values.h"
#include "tools/quern/commands.h"
#include "tools/quern/output.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int ad_make_folder(const ad_options *o, const char *feature, char *path, size_t size) {
    char when[32], link[PATH_MAX], fresh[PATH_MAX];
    time_t now = time(NULL);
    struct tm local;
    strftime(when, sizeof when, "%Y-%m-%d_%H-%M-%S", localtime_r(&now, &local));
    const char *name = o->dirname ? o->dirname : when;
    const char *root = o->working_dir ? o->working_dir : "working_directory";
    int n = snprintf(path, size, "%s/%s", root, feature);
    int m = snprintf(link, sizeof link, "%s/%s/latest", root, feature);
    int k = snprintf(fresh, sizeof fresh, "%s.new", link);
    if (n < 0 || (size_t)n + strlen(name) + 2 >= size || m < 0 || k < 0 ||
        (size_t)k >= sizeof fresh || strchr(name, '/') || name[0] == '.') {
        qt_error("%s/%s/%s: not a folder of this program: the path is too long, or the name has a "
                 "'/' or begins with a '.'",
                 root, feature, name);
        return QT_EXIT_USAGE;
    }
    if (!qt_make_dir(root) || !qt_make_dir(path))
        return QT_EXIT_FAILURE;
    snprintf(path + n, size - (size_t)n, "/%s", name);
    if (!qt_make_dir(path))
        return QT_EXIT_FAILURE;
    unlink(fresh);
    if (symlink(name, fresh) == 0 && rename(fresh, link) == 0)
        return QT_EXIT_OK;
    qt_error("%s: %s", link, strerror(errno));
    return QT_EXIT_FAILURE;
}

static int read_filter(const ad_options *o, ad_filter *f) {
    int code = qs_words_split("add_layer_outputs", o->add_outputs, ',', &f->add_names);
    if (code == QT_EXIT_OK)
        code = qs_words_split("add_layer_types", o->add_types, ',', &f->add_types);
    if (code == QT_EXIT_OK)
        code = qs_words_split("skip_layer_outputs", o->skip_outputs, ',', &f->skip_names);
    if (code == QT_EXIT_OK)
        code = qs_words_split("skip_layer_types", o->skip_types, ',', &f->skip_types);
    return code;
}

static void free_filter(ad_filter *f) {
    qs_words_free(&f->add_names);
    qs_words_free(&f->add_types);
    qs_words_free(&f->skip_names);
    qs_words_free(&f->skip_types);
}

// "name\037dims\037file[\037type]" of each --input_tensor to "name=file".
static int list_files(const qt_list *inputs, qt_list *out) {
    for (size_t i = 0; i < inputs->n; i++) {
        char *copy = strdup(inputs->items[i]), *rest = copy, *words[4] = {0};
        int n = 0;
        for (; n < 4 && rest; n++)
            words[n] = strsep(&rest, "\037");
        size_t size = n > 2 ? strlen(words[0]) + strlen(words[2]) + 2 : 0;
        char *text = size ? malloc(size) : NULL;
        if (text)
            snprintf(text, size, "%s=%s", words[0], words[2]);
        bool added = text && qt_list_add(out, text);
        free(copy);
        if (n < 3)
            qt_error("--input_tensor %s: expected NAME DIMS FILE [TYPE]", inputs->items[i]);
        else if (!added)
            qt_error("out of memory");
        if (!added) {
            free(text);
            return n < 3 ? QT_EXIT_USAGE : QT_EXIT_FAILURE;
        }
    }
    return QT_EXIT_OK;
}

static void free_files(qt_list *files) {
    for (size_t i = 0; i < files->n; i++)
        free((char *)(uintptr_t)files->items[i]);
    free(files->items);
}

static int write_with(const ad_options *o, ad_values *v, const char *dir) {
    qt_list files = {0};
    ad_filter filter = {.outputs_only = v->tree && o->outputs_only};
    int code = read_filter(o, &filter);
    if (code == QT_EXIT_OK && !o->input_list)
        code = list_files(&o->inputs, &files);
    v->in.input_list = o->input_list;
    v->files = &files;
    v->filter = &filter;
    if (code == QT_EXIT_OK)
        code = ad_write_values(v, dir);
    free_filter(&filter);
    free_files(&files);
    return code;
}

int ad_diagnose(const ad_options *o, char *path, size_t size) {
    ad_values v = {.model = o->model, .backend = {.backend = "cpu"}, .as_float = true};
    if (o->input_list) // one folder for each line, as the inference engine has them
        v.tree = true;
    int code = ad_make_folder(o, "framework_diagnosis", path, size);
    if (code == QT_EXIT_OK)
        code = write_with(o, &v, path);
    if (code == QT_EXIT_OK)
        qt_print("framework diagnosis: %s\n", path);
    return code;
}

// --- inference engine

static const char *scheme_of(const ad_options *o) {
    static const struct {
        const char *act, *weights, *scheme;
    } known[] = {{"8", "8", "a8w8"},
                 {"8", "4", "a8w4"},
                 {"16", "8", "a16w8"},
                 {"16", "4", "a16w4"},
                 {"16", "16", "a16w16"}};
    const char *act = o->act_bits ? o->act_bits : "8";
    const char *weights = o->weight_bits ? o->weight_bits : "8";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].act, act) == 0 && strcmp(known[i].weights, weights) == 0)
            return known[i].scheme;
    qt_error("--act_bitwidth %s with --weights_bitwidth %s is not supported; allowed are 8 with 4 "
             "and 8, 16 with 4, 8 and 16",
             act, weights);
    return NULL;
}

// Quantizes the model by `quern quantize`, into the folder.
static int quantize(const ad_options *o, const char *path) {
    const char *scheme = scheme_of(o);
    if (!scheme)
        return QT_EXIT_USAGE;
    bool enhanced = o->quantizer && strcmp(o->quantizer, "enhanced") == 0;
    const char *words[] = {o->model,        "--output",    path,
                           "--calibration", o->input_list, "--scheme",
                           scheme,          "--method",    enhanced ? "mse" : "minmax",
                           "--no-check",    "--quiet"};
    qt_list args = {0};
    const qt_command *c = &qt_quantize_command;
    void *options = calloc(1, c->options_size);
    int code = options ? qt_flags_parse(c, (int)(sizeof words / sizeof words[0]),
                                        (char **)(uintptr_t)words, options, &args)
                       : QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK)
        code = c->run(options, &args);
    if (options)
        qt_flags_free(c, options, &args);
    free(options);
    return code;
}

int ad_infer(const ad_options *o, char *path, size_t size) {
    char model[PATH_MAX];
    bool cpu = o->runtime && strcmp(o->runtime, "cpu") == 0;
    ad_values v = {.model = o->model, .tree = true};
    v.backend.backend = cpu ? "cpu" : o->runtime && strcmp(o->runtime, "gpu") == 0 ? "gpu" : "htp";
    if (strcmp(v.backend.backend, "htp") == 0)
        v.backend.soc = o->soc ? o->soc : "SM8650";
    v.backend.allow_fp16 = true;
    int code = ad_make_folder(o, "inference_engine", path, size);
    if (code == QT_EXIT_OK && (o->act_bits || o->weight_bits)) {
        int n = snprintf(model, sizeof model, "%s/quantized.onnx", path);
        code = n > 0 && (size_t)n < sizeof model ? quantize(o, model) : QT_EXIT_FAILURE;
        v.model = model;
    }
    if (code == QT_EXIT_OK)
        code = write_with(o, &v, path);
    if (code == QT_EXIT_OK)
        qt_print("inference engine: %s\n", path);
    return code;
}
