// SPDX-License-Identifier: MIT
//
// An application in C: it opens onnxruntime's library (argument 1), registers the plugin, builds a
// model by the host's model editor, and runs it on the HTP and the CPU. Everything is called by
// slot number. Before that, hosts that are too old, which are made up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <unistd.h>

#include "frontend/ort/ort_api.h"

typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtModel OrtModel;

// H(table, slot, name, result, arguments): what an application calls.
#define HOST_LIST(H)                                                                               \
    H(api, 3, CreateEnv, OrtStatus *, (int, const char *, OrtEnv **))                              \
    H(api, 9, Run, OrtStatus *,                                                                    \
      (OrtSession *, const OrtRunOptions *, const char *const *, const OrtValue *const *, size_t,  \
       const char *const *, size_t, OrtValue **))                                                  \
    H(api, 10, CreateSessionOptions, OrtStatus *, (OrtSessionOptions **))                          \
    H(api, 39, CreateRunOptions, OrtStatus *, (OrtRunOptions **))                                  \
    H(api, 46, RunOptionsSetTerminate, OrtStatus *, (OrtRunOptions *))                             \
    H(api, 49, CreateTensorWithDataAsOrtValue, OrtStatus *,                                        \
      (const OrtMemoryInfo *, void *, size_t, const int64_t *, size_t, int, OrtValue **))          \
    H(api, 57, CreateTensorTypeAndShapeInfo, OrtStatus *, (OrtTensorTypeAndShapeInfo **))          \
    H(api, 58, SetTensorElementType, OrtStatus *, (OrtTensorTypeAndShapeInfo *, int))              \
    H(api, 59, SetDimensions, OrtStatus *, (OrtTensorTypeAndShapeInfo *, const int64_t *, size_t)) \
    H(api, 69, CreateCpuMemoryInfo, OrtStatus *, (int, int, OrtMemoryInfo **))                     \
    H(api, 92, ReleaseEnv, void, (OrtEnv *))                                                       \
    H(api, 95, ReleaseSession, void, (OrtSession *))                                               \
    H(api, 97, ReleaseRunOptions, void, (OrtRunOptions *))                                         \
    H(api, 98, ReleaseTypeInfo, void, (OrtTypeInfo *))                                             \
    H(api, 100, ReleaseSessionOptions, void, (OrtSessionOptions *))                                \
    H(api, 130, AddSessionConfigEntry, OrtStatus *,                                                \
      (OrtSessionOptions *, const char *, const char *))                                           \
    H(api, 288, ReleaseModel, void, (OrtModel *))                                                  \
    H(api, 301, RegisterExecutionProviderLibrary, OrtStatus *,                                     \
      (OrtEnv *, const char *, const char *))                                                      \
    H(api, 302, UnregisterExecutionProviderLibrary, OrtStatus *, (OrtEnv *, const char *))         \
    H(api, 303, GetEpDevices, OrtStatus *,                                                         \
      (const OrtEnv *, const OrtEpDevice *const **, size_t *))                                     \
    H(api, 304, SessionOptionsAppendExecutionProvider_V2, OrtStatus *,                             \
      (OrtSessionOptions *, OrtEnv *, const OrtEpDevice *const *, size_t, const char *const *,     \
       const char *const *, size_t))                                                               \
    H(api, 312, EpDevice_EpName, const char *, (const OrtEpDevice *))                              \
    H(api, 316, EpDevice_Device, const OrtHardwareDevice *, (const OrtEpDevice *))                 \
    H(api, 415, RunOptionsEnableProfiling, OrtStatus *, (OrtRunOptions *, const char *))           \
    H(editor, 0, CreateTensorTypeInfo, OrtStatus *,                                                \
      (const OrtTensorTypeAndShapeInfo *, OrtTypeInfo **))                                         \
    H(editor, 5, CreateValueInfo, OrtStatus *,                                                     \
      (const char *, const OrtTypeInfo *, OrtValueInfo **))                                        \
    H(editor, 7, CreateGraph, OrtStatus *, (OrtGraph **))                                          \
    H(editor, 8, SetGraphInputs, OrtStatus *, (OrtGraph *, OrtValueInfo **, size_t))               \
    H(editor, 9, SetGraphOutputs, OrtStatus *, (OrtGraph *, OrtValueInfo **, size_t))              \
    H(editor, 10, AddInitializerToGraph, OrtStatus *,                                              \
      (OrtGraph *, const char *, OrtValue *, bool))                                                \
    H(editor, 11, AddNodeToGraph, OrtStatus *, (OrtGraph *, OrtNode *))                            \
    H(editor, 12, CreateModel, OrtStatus *,                                                        \
      (const char *const *, const int *, size_t, OrtModel **))                                     \
    H(editor, 13, AddGraphToModel, OrtStatus *, (OrtModel *, OrtGraph *))                          \
    H(editor, 14, CreateSessionFromModel, OrtStatus *,                                             \
      (const OrtEnv *, const OrtModel *, const OrtSessionOptions *, OrtSession **))

static const OrtTable *api, *editor, *ep;
static unsigned host_version; // 31 for 1.31.x
static char plugin[4096];

#define H(table, at, name, result, args)                                                           \
    typedef result(*host_##name##_fn) args;                                                        \
    static host_##name##_fn host_##name(void) { return (host_##name##_fn)(table)->slot[at]; }
HOST_LIST(H)
#undef H
// Those of the provider's own list.
#define ORT(name) ((ort_##name##_fn)api->slot[ORT_SLOT_##name])
#define HOST(name) host_##name()

static void check(OrtStatus *s, const char *call) {
    if (s)
        fail_msg("%s: %s", call, ORT(GetErrorMessage)(s));
}
#define OK(name, ...) check(HOST(name)(__VA_ARGS__), #name)

// --- hosts that are too old

static char told[512];

static OrtStatus *note_status(OrtErrorCode code, const char *text) {
    snprintf(told, sizeof told, "%d: %s", (int)code, text);
    return (OrtStatus *)told;
}

static const OrtTable *none_has(uint32_t version) {
    (void)version;
    return NULL;
}

static const OrtTable *twenty_has(uint32_t version) {
    static OrtTable old;
    old.slot[0] = (void (*)(void))note_status;
    return version <= 20 ? &old : NULL;
}

static const char *twenty(void) { return "1.20.0"; }

static const char *nothing(void) { return NULL; }

typedef OrtStatus *(*create_fn)(const char *, const OrtApiBase *, const OrtLogger *,
                                OrtEpFactory **, size_t, size_t *);

static create_fn open_plugin(void **lib) {
    create_fn create = NULL;
    *lib = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(*lib);
    void *symbol = dlsym(*lib, "CreateEpFactories");
    memcpy(&create, &symbol, sizeof create);
    assert_non_null(create);
    return create;
}

static void an_old_host_is_told_what_is_needed(void **state) {
    (void)state;
    void *lib = NULL;
    create_fn create = open_plugin(&lib);
    OrtEpFactory *factory = NULL;
    size_t n = 9;
    const OrtApiBase old = {twenty_has, twenty};
    assert_non_null(create("x", &old, NULL, &factory, 1, &n));
    assert_int_equal(n, 0);
    assert_string_equal(told, "1: the Quern execution provider needs onnxruntime 1.24 or newer and "
                              "was loaded by 1.20.0; install a newer one: pip install -U "
                              "onnxruntime");
    const OrtApiBase unknown = {twenty_has, nothing};
    assert_non_null(create("x", &unknown, NULL, &factory, 1, &n));
    assert_non_null(strstr(told, "was loaded by an unknown version"));
    dlclose(lib);
}

static void a_host_without_any_table_gets_no_factory(void **state) {
    (void)state;
    void *lib = NULL;
    create_fn create = open_plugin(&lib);
    OrtEpFactory *factory = NULL;
    size_t n = 9;
    const OrtApiBase base = {none_has, twenty};
    assert_null(create("x", &base, NULL, &factory, 1, &n)); // there is nothing to say it with
    assert_int_equal(n, 0);
    assert_null(factory);
    dlclose(lib);
}

// --- a model: y = relu(x * w + b)

enum { ROWS = 3, DEPTH = 5, COLS = 4 };
static float w[DEPTH][COLS], b[COLS];

static OrtValueInfo *value_info(const char *name, const int64_t *dims, size_t rank) {
    OrtTensorTypeAndShapeInfo *shape = NULL;
    OrtTypeInfo *type = NULL;
    OrtValueInfo *made = NULL;
    OK(CreateTensorTypeAndShapeInfo, &shape);
    OK(SetTensorElementType, shape, 1);
    OK(SetDimensions, shape, dims, rank);
    OK(CreateTensorTypeInfo, shape, &type);
    OK(CreateValueInfo, name, type, &made);
    HOST(ReleaseTypeInfo)(type);
    ORT(ReleaseTensorTypeAndShapeInfo)(shape);
    return made;
}

static OrtValue *tensor_in(OrtMemoryInfo *memory, void *data, size_t bytes, const int64_t *dims,
                           size_t rank) {
    OrtValue *made = NULL;
    OK(CreateTensorWithDataAsOrtValue, memory, data, bytes, dims, rank, 1, &made);
    ORT(ReleaseMemoryInfo)(memory);
    return made;
}

static OrtValue *tensor(void *data, size_t bytes, const int64_t *dims, size_t rank) {
    OrtMemoryInfo *memory = NULL;
    OK(CreateCpuMemoryInfo, 0, 0, &memory);
    return tensor_in(memory, data, bytes, dims, rank);
}

static void add_node(OrtGraph *g, const char *op, const char *a, const char *c, const char *out) {
    const char *in[] = {a, c}, *outs[] = {out};
    OrtNode *node = NULL;
    check(((ort_CreateNode_fn)editor->slot[ORT_SLOT_CreateNode])(op, "", out, in, c ? 2 : 1, outs,
                                                                 1, NULL, 0, &node),
          "CreateNode");
    OK(AddNodeToGraph, g, node);
}

static OrtModel *make_model(void) {
    const int64_t xs[] = {ROWS, DEPTH}, ys[] = {ROWS, COLS}, ws[] = {DEPTH, COLS}, bs[] = {COLS};
    const char *domains[] = {""};
    const int versions[] = {17};
    OrtGraph *g = NULL;
    OrtModel *m = NULL;
    OrtValueInfo *x = value_info("x", xs, 2), *y = value_info("y", ys, 2);
    OK(CreateGraph, &g);
    OK(SetGraphInputs, g, &x, 1);
    OK(SetGraphOutputs, g, &y, 1);
    OK(AddInitializerToGraph, g, "w", tensor(w, sizeof w, ws, 2), false);
    OK(AddInitializerToGraph, g, "b", tensor(b, sizeof b, bs, 1), false);
    add_node(g, "MatMul", "x", "w", "p");
    add_node(g, "Add", "p", "b", "s");
    add_node(g, "Relu", "s", NULL, "y");
    OK(CreateModel, domains, versions, 1, &m);
    OK(AddGraphToModel, m, g);
    return m;
}

// --- the application

#define NAME "QuernExecutionProvider"
static OrtEnv *env;

static const OrtEpDevice *device_of(OrtHardwareDeviceType type) {
    const OrtEpDevice *const *list = NULL;
    size_t n = 0;
    OK(GetEpDevices, env, &list, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(HOST(EpDevice_EpName)(list[i]), NAME) == 0 &&
            ORT(HardwareDevice_Type)(HOST(EpDevice_Device)(list[i])) == type)
            return list[i];
    return NULL;
}

static OrtStatus *try_session(OrtHardwareDeviceType type, const char *key, const char *value,
                              OrtSession **out) {
    const OrtEpDevice *device = device_of(type);
    OrtSessionOptions *options = NULL;
    OrtModel *m = make_model();
    assert_non_null(device);
    OK(CreateSessionOptions, &options);
    OK(AddSessionConfigEntry, options, "session.disable_cpu_ep_fallback", "1");
    OK(SessionOptionsAppendExecutionProvider_V2, options, env, &device, 1, &key, &value, 1);
    OrtStatus *s = HOST(CreateSessionFromModel)(env, m, options, out);
    HOST(ReleaseSessionOptions)(options);
    HOST(ReleaseModel)(m);
    return s;
}

static OrtSession *make_session(OrtHardwareDeviceType type) {
    OrtSession *s = NULL;
    bool npu = type == ORT_NPU;
    check(try_session(type, npu ? "soc_model" : "backend_type", npu ? "SM8650" : "cpu", &s),
          "CreateSessionFromModel");
    return s;
}

static void run_once(OrtSession *s, const OrtRunOptions *options, double slack) {
    const int64_t xs[] = {ROWS, DEPTH};
    const char *in[] = {"x"}, *out[] = {"y"};
    float x[ROWS][DEPTH];
    void *y = NULL;
    OrtValue *result = NULL;
    for (int i = 0; i < ROWS * DEPTH; i++)
        x[i / DEPTH][i % DEPTH] = (float)((i * 7) % 11 - 5) / 4;
    OrtValue *given = tensor(x, sizeof x, xs, 2);
    const OrtValue *feed[] = {given};
    OK(Run, s, options, in, feed, 1, out, 1, &result);
    check(ORT(GetTensorMutableData)(result, &y), "GetTensorMutableData");
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++) {
            double sum = b[c];
            for (int d = 0; d < DEPTH; d++)
                sum += (double)x[r][d] * w[d][c];
            double want = sum > 0 ? sum : 0, got = ((float *)y)[r * COLS + c];
            assert_true(got >= want - slack && got <= want + slack);
        }
    ORT(ReleaseValue)(result);
    ORT(ReleaseValue)(given);
}

static int open_host(void **state) {
    (void)state;
    for (int i = 0; i < DEPTH * COLS; i++)
        w[i / COLS][i % COLS] = (float)((i * 5) % 7 - 3) / 8;
    for (int i = 0; i < COLS; i++)
        b[i] = (float)(i - 1) / 2;
    OK(CreateEnv, 3, "host", &env);
    OK(RegisterExecutionProviderLibrary, env, NAME, plugin);
    return 0;
}

static int close_host(void **state) {
    (void)state;
    OK(UnregisterExecutionProviderLibrary, env, NAME);
    HOST(ReleaseEnv)(env);
    return 0;
}

static void a_model_of_the_editor_runs_on_both_backends(void **state) {
    (void)state;
    static const OrtHardwareDeviceType types[] = {ORT_CPU, ORT_NPU};
    for (size_t i = 0; i < 2; i++) {
        OrtSession *s = make_session(types[i]);
        for (int k = 0; k < 3; k++)
            run_once(s, NULL, types[i] == ORT_CPU ? 1e-5 : 4e-3); // halves
        HOST(ReleaseSession)(s);
    }
}

static void *run_often(void *session) {
    for (int i = 0; i < 50; i++)
        run_once(session, NULL, 4e-3);
    return NULL;
}

static void threads_run_one_session(void **state) {
    (void)state;
    OrtSession *s = make_session(ORT_NPU);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, s), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    HOST(ReleaseSession)(s);
}

static void a_wrong_option_fails_with_words(void **state) {
    (void)state;
    OrtSession *s = NULL;
    OrtStatus *status = try_session(ORT_NPU, "soc_model", "SM865O", &s);
    assert_non_null(status);
    assert_non_null(strstr(ORT(GetErrorMessage)(status), "did you mean 'SM8650'"));
    assert_null(s);
    ORT(ReleaseStatus)(status);
}

static void a_library_registers_again_after_it_left(void **state) {
    (void)state;
    OK(UnregisterExecutionProviderLibrary, env, NAME);
    assert_null(device_of(ORT_CPU));
    OK(RegisterExecutionProviderLibrary, env, NAME, plugin);
    OrtSession *s = make_session(ORT_CPU);
    run_once(s, NULL, 1e-5);
    HOST(ReleaseSession)(s);
}

static void a_run_that_is_terminated_fails_alone(void **state) {
    (void)state;
    const int64_t xs[] = {ROWS, DEPTH};
    const char *in[] = {"x"}, *out[] = {"y"};
    float x[ROWS][DEPTH] = {{0}};
    OrtSession *s = make_session(ORT_NPU);
    OrtRunOptions *options = NULL;
    OrtValue *result = NULL, *given = tensor(x, sizeof x, xs, 2);
    const OrtValue *feed[] = {given};
    OK(CreateRunOptions, &options);
    OK(RunOptionsSetTerminate, options);
    OrtStatus *status = HOST(Run)(s, options, in, feed, 1, out, 1, &result);
    assert_non_null(status);
    assert_non_null(strstr(ORT(GetErrorMessage)(status), "terminate"));
    ORT(ReleaseStatus)(status);
    run_once(s, NULL, 4e-3);
    ORT(ReleaseValue)(given);
    HOST(ReleaseRunOptions)(options);
    HOST(ReleaseSession)(s);
}

// The address means nothing here: who reads or writes there ends the process.
#define ELSEWHERE ((void *)(uintptr_t)4096)

static OrtValue *tensor_elsewhere(const int64_t *dims, size_t rank, size_t bytes) {
    OrtMemoryInfo *memory = NULL;
    check(ORT(CreateMemoryInfo_V2)("Far", 1, 0x10de, 0, 0, 0, 0, &memory), "CreateMemoryInfo_V2");
    return tensor_in(memory, ELSEWHERE, bytes, dims, rank);
}

static void values_on_another_device_fail_their_run_alone(void **state) {
    (void)state;
    const int64_t xs[] = {ROWS, DEPTH}, ys[] = {ROWS, COLS};
    const char *in[] = {"x"}, *out[] = {"y"};
    float x[ROWS][DEPTH] = {{0}};
    OrtSession *s = make_session(ORT_CPU);
    OrtValue *near = tensor(x, sizeof x, xs, 2), *far = tensor_elsewhere(xs, 2, sizeof x);
    OrtValue *far_out = tensor_elsewhere(ys, 2, sizeof(float) * ROWS * COLS), *result = NULL;
    const OrtValue *feeds[] = {far, near};
    for (int i = 0; i < 2; i++) {
        OrtValue *to = i ? far_out : NULL;
        OrtStatus *status = HOST(Run)(s, NULL, in, &feeds[i], 1, out, 1, i ? &to : &result);
        assert_non_null(status);
        ORT(ReleaseStatus)(status);
        assert_null(result);
    }
    run_once(s, NULL, 1e-5);
    ORT(ReleaseValue)(near);
    ORT(ReleaseValue)(far);
    ORT(ReleaseValue)(far_out);
    HOST(ReleaseSession)(s);
}

static void an_output_of_another_shape_is_not_written(void **state) {
    (void)state;
    const int64_t xs[] = {ROWS, DEPTH}, wrong[][2] = {{COLS, ROWS}, {1, 1}, {ROWS, COLS + 1}};
    const char *in[] = {"x"}, *out[] = {"y"};
    float x[ROWS][DEPTH] = {{0}}, room[2 * ROWS * (COLS + 1)];
    OrtSession *s = make_session(ORT_CPU);
    OrtValue *given = tensor(x, sizeof x, xs, 2);
    const OrtValue *feed[] = {given};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        for (size_t k = 0; k < sizeof room / sizeof room[0]; k++)
            room[k] = 7;
        OrtValue *to =
            tensor(room, sizeof(float) * (size_t)(wrong[i][0] * wrong[i][1]), wrong[i], 2);
        OrtStatus *status = HOST(Run)(s, NULL, in, feed, 1, out, 1, &to);
        assert_non_null(status);
        ORT(ReleaseStatus)(status);
        for (size_t k = 0; k < sizeof room / sizeof room[0]; k++)
            assert_true(room[k] == 7);
        ORT(ReleaseValue)(to);
    }
    run_once(s, NULL, 1e-5);
    ORT(ReleaseValue)(given);
    HOST(ReleaseSession)(s);
}

// How often a word stands in the only file that begins so; the file goes.
static int count_in_file(const char *prefix, const char *word) {
    char pattern[256], line[4096];
    int count = 0;
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s*.json", prefix);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    FILE *f = fopen(found.gl_pathv[0], "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        count += strstr(line, word) != NULL;
    fclose(f);
    unlink(found.gl_pathv[0]);
    globfree(&found);
    return count;
}

static void a_profile_of_a_run_has_that_run_alone(void **state) {
    (void)state;
    if (host_version < 25)
        skip();
    char prefix[] = "/tmp/quern_run_profile_XXXXXX";
    OrtSession *s = make_session(ORT_NPU);
    OrtRunOptions *options = NULL;
    pthread_t other;
    int file = mkstemp(prefix);
    assert_true(file >= 0);
    OK(CreateRunOptions, &options);
    OK(RunOptionsEnableProfiling, options, prefix);
    assert_int_equal(pthread_create(&other, NULL, run_often, s), 0);
    run_once(s, options, 4e-3);
    pthread_join(other, NULL);
    assert_int_equal(count_in_file(prefix, "qnn_graph_execute"), 1);
    HOST(ReleaseRunOptions)(options);
    HOST(ReleaseSession)(s);
    close(file);
    unlink(prefix);
}

static bool open_onnxruntime(const char *path) {
    typedef const OrtApiBase *(*base_fn)(void);
    base_fn get = NULL;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = lib ? dlsym(lib, "OrtGetApiBase") : NULL;
    memcpy(&get, &symbol, sizeof get);
    if (!get)
        return false;
    const char *version = get()->GetVersionString();
    host_version = (unsigned)strtoul(strchr(version, '.') + 1, NULL, 10);
    api = get()->GetApi(ORT_API_WANTED);
    if (!api)
        return false;
    ep = ORT(GetEpApi)();
    editor = ORT(GetModelEditorApi)();
    return ep && editor;
}

int main(int argc, char **argv) {
    snprintf(plugin, sizeof plugin, "%s/libonnxruntime_providers_quern.so",
             getenv("QUERN_LIB_DIR") ? getenv("QUERN_LIB_DIR") : "build/lib");
    const struct CMUnitTest old[] = {
        cmocka_unit_test(an_old_host_is_told_what_is_needed),
        cmocka_unit_test(a_host_without_any_table_gets_no_factory),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_of_the_editor_runs_on_both_backends),
        cmocka_unit_test(threads_run_one_session),
        cmocka_unit_test(a_run_that_is_terminated_fails_alone),
        cmocka_unit_test(values_on_another_device_fail_their_run_alone),
        cmocka_unit_test(an_output_of_another_shape_is_not_written),
        cmocka_unit_test(a_wrong_option_fails_with_words),
        cmocka_unit_test(a_library_registers_again_after_it_left),
        cmocka_unit_test(a_profile_of_a_run_has_that_run_alone),
    };
    int failed = cmocka_run_group_tests(old, NULL, NULL);
    if (failed || argc < 2 || !argv[1][0] || !open_onnxruntime(argv[1]))
        return failed ? failed : 77; // the tests' Python has no onnxruntime with a library
    return cmocka_run_group_tests(tests, open_host, close_host);
}
