// SPDX-License-Identifier: MIT
//
// The model's data become a part of the library by the assembler's .incbin, from a link in a
// temporary folder, so that names of files need no quotes. The library takes its final name when it
// is complete.
#include "tools/model_lib_generator/compile_target.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#if defined(__x86_64__)
#define HOST "x86_64-linux-clang"
#elif defined(__aarch64__)
#define HOST "aarch64-oe-linux-gcc11.2"
#else
#define HOST "host"
#endif

// Targets, the variable that names a compiler for each, and the one that is tried without it.
static const struct {
    const char *name, *variable, *compiler;
} targets[] = {
    {HOST, "CXX", "c++"},
#if !defined(__aarch64__)
    {"aarch64-oe-linux-gcc11.2", "AARCH64_CXX", "aarch64-linux-gnu-g++"},
#endif
    {"aarch64-oe-linux-gcc9.3", "AARCH64_CXX", "aarch64-linux-gnu-g++"},
    {"aarch64-ubuntu-gcc9.4", "AARCH64_CXX", "aarch64-linux-gnu-g++"},
    {"aarch64-android", "ANDROID_CXX", "aarch64-linux-android21-clang++"},
};

const char *ml_host_target(void) { return HOST; }

static bool is_there(char path[PATH_MAX], const char *folder) {
    char header[PATH_MAX];
    int n = snprintf(header, sizeof header, "%s/QNN/QnnInterface.h", folder);
    if (n <= 0 || n >= PATH_MAX || access(header, R_OK) != 0)
        return false;
    snprintf(path, PATH_MAX, "%s", folder);
    return true;
}

bool ml_find_headers(ml_job *j) {
    char folder[PATH_MAX], own[PATH_MAX];
    const char *root = secure_getenv("QNN_SDK_ROOT");
    if (root && snprintf(folder, sizeof folder, "%s/include", root) < PATH_MAX &&
        is_there(j->include, folder))
        return true;
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    for (int up = 0; n > 0 && up < 3; up++) { // bin/<target>/program, bin/program
        own[n] = 0;
        char *slash = strrchr(own, '/');
        if (!slash)
            break;
        *slash = 0;
        n = slash - own;
        if (snprintf(folder, sizeof folder, "%s/include", own) < PATH_MAX &&
            is_there(j->include, folder))
            return true;
    }
    qt_error("the headers are not found: set QNN_SDK_ROOT to the folder that has include/QNN");
    return false;
}

static int run(const char *const *words, bool say) {
    pid_t pid;
    int status = 0;
    for (size_t i = 0; say && words[i]; i++)
        fprintf(stderr, "%s%s", words[i], words[i + 1] ? " " : "\n");
    int e = posix_spawnp(&pid, words[0], NULL, NULL, (char *const *)(uintptr_t)words, environ);
    if (e != 0) {
        qt_error("%s: %s", words[0], strerror(e));
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// --- the data

static const char assembly[] = "    .section .rodata\n"
                               "    .globl quern_model_bin, quern_model_bin_end\n"
                               "    .hidden quern_model_bin, quern_model_bin_end\n"
                               "    .balign 64\n"
                               "quern_model_bin:\n"
                               "    .incbin \"model.bin\"\n"
                               "quern_model_bin_end:\n"
                               "    .byte 0\n"
                               "    .section .note.GNU-stack,\"\",%progbits\n";

// Files of a build, in a folder of their own.
typedef struct work {
    char folder[64], data[96], text[96], library[PATH_MAX];
} work;

static void clean(const work *w) {
    unlink(w->data);
    unlink(w->text);
    unlink(w->library);
    rmdir(w->folder);
}

static bool prepare(const ml_job *j, work *w) {
    char real[PATH_MAX];
    *w = (work){.folder = "/tmp/quern-model-XXXXXX"};
    if (!mkdtemp(w->folder)) {
        qt_error("%s: %s", w->folder, strerror(errno));
        return false;
    }
    snprintf(w->data, sizeof w->data, "%s/model.bin", w->folder);
    snprintf(w->text, sizeof w->text, "%s/model.S", w->folder);
    if (!j->data)
        return true;
    if (!realpath(j->data, real) || symlink(real, w->data) != 0) {
        qt_error("%s: %s", j->data, strerror(errno));
        return false;
    }
    return qt_write_result(w->text, &(qt_part){assembly, sizeof assembly - 1}, 1);
}

// --- the library

static int compile(const ml_job *j, const char *compiler, const work *w) {
    char headers[PATH_MAX + 8], api[PATH_MAX + 8], search[96];
    const char *words[24] = {compiler,  "-std=c++17",          "-O1", "-fPIC",
                             "-shared", "-fvisibility=hidden", "-o",  w->library};
    size_t n = 8;
    snprintf(headers, sizeof headers, "-I%s", j->include);
    snprintf(api, sizeof api, "-I%s/QNN", j->include);
    snprintf(search, sizeof search, "-Wa,-I%s", w->folder);
    words[n++] = headers;
    words[n++] = api;
    words[n++] = "-x";
    words[n++] = "c++";
    words[n++] = j->source;
    if (j->data) {
        words[n++] = search;
        words[n++] = "-x";
        words[n++] = "assembler";
        words[n++] = w->text;
    }
    return run(words, j->debug);
}

static int find_compiler(const char *target, const char **out) {
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (strcmp(targets[i].name, target) == 0) {
            const char *set = secure_getenv(targets[i].variable);
            *out = set && *set ? set : targets[i].compiler;
            return QT_EXIT_OK;
        }
    char known[256] = "";
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
                 targets[i].name);
    qt_error("-t %s: unknown target; known are %s", target, known);
    return QT_EXIT_USAGE;
}

int ml_compile(const ml_job *j, const char *target) {
    char folder[PATH_MAX], final[PATH_MAX];
    const char *compiler;
    work w;
    int code = find_compiler(target, &compiler);
    if (code != QT_EXIT_OK)
        return code;
    if (snprintf(folder, sizeof folder, "%s/%s", j->folder, target) >= PATH_MAX - 8 ||
        snprintf(final, sizeof final, "%s/lib%s.so", folder, j->name) >= PATH_MAX - 8) {
        qt_error("%s: the name is too long", j->folder);
        return QT_EXIT_USAGE;
    }
    code = QT_EXIT_FAILURE;
    if (!prepare(j, &w) || !qt_make_dir(folder)) {
        clean(&w);
        return code;
    }
    if (snprintf(w.library, sizeof w.library, "%s/.lib%s.so.part", folder, j->name) >= PATH_MAX) {
        clean(&w);
        return code;
    }
    int e = compile(j, compiler, &w);
    if (e != 0)
        qt_error("%s: %s failed for %s", j->source, compiler, target);
    else if (rename(w.library, final) != 0)
        qt_error("%s: %s", final, strerror(errno));
    else
        code = QT_EXIT_OK;
    clean(&w);
    if (code == QT_EXIT_OK)
        qt_print("%s\n", final);
    return code;
}
