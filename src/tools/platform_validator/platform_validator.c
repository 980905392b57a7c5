// SPDX-License-Identifier: MIT
//
// qnn-platform-validator: can this host run a backend? There is no device behind it: the HTP is
// emulated and says so, and the unit test runs its arithmetic here.
#include "tools/quern/output.h"
#include "frontend/client/client.h"
#include "tools/sdk/program.h"

#include "base/report_text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct pv_options {
    bool version; // first: see tools/sdk/program.h
    const char *backend, *directory, *dsp_type, *variant, *device_id, *target_path, *host;
    bool test, core_version, lib_version, debug;
} pv_options;

#define AT(field) offsetof(pv_options, field)

static const qt_flag flags[] = {
    {"backend", 0, QT_CHOICE, "NAME", AT(backend), "gpu|dsp|all", "what to validate"},
    {"directory", 0, QT_DIR, "DIR", AT(directory), NULL,
     "root of an SDK folder with the libraries"},
    {"dsp_type", 0, QT_CHOICE, "ARCH", AT(dsp_type), "v68|v69|v73|v75|v79|v81",
     "modelled: architecture of the HTP"},
    {"testBackend", 0, QT_BOOL, NULL, AT(test), NULL, "run a small program on the backend"},
    {"coreVersion", 0, QT_BOOL, NULL, AT(core_version), NULL, "print the version of the core API"},
    {"libVersion", 0, QT_BOOL, NULL, AT(lib_version), NULL, "print the version of the library"},
    {"debug", 0, QT_BOOL, NULL, AT(debug), NULL, "print the log of the libraries"},
    {"remoteHost", 0, QT_TEXT, "HOST", AT(host), NULL, "localhost; others are rejected"},
    {"buildVariant", 0, QT_TEXT, "NAME", AT(variant), NULL,
     "rejected: the libraries of this host are validated"},
    {"deviceId", 0, QT_TEXT, "SERIAL", AT(device_id), NULL,
     "rejected: no device is reached from here, the host itself is validated"},
    {"targetPath", 0, QT_DIR, "DIR", AT(target_path), NULL,
     "rejected: nothing is copied to a device"},
    QS_COMMON_FLAGS(pv_options),
    {0},
};

typedef struct row {
    const char *backend; // "GPU", "DSP"
    const char *file;
    const char *hardware, *libraries, *test;
    char library_version[64], core_version[64];
} row;

static int check_flags(const pv_options *o) {
    const char *missing = !o->backend     ? "backend"
                          : !o->directory ? "directory"
                          : !o->dsp_type  ? "dsp_type"
                                          : NULL;
    if (o->host && strcmp(o->host, "localhost") != 0) {
        qt_error("--remoteHost %s: expected localhost", o->host);
        return QT_EXIT_USAGE;
    }
    if (missing) {
        qt_error("--%s is needed", missing);
        return QT_EXIT_USAGE;
    }
    if (access(o->directory, R_OK | X_OK) != 0) {
        qt_error("--directory %s: no such folder", o->directory);
        return QT_EXIT_INPUT;
    }
    return QT_EXIT_OK;
}

// The library in one of the places where SDK folders and build trees have it.
static bool find_library(const char *root, const char *file, char *path, size_t size) {
    static const char *const places[] = {"lib/x86_64-linux-clang", "lib/aarch64-oe-linux-gcc11.2",
                                         "lib/aarch64-ubuntu-gcc9.4", "lib", "."};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int n = snprintf(path, size, "%s/%s/%s", root, places[i], file);
        if (n > 0 && (size_t)n < size && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

// The calculator: 2 + 3 and 40 + 2, in 8-bit numbers on an HTP and in floats elsewhere.
static qrn_status add_numbers(qc_client *c) {
    static const uint32_t dims[] = {1, 2};
    const Qnn_QuantizeParams_t whole = {QNN_DEFINITION_DEFINED,
                                        QNN_QUANTIZATION_ENCODING_SCALE_OFFSET,
                                        {.scaleOffsetEncoding = {1.0f, 0}}};
    const Qnn_DataType_t type = c->is_htp ? QNN_DATATYPE_UFIXED_POINT_8 : QNN_DATATYPE_FLOAT_32;
    const Qnn_QuantizeParams_t *q = c->is_htp ? &whole : NULL;
    qc_graph *g = NULL;
    qc_tensor *a, *b, *sum;
    qc_op op;
    const uint8_t ints[2][2] = {{2, 40}, {3, 2}};
    const float reals[2][2] = {{2, 40}, {3, 2}};
    float out[2] = {0, 0};
    qrn_status s = qc_graph_create(c, "calculator", NULL, &g);
    if (s == QRN_OK)
        s = qc_tensor_create(g, "a", QNN_TENSOR_TYPE_APP_WRITE, type, 2, dims, q, NULL, 0, &a);
    if (s == QRN_OK)
        s = qc_tensor_create(g, "b", QNN_TENSOR_TYPE_APP_WRITE, type, 2, dims, q, NULL, 0, &b);
    if (s == QRN_OK)
        s = qc_tensor_create(g, "sum", QNN_TENSOR_TYPE_APP_READ, type, 2, dims, q, NULL, 0, &sum);
    if (s == QRN_OK) {
        qc_op_begin(&op, g, "add", "ElementWiseAdd");
        qc_in(&op, a);
        qc_in(&op, b);
        qc_out(&op, sum);
        s = qc_op_end(&op);
    }
    if (s == QRN_OK)
        s = qc_graph_finalize(g);
    const void *inputs[] = {c->is_htp ? (const void *)ints[0] : reals[0],
                            c->is_htp ? (const void *)ints[1] : reals[1]};
    void *outputs[] = {out};
    if (s == QRN_OK)
        s = qc_graph_execute(g, inputs, outputs);
    const uint8_t *got = (const uint8_t *)out;
    if (s == QRN_OK && (c->is_htp ? got[0] != 5 || got[1] != 42 : out[0] != 5 || out[1] != 42))
        s = QRN_FAIL(QRN_E_GENERAL, "2 + 3 or 40 + 2 is wrong");
    qc_graph_destroy(g);
    return s;
}

static void validate(const pv_options *o, row *r) {
    char path[PATH_MAX];
    qc_client *c = NULL;
    bool htp = strcmp(r->backend, "DSP") == 0;
    r->hardware = "Not Found";
    r->libraries = "Not Found";
    r->test = o->test ? "Failed" : "Not Queried";
    snprintf(r->library_version, sizeof r->library_version, "Not Queried");
    snprintf(r->core_version, sizeof r->core_version, "Not Queried");
    if (!find_library(o->directory, r->file, path, sizeof path)) {
        qt_warn("%s: not in the SDK folder %s", r->file, o->directory);
        return;
    }
    r->libraries = "Found";
    const qc_options options = {.log = qs_log_callback,
                                .log_level = o->debug ? QNN_LOG_LEVEL_DEBUG : QNN_LOG_LEVEL_WARN,
                                .arch = htp ? (uint32_t)strtoul(o->dsp_type + 1, NULL, 10) : 0};
    if (qc_open(path, &options, &c) != QRN_OK) {
        qt_warn("%s: %s", path, qrn_message());
        return;
    }
    const char *id = NULL;
    const Qnn_Version_t v = c->version.coreApiVersion;
    r->hardware = htp ? "Supported (emulated)" : "Supported";
    if (o->lib_version && c->qnn.backendGetBuildId(&id) == QNN_SUCCESS)
        snprintf(r->library_version, sizeof r->library_version, "%s", id);
    if (o->core_version)
        snprintf(r->core_version, sizeof r->core_version, "%u.%u.%u", v.major, v.minor, v.patch);
    if (o->test && add_numbers(c) == QRN_OK)
        r->test = "Passed";
    else if (o->test)
        qt_warn("%s: unit test: %s", path, qrn_message());
    qc_close(c);
}

static void print_row(const row *r) {
    const struct {
        const char *what, *value;
    } lines[] = {{"Backend", r->backend},
                 {"Backend Hardware  ", r->hardware},
                 {"Backend Libraries ", r->libraries},
                 {"Library Version   ", r->library_version},
                 {"Core Version      ", r->core_version},
                 {"Unit Test         ", r->test}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        qt_print(i ? "%s: %s\n" : "%s = %s\n", lines[i].what, lines[i].value);
    qt_print("\n");
}

static int write_table(const row *rows, size_t n) {
    qrn_text text;
    FILE *f = qrn_text_open(&text);
    if (!f) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    fputs("Backend,Backend Hardware,Backend Libraries,Library Version,Core Version,Unit Test\n", f);
    for (size_t i = 0; i < n; i++) {
        const row *r = &rows[i];
        const char *cells[] = {r->backend,         r->hardware,     r->libraries,
                               r->library_version, r->core_version, r->test};
        for (size_t k = 0; k < 6; k++) {
            qrn_csv_text(f, cells[k]);
            fputc(k < 5 ? ',' : '\n', f);
        }
    }
    bool whole = qrn_text_close(f, &text);
    const qt_part part = {text.data, text.n};
    bool ok = whole && qt_make_dir("output") && qt_write_file("output/Result.csv", &part, 1);
    if (!whole)
        qt_error("out of memory");
    free(text.data);
    return ok ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

static int run(const void *options, const qt_list *args) {
    const pv_options *o = options;
    row rows[] = {{.backend = "GPU", .file = "libQnnGpu.so"},
                  {.backend = "DSP", .file = "libQnnHtp.so"}};
    (void)args;
    int code = check_flags(o);
    if (code != QT_EXIT_OK)
        return code;
    bool gpu = strcmp(o->backend, "dsp") != 0, dsp = strcmp(o->backend, "gpu") != 0;
    const row *first = gpu ? rows : rows + 1;
    size_t n = (size_t)gpu + (size_t)dsp;
    qs_log_set(o->debug ? QNN_LOG_LEVEL_DEBUG : (QnnLog_Level_t)0);
    bool good = true;
    for (size_t i = gpu ? 0 : 1; i < (dsp ? 2u : 1u); i++) {
        validate(o, &rows[i]);
        print_row(&rows[i]);
        good = good && strncmp(rows[i].hardware, "Supported", 9) == 0 &&
               strcmp(rows[i].test, "Failed") != 0;
    }
    code = write_table(first, n);
    int closed = qt_close_stdout();
    return code != QT_EXIT_OK     ? code
           : closed != QT_EXIT_OK ? closed
           : good                 ? QT_EXIT_OK
                                  : QT_EXIT_FAILURE;
}

static const qt_command command = {
    .name = "qnn-platform-validator",
    .summary = "check whether this host runs a QNN backend",
    .args = "--backend NAME --directory DIR --dsp_type ARCH [OPTIONS]",
    .alone = true,
    .about = "Opens the backend's library in an SDK folder, runs a small program on it when asked "
             "to, prints a summary and writes output/Result.csv. The HTP is emulated.",
    .groups = {{"options", flags}},
    .examples = {{"qnn-platform-validator --backend dsp --directory $QNN_SDK_ROOT --dsp_type v75 "
                  "--testBackend",
                  "The HTP of v75."}},
    .options_size = sizeof(pv_options),
    .run = run,
};

const qt_command *const qt_commands[] = {&command, NULL};

int main(int argc, char **argv) { return qs_program(&command, NULL, argc, argv); }
