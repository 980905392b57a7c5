// SPDX-License-Identifier: MIT
//
// quern doctor on the public clients of QNN: the folder that is their SDK, their Python packages,
// and the variables they read. Nothing of theirs is loaded: Python is only asked for versions.
#include "tools/quern/doctor.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Versions that Quern's own tests run with.
#define ORT_QNN_TESTED "2.7.0"
#define EXECUTORCH_TESTED "1.5.1"
#define TORCHAO_TESTED "0.18.0"
#define LITERT_TESTED "2.3.0"
#define GENAI_TESTED "0.18.0"
#define OLIVE_TESTED "0.13.0"

#if defined(__aarch64__)
#define TARGET "aarch64-oe-linux-gcc11.2"
#else
#define TARGET "x86_64-linux-clang"
#endif

static bool exists(const char *folder, const char *name) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0;
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// --- the SDK folder

// The folder above the one with this program.
static bool beside_program(char *out, size_t size) {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    for (int i = 0; i < 2 && n > 0; i++) {
        path[n] = '\0';
        char *slash = strrchr(path, '/');
        n = slash ? slash - path : 0;
    }
    if (n <= 0)
        return false;
    path[n] = '\0';
    return (size_t)snprintf(out, size, "%s", path) < size && exists(path, "lib/" TARGET);
}

void qt_sdk_find(qt_patient *p, const char *wanted) {
    const char *root = secure_getenv("QNN_SDK_ROOT");
    if (wanted) {
        snprintf(p->sdk, sizeof p->sdk, "%s", wanted);
        p->sdk_from = "--sdk";
    } else if (root && *root) {
        snprintf(p->sdk, sizeof p->sdk, "%s", root);
        p->sdk_from = "QNN_SDK_ROOT";
    } else if (beside_program(p->sdk, sizeof p->sdk)) {
        p->sdk_from = "the folder of quern";
    } else {
        p->sdk[0] = '\0'; // what was looked at
    }
    char *plain = *p->sdk ? realpath(p->sdk, NULL) : NULL;
    if (plain)
        snprintf(p->sdk, sizeof p->sdk, "%s", plain);
    free(plain);
    if (*p->sdk)
        snprintf(p->lib_dir, sizeof p->lib_dir, "%s/lib/" TARGET, p->sdk);
}

// Files that clients or their build scripts open.
static const char *const sdk_files[] = {
    "lib/" TARGET "/libQnnHtp.so", "lib/" TARGET "/libQnnSystem.so", "lib/" TARGET "/libQnnCpu.so",
    "include/QNN/QnnInterface.h",  "include/QNN/HTP/QnnHtpDevice.h", "sdk.yaml",
};

static const char *first_missing(const char *sdk) {
    for (size_t i = 0; i < sizeof sdk_files / sizeof sdk_files[0]; i++)
        if (!exists(sdk, sdk_files[i]))
            return sdk_files[i];
    return NULL;
}

static const char *make_sdk = "make in Quern's sources, then: quern doctor --sdk build/sdk";

void qt_check_sdk(const qt_patient *p, qt_finding *f) {
    char path[1200];
    qc_client *c = NULL;
    if (!*p->sdk) {
        qt_find(f, QT_GOOD, make_sdk, "none: no --sdk, and QNN_SDK_ROOT is not set");
        return;
    }
    if (!is_folder(p->sdk)) {
        qt_find(f, QT_BAD, make_sdk, "%s (%s) is not a folder", p->sdk, p->sdk_from);
        return;
    }
    const char *missing = first_missing(p->sdk);
    if (missing) {
        snprintf(f->fix, sizeof f->fix, "make install PREFIX=%.400s in Quern's sources", p->sdk);
        qt_find(f, QT_BAD, f->fix, "%s (%s) lacks %s", p->sdk, p->sdk_from, missing);
        return;
    }
    snprintf(path, sizeof path, "%s/libQnnHtp.so", p->lib_dir);
    if (qc_open(path, NULL, &c) != QRN_OK) {
        snprintf(f->fix, sizeof f->fix, "make install PREFIX=%.400s in Quern's sources", p->sdk);
        qt_find(f, QT_BAD, f->fix, "%s does not work: %.400s", path, qrn_message());
    } else if (!c->is_quern) {
        qt_find(f, QT_DOUBTFUL, make_sdk, "%s (%s) is not Quern's", p->sdk, p->sdk_from);
    } else {
        qt_find(f, QT_GOOD, "", "%s (%s) has what clients open", p->sdk, p->sdk_from);
    }
    qc_close(c);
}

// --- Python packages

static const char *const package_names[QT_N_PACKAGES] = {
    [QT_PACKAGE_ORT] = "onnxruntime",         [QT_PACKAGE_ORT_QNN] = "onnxruntime-qnn",
    [QT_PACKAGE_EXECUTORCH] = "executorch",   [QT_PACKAGE_TORCH] = "torch",
    [QT_PACKAGE_TORCHAO] = "torchao",         [QT_PACKAGE_LITERT] = "ai-edge-litert",
    [QT_PACKAGE_GENAI] = "onnxruntime-genai", [QT_PACKAGE_OLIVE] = "olive-ai",
    [QT_PACKAGE_SHERPA] = "sherpa-onnx",      [QT_PACKAGE_APPBUILDER] = "qai-appbuilder",
};

// Its arguments are names of packages.
static const char probe[] = "import sys\n"
                            "from importlib.metadata import version, PackageNotFoundError\n"
                            "for n in sys.argv[1:]:\n"
                            "    try: print(n, version(n))\n"
                            "    except PackageNotFoundError: pass\n";

static void note_package(qt_patient *p, char *line) {
    char *version = strchr(line, ' ');
    if (!version)
        return;
    *version++ = '\0';
    version[strcspn(version, " \r\n")] = '\0';
    for (int i = 0; i < QT_N_PACKAGES; i++)
        if (strcmp(p->packages[i].name, line) == 0)
            snprintf(p->packages[i].version, sizeof p->packages[i].version, "%s", version);
}

// Runs python -c probe; its standard output. -1: it cannot be started.
static pid_t start_python(const char *python, int *out) {
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        close(STDERR_FILENO); // what is missing is what is not printed
        char *args[QT_N_PACKAGES + 4] = {(char *)python, "-c", (char *)probe};
        for (int i = 0; i < QT_N_PACKAGES; i++)
            args[3 + i] = (char *)package_names[i]; // execvp changes nothing of it
        execvp(python, args);
        _exit(127);
    }
    close(ends[1]);
    if (child < 0)
        close(ends[0]);
    else
        *out = ends[0];
    return child;
}

void qt_packages_read(qt_patient *p, const char *python) {
    int out = -1, status = 0;
    p->python = python;
    for (int i = 0; i < QT_N_PACKAGES; i++)
        p->packages[i] = (qt_package){.name = package_names[i]};
    pid_t child = start_python(python, &out);
    if (child < 0)
        return;
    FILE *f = fdopen(out, "r");
    char line[256];
    while (f && fgets(line, sizeof line, f))
        note_package(p, line);
    if (f)
        fclose(f);
    p->has_python =
        waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const char *version_of(const qt_patient *p, int package) {
    return p->packages[package].version;
}

static bool is_wanted(const qt_patient *p, const char *client) {
    return p->client && strcmp(p->client, client) == 0;
}

// --- the clients

// A client whose package is not there: a problem when it was asked for.
static void not_installed(const qt_patient *p, qt_finding *f, const char *client,
                          const char *package, const char *version) {
    qt_grade g = is_wanted(p, client) ? QT_BAD : QT_GOOD;
    if (!p->has_python) {
        snprintf(f->fix, sizeof f->fix, "install Python 3.11 or newer, or name it with --python");
        qt_find(f, g, f->fix, "%s does not run, so there are no packages", p->python);
        return;
    }
#if defined(__x86_64__)
    snprintf(f->fix, sizeof f->fix, "%s -m pip install %s==%s", p->python, package, version);
#else
    (void)version;
    snprintf(f->fix, sizeof f->fix, "there are wheels for x86-64 only: build %s from its sources",
             package);
#endif
    qt_find(f, g, f->fix, "%s has no package %s", p->python, package);
}

// Is version a (such as "1.24.2") at least b? Numbers alone count.
static bool at_least(const char *a, const char *b) {
    for (;;) {
        char *end_a, *end_b;
        long x = strtol(a, &end_a, 10), y = strtol(b, &end_b, 10);
        if (x != y || *end_b != '.')
            return x >= y;
        if (*end_a != '.')
            return false;
        a = end_a + 1;
        b = end_b + 1;
    }
}

// The folder of the libraries that clients are pointed at: that of the SDK, or where quern finds
// libQnnHtp.so. NULL: none.
static const char *library_folder(const qt_patient *p, char *own, size_t size) {
    if (*p->lib_dir)
        return p->lib_dir;
    snprintf(own, size, "%s", p->libs[1].path); // HTP
    char *slash = strrchr(own, '/');
    if (slash)
        *slash = '\0';
    return slash ? own : NULL;
}

void qt_check_ort(const qt_patient *p, qt_finding *f) {
    const char *qnn = version_of(p, QT_PACKAGE_ORT_QNN), *ort = version_of(p, QT_PACKAGE_ORT);
    char own[1024];
    const char *dir = library_folder(p, own, sizeof own);
    if (!*qnn) {
        not_installed(p, f, "onnxruntime-qnn", "onnxruntime-qnn", ORT_QNN_TESTED);
    } else if (!*ort || !at_least(ort, "1.24.2")) {
        snprintf(f->fix, sizeof f->fix, "%s -m pip install 'onnxruntime>=1.24.2'", p->python);
        qt_find(f, QT_BAD, f->fix, "onnxruntime-qnn %s needs onnxruntime 1.24.2 or newer, found %s",
                qnn, *ort ? ort : "none");
    } else if (!dir || !exists(dir, "libQnnHtp.so") || !exists(dir, "libQnnSystem.so")) {
        qt_find(f, is_wanted(p, "onnxruntime-qnn") ? QT_BAD : QT_DOUBTFUL, make_sdk,
                "no folder with libQnnHtp.so and libQnnSystem.so for its option backend_path");
    } else {
        bool tested = strcmp(qnn, ORT_QNN_TESTED) == 0;
        snprintf(f->fix, sizeof f->fix,
                 "give the provider {\"backend_path\": \"%.500s/libQnnHtp.so\"}", dir);
        qt_find(
            f, tested ? QT_GOOD : QT_DOUBTFUL, f->fix,
            "%s with onnxruntime %s%s; without backend_path it takes the libraries of its wheel",
            qnn, ort, tested ? "" : ", tested is " ORT_QNN_TESTED);
    }
}

// Which folder of LD_LIBRARY_PATH has libQnnHtp.so first; false: none.
static bool loader_folder(char *out, size_t size) {
    const char *list = secure_getenv("LD_LIBRARY_PATH");
    while (list && *list) {
        size_t n = strcspn(list, ":");
        if (n > 0 && n < size) {
            memcpy(out, list, n);
            out[n] = '\0';
            if (exists(out, "libQnnHtp.so"))
                return true;
        }
        list += n + (list[n] == ':');
    }
    return false;
}

static bool same_file(const char *dir_a, const char *dir_b) {
    char a[PATH_MAX + 16], b[PATH_MAX + 16];
    struct stat x, y;
    snprintf(a, sizeof a, "%s/libQnnHtp.so", dir_a);
    snprintf(b, sizeof b, "%s/libQnnHtp.so", dir_b);
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

// The variables that executorch reads; false after a finding.
static bool check_variables(const qt_patient *p, qt_finding *f) {
    const char *root = secure_getenv("QNN_SDK_ROOT");
    const char *sdk = *p->sdk ? p->sdk : "<folder>";
    qt_grade bad = is_wanted(p, "executorch") ? QT_BAD : QT_DOUBTFUL;
    char found[PATH_MAX];
    if (!root) {
        snprintf(f->fix, sizeof f->fix, "export QNN_SDK_ROOT=%.500s", sdk);
        qt_find(f, bad, f->fix,
                "QNN_SDK_ROOT is not set: lowering a model would download another SDK");
    } else if (*root && !exists(root, "lib/" TARGET "/libQnnHtp.so")) {
        snprintf(f->fix, sizeof f->fix, "make install PREFIX=%.400s in Quern's sources", root);
        qt_find(f, bad, f->fix,
                "QNN_SDK_ROOT=%.256s has no lib/" TARGET "/libQnnHtp.so: the process would abort",
                root);
    } else if (!loader_folder(found, sizeof found)) {
        snprintf(f->fix, sizeof f->fix,
                 "export LD_LIBRARY_PATH=%.500s:$LD_LIBRARY_PATH, before Python starts",
                 *p->lib_dir ? p->lib_dir : "<folder>/lib/" TARGET);
        qt_find(f, bad, f->fix, "no folder of LD_LIBRARY_PATH has libQnnHtp.so");
    } else if (*root && *p->lib_dir && !same_file(found, p->lib_dir)) {
        snprintf(f->fix, sizeof f->fix, "export LD_LIBRARY_PATH=%.500s:$LD_LIBRARY_PATH",
                 p->lib_dir);
        qt_find(f, bad, f->fix,
                "LD_LIBRARY_PATH finds %.256s/libQnnHtp.so before that of the SDK folder", found);
    } else {
        return true;
    }
    return false;
}

void qt_check_executorch(const qt_patient *p, qt_finding *f) {
    const char *et = version_of(p, QT_PACKAGE_EXECUTORCH);
    const char *torch = version_of(p, QT_PACKAGE_TORCH), *ao = version_of(p, QT_PACKAGE_TORCHAO);
    if (!*et) {
        not_installed(p, f, "executorch", "executorch", EXECUTORCH_TESTED);
    } else if (!*torch || !*ao) {
        snprintf(f->fix, sizeof f->fix, "%s -m pip install torch torchao==" TORCHAO_TESTED,
                 p->python);
        qt_find(f, is_wanted(p, "executorch") ? QT_BAD : QT_DOUBTFUL, f->fix,
                "executorch %s is there, but not %s", et, !*torch ? "torch" : "torchao");
    } else if (check_variables(p, f)) {
        bool tested = strcmp(et, EXECUTORCH_TESTED) == 0;
        qt_find(f, tested ? QT_GOOD : QT_DOUBTFUL, tested ? "" : "expect small differences",
                "%s with torch %s and torchao %s finds the libraries%s", et, torch, ao,
                tested ? "" : "; tested is " EXECUTORCH_TESTED);
    }
}

// The plugin that compiles finds libraries by LD_LIBRARY_PATH, the runtime the dispatch library by
// an option.
void qt_check_litert(const qt_patient *p, qt_finding *f) {
    const char *version = version_of(p, QT_PACKAGE_LITERT);
    char own[1024];
    const char *dir = library_folder(p, own, sizeof own);
    if (!*version) {
        not_installed(p, f, "litert", "ai-edge-litert", LITERT_TESTED);
    } else if (!dir || !exists(dir, "libLiteRtDispatch_Quern.so") || !exists(dir, "libQnnIr.so")) {
        qt_find(f, is_wanted(p, "litert") ? QT_BAD : QT_DOUBTFUL, make_sdk,
                "no folder with libLiteRtDispatch_Quern.so and libQnnIr.so for it");
    } else {
        bool tested = strcmp(version, LITERT_TESTED) == 0;
        snprintf(f->fix, sizeof f->fix,
                 "compile with LD_LIBRARY_PATH=%.250s, run with dispatch_library_path=\"%.250s\"",
                 dir, dir);
        qt_find(f, tested ? QT_GOOD : QT_DOUBTFUL, f->fix, "ai-edge-litert %s%s", version,
                tested ? "" : "; tested is " LITERT_TESTED);
    }
}

// A client that is given the folder of the libraries.
typedef struct folder_client {
    const char *name; // of --client
    int package;
    const char *version;        // that a test installs; NULL: it is built from its sources
    const char *before, *after; // what its user writes around the folder
} folder_client;

static void check_folder_client(const qt_patient *p, qt_finding *f, const folder_client *c) {
    const char *version = version_of(p, c->package);
    char own[1024];
    const char *dir = library_folder(p, own, sizeof own);
    if (!*version && (c->version || !p->has_python)) {
        not_installed(p, f, c->name, package_names[c->package], c->version);
    } else if (!*version) {
        qt_find(f, is_wanted(p, c->name) ? QT_BAD : QT_GOOD,
                "build it from its sources; docs/clients.md says how", "%s has no package %s",
                p->python, package_names[c->package]);
    } else if (!dir) {
        qt_find(f, is_wanted(p, c->name) ? QT_BAD : QT_DOUBTFUL, make_sdk,
                "no folder with libQnnHtp.so for it");
    } else {
        snprintf(f->fix, sizeof f->fix, "%s%.400s%s", c->before, dir, c->after);
        qt_find(f, QT_GOOD, f->fix, "%s %s", package_names[c->package], version);
    }
}

void qt_check_genai(const qt_patient *p, qt_finding *f) {
    static const folder_client genai = {
        "genai", QT_PACKAGE_GENAI, GENAI_TESTED,
        "provider_options of genai_config.json, under \"qnn\": \"backend_path\": \"",
        "/libQnnHtp.so\""};
    check_folder_client(p, f, &genai);
}

void qt_check_olive(const qt_patient *p, qt_finding *f) {
    static const folder_client olive = {
        "olive", QT_PACKAGE_OLIVE, OLIVE_TESTED,
        "provider_options of the recipe's QNN provider: \"backend_path\": \"", "/libQnnHtp.so\""};
    check_folder_client(p, f, &olive);
}

// Its wheels have no QNN code.
void qt_check_sherpa(const qt_patient *p, qt_finding *f) {
    static const folder_client sherpa = {
        "sherpa-onnx", QT_PACKAGE_SHERPA, NULL,
        "build it with SHERPA_ONNX_ENABLE_QNN=ON and give it --qnn-backend-lib=",
        "/libQnnHtp.so, and --qnn-system-lib the libQnnSystem.so beside it"};
    check_folder_client(p, f, &sherpa);
}

void qt_check_appbuilder(const qt_patient *p, qt_finding *f) {
    static const folder_client appbuilder = {"qai_appbuilder", QT_PACKAGE_APPBUILDER, NULL,
                                             "QNNConfig.Config(\"", "\")"};
    check_folder_client(p, f, &appbuilder);
}

// MNN is a library that is built from its sources and opens libQnnHtp.so without a folder, so only
// the loader's path can be looked at.
void qt_check_mnn(const qt_patient *p, qt_finding *f) {
    char found[PATH_MAX] = "", own[1024];
    const char *dir = library_folder(p, own, sizeof own);
    const bool has = loader_folder(found, sizeof found), wanted = is_wanted(p, "mnn");
    if (!has)
        qt_find(f, wanted ? QT_BAD : QT_GOOD, dir ? "" : make_sdk,
                "opens libQnnHtp.so by its name; LD_LIBRARY_PATH has none");
    else if (dir && !same_file(found, dir))
        qt_find(f, wanted ? QT_BAD : QT_DOUBTFUL, "",
                "LD_LIBRARY_PATH finds %.400s/libQnnHtp.so first", found);
    else
        qt_find(f, QT_GOOD, "", "LD_LIBRARY_PATH finds %.400s/libQnnHtp.so", found);
    if (dir && !(has && same_file(found, dir)))
        snprintf(f->fix, sizeof f->fix, "export LD_LIBRARY_PATH=%.500s:$LD_LIBRARY_PATH", dir);
}
