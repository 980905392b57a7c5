// SPDX-License-Identifier: MIT
//
// quern doctor: looks for the usual mistakes of a set-up and says what to do about each. One table
// row a check.
#include "tools/quern/commands.h"
#include "tools/quern/doctor.h"
#include "tools/quern/output.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct doctor_options {
    const char *sdk, *client, *python;
    bool json;
} doctor_options;

#define AT(field) offsetof(doctor_options, field)

static const qt_flag flags[] = {
    {"sdk", 0, QT_DIR, "DIR", AT(sdk), NULL,
     "SDK folder to check (default: QNN_SDK_ROOT, or the folder of quern)"},
    {"client", 0, QT_CHOICE, "NAME", AT(client),
     "onnxruntime-qnn|executorch|litert|genai|olive|mnn|sherpa-onnx|qai_appbuilder",
     "check everything that this client needs"},
    {"python", 0, QT_TEXT, "PROGRAM", AT(python), NULL,
     "Python interpreter whose packages are checked (default python3)"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {0},
};

void qt_find(qt_finding *f, qt_grade g, const char *fix, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    f->grade = g;
    vsnprintf(f->text, sizeof f->text, fmt, ap);
    va_end(ap);
    if (fix != f->fix)
        snprintf(f->fix, sizeof f->fix, "%s", fix);
}

static void check_library(const qt_patient *p, qt_finding *f) {
    const qt_library *l = &p->libs[0];
    if (!l->found)
        qt_find(f, QT_BAD, "build it with 'make', or add its folder to LD_LIBRARY_PATH", "%s",
                l->error);
    else if (!l->is_quern)
        qt_find(f, QT_DOUBTFUL,
                "take that folder out of LD_LIBRARY_PATH, or name a library with "
                "--backend PATH",
                "%s is not Quern's (build %s)", l->path, l->build);
    else
        qt_find(f, QT_GOOD, "", "%s opens (build %s)", l->path, l->build);
}

static void check_others(const qt_patient *p, qt_finding *f) {
    char list[128] = "";
    for (size_t i = 1; i < QT_N_LIBRARIES; i++)
        if (!p->libs[i].found)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
                     p->libs[i].file);
    if (*list)
        qt_find(f, QT_GOOD, "", "not there, and not needed for --backend cpu: %s", list);
    else
        qt_find(f, QT_GOOD, "", "all backend libraries open");
}

// Another program that opens libQnnCpu.so by name gets what the loader finds.
static void check_loader(const qt_patient *p, qt_finding *f) {
    void *lib = dlopen("libQnnCpu.so", RTLD_NOW | RTLD_LOCAL);
    struct link_map *map = NULL;
    if (!lib) {
        qt_find(f, QT_DOUBTFUL, "export LD_LIBRARY_PATH=<folder of libQnnCpu.so>, or install it",
                "other programs do not find libQnnCpu.so by its name");
        return;
    }
    char found[1024] = "";
    if (dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0)
        snprintf(found, sizeof found, "%s", map->l_name);
    dlclose(lib);
    char *a = realpath(found, NULL), *b = realpath(p->libs[0].path, NULL);
    if (a && b && strcmp(a, b) != 0)
        qt_find(f, QT_DOUBTFUL, "put the folder that you want first in LD_LIBRARY_PATH",
                "other programs get %.300s, this one %.300s", a, b);
    else
        qt_find(f, QT_GOOD, "", "other programs find the same library");
    free(a);
    free(b);
}

static bool is_word(const char *word, const char *const *list) {
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

static void check_environment(const qt_patient *p, qt_finding *f) {
    static const char *const isas[] = {"ref", "avx2", "avxvnni", "avx512", "vnni", "vbmi",
                                       "amx", "neon", "dot",     "i8mm",   NULL};
    (void)p;
    const char *isa = secure_getenv("QUERN_ISA"), *threads = secure_getenv("QUERN_THREADS");
    const char *version = secure_getenv("QUERN_API_VERSION");
    char *end = NULL;
    if (isa && *isa && !is_word(isa, isas))
        qt_find(f, QT_BAD, "unset QUERN_ISA",
                "QUERN_ISA is '%.64s', which no CPU feature is called", isa);
    else if (isa && *isa)
        qt_find(f, QT_DOUBTFUL, "unset QUERN_ISA for full speed", "QUERN_ISA=%s holds kernels back",
                isa);
    else if (threads && *threads && (strtol(threads, &end, 10) < 1 || *end))
        qt_find(f, QT_BAD, "set QUERN_THREADS to a number, or unset it", "QUERN_THREADS is '%.64s'",
                threads);
    else if (version && *version)
        qt_find(f, QT_DOUBTFUL, "unset QUERN_API_VERSION unless a client asks for it",
                "QUERN_API_VERSION=%.32s lowers the announced version", version);
    else
        qt_find(f, QT_GOOD, "", "no environment variable interferes");
}

static void check_cpu(const qt_patient *p, qt_finding *f) {
    if (p->machine.isa[0])
        qt_find(f, QT_GOOD, "", "kernels may use %s", p->machine.isa);
    else
        qt_find(f, QT_DOUBTFUL, "expect slow runs; x86-64 needs AVX2, ARM needs NEON",
                "no vector features that kernels know");
}

static void check_threads(const qt_patient *p, qt_finding *f) {
    const qt_machine *m = &p->machine;
    const char *threads = secure_getenv("QUERN_THREADS");
    unsigned long want = threads ? strtoul(threads, NULL, 10) : 0;
    if (want > m->cpus)
        qt_find(f, QT_DOUBTFUL, "lower QUERN_THREADS", "%lu threads for %u CPUs", want, m->cpus);
    else if (m->quota > 0 && m->quota < 1)
        qt_find(f, QT_DOUBTFUL, "raise the CPU limit of the container",
                "the control group allows %.2g of a CPU", m->quota);
    else
        qt_find(f, QT_GOOD, "", "%u CPUs may be used", m->cpus);
}

static void check_memory(const qt_patient *p, qt_finding *f) {
    char text[32];
    qt_bytes_text(p->machine.memory_free, text, sizeof text);
    if (p->machine.memory_free > 0 && p->machine.memory_free < 256e6)
        qt_find(f, QT_DOUBTFUL, "close other programs", "only %s of memory are available", text);
    else
        qt_find(f, QT_GOOD, "", "%s of memory are available", text);
}

// y = relu(x + bias), finalized.
static qrn_status make_graph(qc_client *c, const float *bias, qc_graph **out) {
    qc_graph *g = NULL;
    QRN_TRY(qc_graph_create(c, "doctor", NULL, &g));
    const uint32_t dims[] = {1, 4};
    qc_tensor *in = NULL, *b = NULL, *sum = NULL, *result = NULL;
    const Qnn_DataType_t f32 = QNN_DATATYPE_FLOAT_32;
    qrn_status s =
        qc_tensor_create(g, "x", QNN_TENSOR_TYPE_APP_WRITE, f32, 2, dims, NULL, NULL, 0, &in);
    if (s == QRN_OK)
        s = qc_tensor_create(g, "b", QNN_TENSOR_TYPE_STATIC, f32, 2, dims, NULL, bias,
                             4 * sizeof *bias, &b);
    if (s == QRN_OK)
        s = qc_tensor_create(g, "sum", QNN_TENSOR_TYPE_NATIVE, f32, 2, dims, NULL, NULL, 0, &sum);
    if (s == QRN_OK)
        s = qc_tensor_create(g, "y", QNN_TENSOR_TYPE_APP_READ, f32, 2, dims, NULL, NULL, 0,
                             &result);
    if (s == QRN_OK) {
        qc_op op;
        qc_op_begin(&op, g, "add", QNN_OP_ELEMENT_WISE_ADD);
        qc_in(&op, in);
        qc_in(&op, b);
        qc_out(&op, sum);
        s = qc_op_end(&op);
        qc_op_begin(&op, g, "relu", QNN_OP_RELU);
        qc_in(&op, sum);
        qc_out(&op, result);
        s = s == QRN_OK ? qc_op_end(&op) : s;
    }
    if (s == QRN_OK)
        s = qc_graph_finalize(g);
    if (s == QRN_OK)
        *out = g;
    else
        qc_graph_destroy(g);
    return s;
}

static const float doctor_x[] = {1, -2, 3, -4}, doctor_bias[] = {0.5f, 0.5f, -8, 5};
static const float doctor_y[] = {1.5f, 0, 0, 1};

static bool is_right(const float *y) {
    return y[0] == doctor_y[0] && y[1] == doctor_y[1] && y[2] == doctor_y[2] && y[3] == doctor_y[3];
}

static qrn_status execute(qc_graph *g, float *y) {
    return qc_graph_execute(g, (const void *[]){doctor_x}, (void *[]){y});
}

// Through the API: the whole way from here to a kernel and back.
static qrn_status compute(qc_client *c, float *y) {
    qc_graph *g = NULL;
    QRN_TRY(make_graph(c, doctor_bias, &g));
    qrn_status s = execute(g, y);
    qc_graph_destroy(g);
    return s;
}

// The bytes of a context binary, from malloc.
static qrn_status compile(qc_client *c, void **bytes, uint64_t *n) {
    qc_graph *g = NULL;
    QRN_TRY(make_graph(c, doctor_bias, &g));
    qc_graph_destroy(g);
    QRN_TRY(qc_check(c, c->qnn.contextGetBinarySize(c->context, n), "contextGetBinarySize"));
    *bytes = malloc(*n);
    if (!*bytes)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    return qc_check(c, c->qnn.contextGetBinary(c->context, *bytes, *n, n), "contextGetBinary");
}

static qrn_status load_and_compute(const void *bytes, uint64_t n, float *y) {
    static const qc_options options = {.no_context = true};
    const QnnSystemContext_BinaryInfoV3_t *info = NULL;
    qc_system *system = NULL;
    qc_client *c = NULL;
    qc_graph *g = NULL;
    qrn_status s = qc_system_open(NULL, &system);
    if (s == QRN_OK)
        s = qc_system_describe(system, bytes, n, &info);
    if (s == QRN_OK)
        s = qc_open("htp", &options, &c);
    if (s == QRN_OK)
        s = qc_load(c, bytes, n, NULL, NULL);
    if (s == QRN_OK)
        s = qc_graph_retrieve(c, &info->graphs[0].graphInfoV3, &g);
    if (s == QRN_OK)
        s = execute(g, y);
    qc_graph_destroy(g);
    qc_close(c);
    qc_system_close(system);
    return s;
}

// The same through the bytes of a context binary: compiled, described, loaded, executed.
static void check_binary(const qt_patient *p, qt_finding *f) {
    const qt_library *htp = NULL;
    for (size_t i = 0; i < QT_N_LIBRARIES; i++)
        if (strcmp(p->libs[i].name, "htp") == 0)
            htp = &p->libs[i];
    if (!htp || !htp->found || !p->libs[QT_N_LIBRARIES - 1].found) {
        qt_find(f, QT_DOUBTFUL, "build them with 'make', or add their folder to LD_LIBRARY_PATH",
                "context binaries need libQnnHtp.so and libQnnSystem.so");
        return;
    }
    float y[4] = {0};
    qc_client *c = NULL;
    void *bytes = NULL;
    uint64_t n = 0;
    qrn_status s = qc_open("htp", NULL, &c);
    if (s == QRN_OK)
        s = compile(c, &bytes, &n);
    qc_close(c);
    if (s == QRN_OK)
        s = load_and_compute(bytes, n, y);
    free(bytes);
    if (s != QRN_OK)
        qt_find(f, QT_BAD, "run 'quern info': do the libraries belong together?",
                "a context binary fails: %.500s", qrn_message());
    else if (!is_right(y))
        qt_find(f, QT_BAD, "please report this, with the output of 'quern info'",
                "a context binary computes %g %g %g %g, expected 1.5 0 0 1", (double)y[0],
                (double)y[1], (double)y[2], (double)y[3]);
    else
        qt_find(f, QT_GOOD, "", "a context binary is written, described, loaded and right");
}

void qt_self_test(const char *backend, qt_finding *f) {
    float y[4] = {0};
    qc_client *c = NULL;
    if (qc_open(backend, NULL, &c) != QRN_OK || compute(c, y) != QRN_OK)
        qt_find(f, QT_BAD, "run 'quern info', and reinstall the libraries",
                "a small graph fails: %.500s", qrn_message());
    else if (!is_right(y))
        qt_find(f, QT_BAD, "please report this, with the output of 'quern info'",
                "a small graph computes %g %g %g %g, expected 1.5 0 0 1", (double)y[0],
                (double)y[1], (double)y[2], (double)y[3]);
    else
        qt_find(f, QT_GOOD, "", "a small graph computes the right values");
    qc_close(c);
}

static void check_result(const qt_patient *p, qt_finding *f) {
    (void)p;
    qt_self_test("cpu", f);
}

typedef struct check {
    const char *name;
    void (*run)(const qt_patient *, qt_finding *);
} check;

static const check checks[] = {
    {"library", check_library},
    {"other libraries", check_others},
    {"loader path", check_loader},
    {"environment", check_environment},
    {"CPU features", check_cpu},
    {"threads", check_threads},
    {"memory", check_memory},
    {"self-test", check_result},
    {"context binaries", check_binary},
    {"OpenCL", qt_check_opencl},
    {"OpenCL device", qt_check_device},
    {"GPU self-test", qt_check_gpu_result},
    {"SDK folder", qt_check_sdk},
    {"onnxruntime-qnn", qt_check_ort},
    {"executorch", qt_check_executorch},
    {"litert", qt_check_litert},
    {"genai", qt_check_genai},
    {"olive", qt_check_olive},
    {"mnn", qt_check_mnn},
    {"sherpa-onnx", qt_check_sherpa},
    {"qai_appbuilder", qt_check_appbuilder},
};
#define N_CHECKS (sizeof checks / sizeof checks[0])

static void print_finding(const char *name, const qt_finding *f) {
    static const char *const words[] = {"ok", "warning", "problem"};
    static const qt_style styles[] = {QT_GREEN, QT_YELLOW, QT_RED};
    qt_print("%s%-8s%s %-16s %s\n", qt_style_on(styles[f->grade]), words[f->grade], qt_style_off(),
             name, f->text);
    if (f->fix[0])
        qt_print("%25s -> %s\n", "", f->fix);
}

// Prints or lists each finding of a check; how many of them are problems.
static unsigned run_check(const check *c, const qt_patient *p, json_t *list) {
    static const char *const words[] = {"ok", "warning", "problem"};
    unsigned bad = 0;
    qt_finding f = {.index = 0};
    do {
        f = (qt_finding){.index = f.more ? f.index + 1 : 0};
        c->run(p, &f);
        bad += f.grade == QT_BAD;
        if (list)
            json_array_append_new(list, json_pack("{s:s,s:s,s:o,s:s}", "check", c->name, "grade",
                                                  words[f.grade], "text", qt_json_text(f.text),
                                                  "fix", f.fix));
        else
            print_finding(c->name, &f);
    } while (f.more);
    return bad;
}

static int run(const void *options, const qt_list *args) {
    (void)args;
    const doctor_options *o = options;
    qt_patient p = {.client = o->client};
    qt_libraries_read(p.libs);
    qt_machine_read(&p.machine);
    qt_gpu_read(&p.gpu);
    qt_sdk_find(&p, o->sdk);
    qt_packages_read(&p, o->python ? o->python : "python3");
    json_t *list = o->json ? json_array() : NULL;
    unsigned bad = 0;
    for (size_t i = 0; i < N_CHECKS; i++)
        bad += run_check(&checks[i], &p, list);
    qt_gpu_free(&p.gpu);
    int code =
        o->json ? qt_print_json(json_pack("{s:o,s:I}", "checks", list, "problems", (json_int_t)bad))
                : qt_close_stdout();
    return code == QT_EXIT_OK && bad ? QT_EXIT_FAILURE : code;
}

const qt_command qt_doctor = {
    .name = "doctor",
    .summary = "check the installation and suggest fixes",
    .args = "[--sdk DIR] [--client NAME]",
    .about = "Checks the installation: missing or wrong libraries, environment variables that "
             "interfere, resource limits. Runs a small graph on the CPU, through a context binary "
             "and on the GPU, and lists OpenCL drivers and devices. The exit code is 1 if there is "
             "a problem.\nFor the clients onnxruntime-qnn, executorch, LiteRT, onnxruntime-genai, "
             "Olive, MNN, sherpa-onnx and qai_appbuilder it lists missing packages, variables and "
             "files, and how to make the client use Quern. A client that is not installed counts "
             "as a problem only if --client names it.",
    .groups = {{"options", flags}},
    .examples = {{"quern doctor", "Run this before you report a problem."},
                 {"quern doctor --client executorch --sdk build/sdk", "Will executorch work?"}},
    .options_size = sizeof(doctor_options),
    .run = run,
};
