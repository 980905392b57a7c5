// SPDX-License-Identifier: MIT
//
// Framework diagnosis (the model in float on the CPU) and inference engine (the model on a backend,
// quantized before where widths are given), each in a folder of its own.
#include "tools/accuracy_debugger/debugger.h"
#include "tools/quern/output.h"
#include "tools/sdk/model_values.h"
#include "tools/sdk/quantize.h"

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

static int read_filter(const ad_options *o, qs_filter *f) {
    int code = qs_words_split("add_layer_outputs", o->add_outputs, ',', &f->add_names);
    if (code == QT_EXIT_OK)
        code = qs_words_split("add_layer_types", o->add_types, ',', &f->add_types);
    if (code == QT_EXIT_OK)
        code = qs_words_split("skip_layer_outputs", o->skip_outputs, ',', &f->skip_names);
    if (code == QT_EXIT_OK)
        code = qs_words_split("skip_layer_types", o->skip_types, ',', &f->skip_types);
    return code;
}

static void free_filter(qs_filter *f) {
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

static int write_with(const ad_options *o, qs_values *v, const char *dir) {
    qt_list files = {0};
    qs_filter filter = {.outputs_only = v->tree && o->outputs_only};
    int code = read_filter(o, &filter);
    if (code == QT_EXIT_OK && !o->input_list)
        code = list_files(&o->inputs, &files);
    v->in.input_list = o->input_list;
    v->files = &files;
    v->filter = &filter;
    if (code == QT_EXIT_OK)
        code = qs_write_values(v, dir);
    free_filter(&filter);
    free_files(&files);
    return code;
}

int ad_diagnose(const ad_options *o, char *path, size_t size) {
    qs_values v = {.model = o->model, .backend = {.backend = "cpu"}, .as_float = true};
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

int ad_infer(const ad_options *o, char *path, size_t size) {
    char model[PATH_MAX];
    bool cpu = o->runtime && strcmp(o->runtime, "cpu") == 0;
    qs_values v = {.model = o->model, .tree = true};
    v.backend.backend = cpu ? "cpu" : o->runtime && strcmp(o->runtime, "gpu") == 0 ? "gpu" : "htp";
    if (strcmp(v.backend.backend, "htp") == 0)
        v.backend.soc = o->soc ? o->soc : "SM8650";
    v.backend.allow_fp16 = true;
    int code = ad_make_folder(o, "inference_engine", path, size);
    if (code == QT_EXIT_OK && (o->act_bits || o->weight_bits)) {
        int n = snprintf(model, sizeof model, "%s/quantized.onnx", path);
        const char *scheme =
            qs_scheme("--act_bitwidth", o->act_bits, "--weights_bitwidth", o->weight_bits);
        bool enhanced = o->quantizer && strcmp(o->quantizer, "enhanced") == 0;
        code =
            !scheme ? QT_EXIT_USAGE
            : n > 0 && (size_t)n < sizeof model
                ? qs_quantize(o->model, model, o->input_list, scheme, enhanced ? "mse" : "minmax")
                : QT_EXIT_FAILURE;
        v.model = model;
    }
    if (code == QT_EXIT_OK)
        code = write_with(o, &v, path);
    if (code == QT_EXIT_OK)
        qt_print("inference engine: %s\n", path);
    return code;
}
