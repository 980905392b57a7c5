// SPDX-License-Identifier: MIT
//
// The quantizer as a program of its own: it prints its own messages and reports.
#include "tools/onnx_converter/quantize.h"

#include "tools/quern/output.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

// The program quern beside this one.
static bool find_quern(char path[PATH_MAX]) {
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 16);
    if (n <= 0)
        return false;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    memcpy(slash + 1, "quern", 6);
    return access(path, X_OK) == 0;
}

static int run(char **words) {
    pid_t pid;
    int status = 0;
    if (posix_spawn(&pid, words[0], NULL, NULL, words, environ) != 0) {
        qt_error("%s: %s", words[0], strerror(errno));
        return QT_EXIT_FAILURE;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return QT_EXIT_FAILURE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : QT_EXIT_FAILURE;
}

static const char *scheme_of(const mc_options *o) {
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

int mc_quantize(const mc_options *o, qrn_arena *a, char **path) {
    char quern[PATH_MAX], folder[] = "/tmp/quern-convert-XXXXXX";
    const char *scheme = scheme_of(o);
    bool enhanced = o->act_method && strcmp(o->act_method, "enhanced") == 0;
    if (!scheme)
        return QT_EXIT_USAGE;
    if (o->dims.n || o->batch || o->symbols.n || o->outputs.n || o->op_configs.n) {
        qt_error("--input_list with --input_dim, --batch, --define_symbol, --out_node or "
                 "--op_package_config is not supported; change the model first");
        return QT_EXIT_USAGE;
    }
    if (!find_quern(quern)) {
        qt_error("--input_list: the program quern is not beside this one");
        return QT_EXIT_FAILURE;
    }
    if (!mkdtemp(folder)) {
        qt_error("%s: %s", folder, strerror(errno));
        return QT_EXIT_FAILURE;
    }
    char *made = qrn_arena_alloc(a, sizeof folder + 16);
    if (!made)
        return no_memory();
    snprintf(made, sizeof folder + 16, "%s/model.onnx", folder);
    char *words[] = {quern,
                     (char *)(uintptr_t) "quantize",
                     (char *)(uintptr_t)o->input,
                     (char *)(uintptr_t) "--output",
                     made,
                     (char *)(uintptr_t) "--calibration",
                     (char *)(uintptr_t)o->input_list,
                     (char *)(uintptr_t) "--scheme",
                     (char *)(uintptr_t)scheme,
                     (char *)(uintptr_t) "--method",
                     (char *)(uintptr_t)(enhanced ? "mse" : "minmax"),
                     (char *)(uintptr_t) "--no-check",
                     (char *)(uintptr_t) "--quiet",
                     NULL};
    int code = run(words);
    *path = made;
    return code;
}

void mc_quantize_end(const char *path) {
    char folder[64];
    if (!path)
        return;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    char extra[96];
    snprintf(extra, sizeof extra, "%s/model.onnx.data", folder);
    unlink(path);
    unlink(extra);
    if (rmdir(folder) != 0)
        qt_warn("%s: %s", folder, strerror(errno));
}
