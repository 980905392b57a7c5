// SPDX-License-Identifier: MIT
//
// The Saver as a client meets it: its options, its answers, and what stands in its files. That
// recordings compile and compute the same is tested by saver_replay.py.
#include "../client/qnn_client.h"

#include "HTP/QnnHtpCommon.h"
#include "HTP/QnnHtpDevice.h"
#include "HTP/QnnHtpGraph.h"
#include "HTP/QnnHtpMem.h"
#include "QnnProperty.h"
#include "Saver/QnnSaver.h"
#include "Saver/QnnSaverCommon.h"

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef Qnn_ErrorHandle_t (*initialize_fn)(const QnnSaver_Config_t **);

static qnn_table qnn;
static const QnnInterface_t *provider;
static initialize_fn initialize;
static char home[64], folder[128]; // of all tests, of one

static void *open_saver(void) {
    void *lib = dlopen(lib_path("libQnnSaver.so"), RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail_msg("%s", dlerror());
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *);
    void *symbol = dlsym(lib, "QnnInterface_getProviders");
    memcpy(&get, &symbol, sizeof get);
    symbol = dlsym(lib, "QnnSaver_initialize");
    memcpy(&initialize, &symbol, sizeof initialize);
    const QnnInterface_t **list;
    uint32_t n;
    assert_int_equal(get(&list, &n), QNN_SUCCESS);
    assert_int_equal(n, 1);
    provider = list[0];
    qnn = list[0]->QNN_INTERFACE_VER_NAME;
    return lib;
}

static int set_up(void **state) {
    snprintf(home, sizeof home, "/tmp/test_saver_XXXXXX");
    if (!mkdtemp(home) || chdir(home) != 0)
        return -1;
    *state = open_saver();
    return 0;
}

static int tear_down(void **state) {
    char command[128];
    dlclose(*state);
    snprintf(command, sizeof command, "rm -r %s", home);
    return chdir("/") != 0 || system(command) != 0;
}

// Options of a recording in a folder of its own; further ones may follow.
static void start(const char *name, const QnnSaver_Config_t *more) {
    snprintf(folder, sizeof folder, "%s/%s", home, name);
    QnnSaver_Config_t place = {.option = QNN_SAVER_CONFIG_OPTION_OUTPUT_DIRECTORY,
                               .outputDirectory = folder};
    const QnnSaver_Config_t *list[] = {&place, more, NULL};
    assert_int_equal(initialize(list), QNN_SUCCESS);
}

static Qnn_BackendHandle_t new_backend(void) {
    Qnn_BackendHandle_t b = NULL;
    assert_int_equal(qnn.backendCreate(NULL, NULL, &b), QNN_SUCCESS);
    return b;
}

static Qnn_ContextHandle_t new_context(Qnn_BackendHandle_t b) {
    Qnn_ContextHandle_t c = NULL;
    assert_int_equal(qnn.contextCreate(b, NULL, NULL, &c), QNN_SUCCESS);
    return c;
}

static void end(Qnn_BackendHandle_t b, Qnn_ContextHandle_t c) {
    if (c)
        assert_int_equal(qnn.contextFree(c, NULL), QNN_SUCCESS);
    assert_int_equal(qnn.backendFree(b), QNN_SUCCESS);
}

// Every run of white space becomes one space: lines end where they are long.
static void join_lines(char *text) {
    char *to = text;
    for (const char *p = text; *p; p++) {
        bool white = *p == ' ' || *p == '\n';
        if (!white || to == text || to[-1] != ' ')
            *to++ = white ? ' ' : *p;
    }
    *to = '\0';
}

// A file of the recording; static buffer.
static const char *file(const char *name) {
    static char text[1 << 20];
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s is not there", path);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    if (strstr(name, ".c"))
        join_lines(text);
    return text;
}

static size_t count(const char *text, const char *word) {
    size_t n = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

static void has(const char *words) {
    if (!strstr(file("saver_output.c"), words))
        fail_msg("the recording has no: %s", words);
}

static void has_not(const char *words) {
    if (strstr(file("saver_output.c"), words))
        fail_msg("the recording has: %s", words);
}

// --- options and files

static void the_provider_is_the_saver(void **state) {
    (void)state;
    assert_int_equal(provider->backendId, QNN_BACKEND_ID_SAVER);
    assert_string_equal(provider->providerName, "SAVER_QTI_AISW");
    assert_int_equal(provider->apiVersion.backendApiVersion.major, 1);
    assert_int_equal(provider->apiVersion.backendApiVersion.minor, 1);
}

static void the_default_folder_is_made_with_the_first_backend(void **state) {
    (void)state;
    const QnnSaver_Config_t *none[] = {NULL};
    assert_int_equal(initialize(none), QNN_SUCCESS);
    snprintf(folder, sizeof folder, "%s/saver_output", home);
    Qnn_LogHandle_t log = NULL;
    assert_int_equal(qnn.logCreate(NULL, QNN_LOG_LEVEL_ERROR, &log), QNN_SUCCESS);
    assert_int_not_equal(access(folder, F_OK), 0);
    Qnn_BackendHandle_t b = NULL;
    assert_int_equal(qnn.backendCreate(log, NULL, &b), QNN_SUCCESS);
    has("check(0, \"logCreate\", qnn.logCreate(NULL, QNN_LOG_LEVEL_ERROR, &logger_0));");
    has("check(1, \"backendCreate\", qnn.backendCreate(logger_0, NULL, &backend_0));");
    file("params.bin");
    end(b, NULL);
    assert_int_equal(qnn.logFree(log), QNN_SUCCESS);
}

static void a_recording_overwrites_the_one_before(void **state) {
    (void)state;
    start("again", NULL);
    Qnn_BackendHandle_t b = new_backend();
    end(b, new_context(b));
    has("contextCreate");
    start("again", NULL);
    b = new_backend();
    has_not("contextCreate(backend");
    has("check(0, \"backendCreate\", qnn.backendCreate(NULL, NULL, &backend_0));");
    end(b, NULL);
}

static void a_second_backend_goes_on_with_the_recording(void **state) {
    (void)state;
    start("second", NULL);
    end(new_backend(), NULL);
    end(new_backend(), NULL);
    has("&backend_0));");
    has("&backend_1));");
}

static void folders_may_carry_the_time(void **state) {
    (void)state;
    QnnSaver_Config_t stamp = {.option = QNN_SAVER_CONFIG_OPTION_APPEND_TIMESTAMP,
                               .appendTimestamp = 1};
    for (int i = 0; i < 2; i++) {
        start("deep/er/stamped", &stamp);
        end(new_backend(), NULL);
    }
    char parent[128];
    snprintf(parent, sizeof parent, "%s/deep/er", home);
    DIR *d = opendir(parent);
    assert_non_null(d);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));)
        n += strncmp(e->d_name, "stamped_20", 10) == 0;
    closedir(d);
    assert_int_equal(n, 2);
}

static void files_may_have_other_names(void **state) {
    (void)state;
    QnnSaver_Config_t names = {.option = QNN_SAVER_CONFIG_OPTION_FILE_CONFIG,
                               .fileConfig = {"model.c", "model.bin"}};
    start("names", &names);
    end(new_backend(), NULL);
    assert_non_null(strstr(file("model.c"), "data_name = \"model.bin\";"));
    file("model.bin");
}

static void header_and_footer_can_be_left_out(void **state) {
    (void)state;
    QnnSaver_Config_t off = {.option = QNN_SAVER_CONFIG_WRITE_OUTPUT_HEADER,
                             .writeOutputHeader = 0};
    start("headless", &off);
    end(new_backend(), NULL);
    assert_int_equal(strncmp(file("saver_output.c"), "static Qnn_BackendHandle_t", 26), 0);
    has("int main(");
    off =
        (QnnSaver_Config_t){.option = QNN_SAVER_CONFIG_WRITE_OUTPUT_FOOTER, .writeOutputFooter = 0};
    start("footless", &off);
    end(new_backend(), NULL);
    has("#include \"QnnInterface.h\"");
    has_not("int main(");
}

static void bad_and_late_options_are_refused(void **state) {
    (void)state;
    QnnSaver_Config_t option = QNN_SAVER_CONFIG_INIT;
    const QnnSaver_Config_t *list[] = {&option, NULL};
    assert_int_equal(initialize(NULL), QNN_COMMON_ERROR_INVALID_ARGUMENT);
    assert_int_equal(initialize(list), QNN_COMMON_ERROR_INVALID_ARGUMENT);
    option = (QnnSaver_Config_t){.option = QNN_SAVER_CONFIG_OPTION_OUTPUT_DIRECTORY};
    assert_int_equal(initialize(list), QNN_COMMON_ERROR_INVALID_ARGUMENT);
    start("late", NULL);
    Qnn_BackendHandle_t b = new_backend();
    option.outputDirectory = "later";
    assert_int_equal(initialize(list), QNN_SAVER_ERROR_ALREADY_INSTANTIATED);
    end(b, NULL);
    assert_int_equal(initialize(list), QNN_SUCCESS);
}

// --- places that cannot be written

static void a_file_in_the_place_of_the_folder_is_an_error_that_can_be_mended(void **state) {
    (void)state;
    start("taken", NULL);
    FILE *f = fopen(folder, "w");
    fclose(f);
    Qnn_BackendHandle_t b = NULL;
    assert_int_equal(qnn.backendCreate(NULL, NULL, &b), QNN_BACKEND_ERROR_CANNOT_INITIALIZE);
    assert_null(b);
    const char *words = NULL;
    assert_int_equal(qnn.errorGetVerboseMessage(QNN_BACKEND_ERROR_CANNOT_INITIALIZE, &words),
                     QNN_SUCCESS);
    assert_non_null(strstr(words, folder));
    assert_non_null(strstr(words, "Not a directory"));
    assert_int_equal(qnn.errorFreeVerboseMessage(words), QNN_SUCCESS);
    assert_int_equal(unlink(folder), 0);
    end(new_backend(), NULL);
    has("backendCreate");
}

static void link_to_full(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(symlink("/dev/full", path), 0);
}

static void a_full_disk_at_the_start_refuses_the_backend(void **state) {
    (void)state;
    start("full", NULL);
    link_to_full("saver_output.c");
    Qnn_BackendHandle_t b = NULL;
    assert_int_equal(qnn.backendCreate(NULL, NULL, &b), QNN_COMMON_ERROR_GENERAL);
    assert_null(b);
}

static Qnn_Tensor_t static_tensor(const char *name, uint32_t *dims, float *data) {
    Qnn_Tensor_t t = describe(name, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1, dims);
    set_buffer(&t, data, dims[0] * sizeof *data);
    return t;
}

static void a_disk_that_fills_up_ends_the_recording(void **state) {
    (void)state;
    float data[4] = {1, 2, 3, 4};
    uint32_t dims[] = {4};
    start("filling", NULL);
    link_to_full("params.bin");
    Qnn_BackendHandle_t b = new_backend();
    Qnn_ContextHandle_t c = new_context(b), d = NULL;
    Qnn_GraphHandle_t g = NULL;
    assert_int_equal(qnn.graphCreate(c, "g", NULL, &g), QNN_SUCCESS);
    Qnn_Tensor_t t = static_tensor("w", dims, data);
    assert_int_equal(qnn.tensorCreateGraphTensor(g, &t), QNN_COMMON_ERROR_GENERAL);
    // From here on there is a gap: nothing works but giving things back.
    assert_int_equal(qnn.contextCreate(b, NULL, NULL, &d), QNN_COMMON_ERROR_GENERAL);
    assert_null(d);
    assert_int_equal(qnn.graphFinalize(g, NULL, NULL), QNN_COMMON_ERROR_GENERAL);
    end(b, c);
}

// --- answers

static void what_only_a_device_knows_is_a_dummy(void **state) {
    (void)state;
    start("dummies", NULL);
    Qnn_BackendHandle_t b = new_backend();
    Qnn_ContextHandle_t c = new_context(b);
    Qnn_ProfileHandle_t p = NULL;
    assert_int_equal(qnn.profileCreate(b, QNN_PROFILE_LEVEL_DETAILED, &p), QNN_SUCCESS);
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n = 0;
    uint64_t size = 0;
    const QnnDevice_PlatformInfo_t *info = NULL;
    const Qnn_ErrorHandle_t dummy = QNN_SAVER_ERROR_DUMMY_RETVALUE;
    assert_int_equal(qnn.profileGetEvents(p, &ids, &n), dummy);
    assert_int_equal(n, 0);
    assert_int_equal(qnn.contextGetBinarySize(c, &size), dummy);
    char room[16];
    assert_int_equal(qnn.contextGetBinary(c, room, sizeof room, &size), dummy);
    assert_int_equal(qnn.deviceGetPlatformInfo(NULL, &info), dummy);
    has("ask(3, \"profileGetEvents\", qnn.profileGetEvents(profile_0, ");
    has("qnn.contextGetBinary(context_0, room(16), 16ull, ");
    // Wrong handles are found out all the same.
    assert_int_equal(qnn.profileGetEvents(c, &ids, &n), QNN_PROFILE_ERROR_INVALID_HANDLE);
    assert_int_equal(qnn.contextGetBinarySize(p, &size), QNN_CONTEXT_ERROR_INVALID_HANDLE);
    assert_int_equal(qnn.profileFree(p), QNN_SUCCESS);
    end(b, c);
}

static void everything_known_is_a_capability(void **state) {
    (void)state;
    assert_int_equal(qnn.propertyHasCapability(QNN_PROPERTY_CONTEXT_SUPPORT_CACHING),
                     QNN_PROPERTY_SUPPORTED);
    assert_int_equal(qnn.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE), QNN_PROPERTY_SUPPORTED);
    assert_int_equal(qnn.propertyHasCapability(0xfffff), QNN_PROPERTY_ERROR_UNKNOWN_KEY);
}

// x -> op -> y
static Qnn_ErrorHandle_t one_op(Qnn_GraphHandle_t g, const char *package, const char *type,
                                Qnn_Tensor_t *x, Qnn_Tensor_t *y) {
    static uint32_t dims[] = {2};
    *x = tensor(&qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 1, dims);
    *y = tensor(&qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 1, dims);
    return qnn.graphAddNode(g, op_config("op", package, type, x, 1, y, 1));
}

static void refused_calls_are_comments(void **state) {
    (void)state;
    start("refused", NULL);
    Qnn_BackendHandle_t b = new_backend();
    Qnn_ContextHandle_t c = new_context(b);
    Qnn_GraphHandle_t g = NULL;
    Qnn_Tensor_t x, y;
    assert_int_equal(qnn.graphCreate(c, "line\nbreak \\", NULL, &g), QNN_SUCCESS);
    assert_int_not_equal(one_op(g, "qti.aisw", "NoSuchOp", &x, &y), QNN_SUCCESS);
    has(" // 5: graphAddNode answered ");
    has("line nbreak"); // "line\nbreak" in the message; comments have no backslash
    has("qnn.graphCreate(context_0, \"line\\012break \\\\\", NULL, &graph_0)");
    end(b, c);
}

static void ops_of_any_package_are_taken(void **state) {
    (void)state;
    start("package", NULL);
    Qnn_BackendHandle_t b = new_backend();
    Qnn_ContextHandle_t c = new_context(b);
    Qnn_GraphHandle_t g = NULL;
    Qnn_Tensor_t x, y;
    assert_int_equal(qnn.backendRegisterOpPackage(b, "/not/here.so", "Provider", NULL),
                     QNN_SUCCESS);
    assert_int_equal(qnn.graphCreate(c, "g", NULL, &g), QNN_SUCCESS);
    assert_int_equal(one_op(g, "their.package", "TheirOp", &x, &y), QNN_SUCCESS);
    assert_int_equal(qnn.graphFinalize(g, NULL, NULL), QNN_SUCCESS);
    has("\"/not/here.so\", \"Provider\", NULL");
    has("\"TheirOp\"");
    end(b, c);
}

static void executions_leave_outputs_alone(void **state) {
    (void)state;
    start("outputs", NULL);
    Qnn_BackendHandle_t b = new_backend();
    Qnn_ContextHandle_t c = new_context(b);
    Qnn_GraphHandle_t g = NULL;
    Qnn_Tensor_t x, y;
    float in[2] = {1, -1}, out[2] = {7, 8};
    assert_int_equal(qnn.graphCreate(c, "g", NULL, &g), QNN_SUCCESS);
    assert_int_equal(one_op(g, "qti.aisw", "Relu", &x, &y), QNN_SUCCESS);
    assert_int_equal(qnn.graphFinalize(g, NULL, NULL), QNN_SUCCESS);
    set_buffer(&x, in, sizeof in);
    set_buffer(&y, out, sizeof out);
    assert_int_equal(qnn.graphExecute(g, &x, 1, &y, 1, NULL, NULL), QNN_SUCCESS);
    assert_true(out[0] == 7 && out[1] == 8);
    assert_memory_equal(file("params.bin"), in, sizeof in);
    end(b, c);
}

// --- binaries

static void graphs_of_binaries_are_known_by_name_alone(void **state) {
    (void)state;
    start("binary", NULL);
    Qnn_BackendHandle_t b = new_backend();
    Qnn_ContextHandle_t c = NULL;
    Qnn_GraphHandle_t g = NULL, same = NULL;
    uint32_t dims[] = {2};
    float in[2] = {0}, out[2] = {0};
    assert_int_equal(qnn.contextCreateFromBinary(b, NULL, NULL, "any bytes at all", 16, &c, NULL),
                     QNN_SUCCESS);
    assert_int_equal(qnn.graphRetrieve(c, "main", &g), QNN_SUCCESS);
    assert_int_equal(qnn.graphRetrieve(c, "main", &same), QNN_SUCCESS);
    assert_ptr_equal(g, same);
    Qnn_Tensor_t x = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, dims);
    Qnn_Tensor_t y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 1, dims);
    x.v1.id = 41;
    set_buffer(&x, in, sizeof in);
    set_buffer(&y, out, sizeof out);
    assert_int_equal(qnn.graphExecute(g, &x, 1, &y, 1, NULL, NULL), QNN_SUCCESS);
    has("data(0, 16), 16ull, &context_0, NULL");
    has("id_of(0, 41)");
    assert_memory_equal(file("params.bin"), "any bytes at all", 16);
    assert_int_equal(qnn.graphExecute(g, NULL, 1, &y, 1, NULL, NULL),
                     QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    x.version = 77;
    assert_int_not_equal(qnn.graphExecute(g, &x, 1, &y, 1, NULL, NULL), QNN_SUCCESS);
    end(b, c);
}

static int n_freed;

static void free_it(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                    QnnContext_createFromBinaryAsyncNotifyType_t type, void *param,
                    Qnn_ErrorHandle_t code) {
    (void)graph;
    (void)name;
    assert_int_equal(type, QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT);
    assert_int_equal(code, QNN_SUCCESS);
    assert_int_equal(*(int *)param, 5);
    assert_int_equal(qnn.contextFree(context, NULL), QNN_SUCCESS);
    n_freed++;
}

static void a_list_of_binaries_tells_after_it_was_written(void **state) {
    (void)state;
    int five = 5;
    start("list", NULL);
    Qnn_BackendHandle_t b = new_backend();
    QnnContext_Params_t one = {.version = QNN_CONTEXT_PARAMS_VERSION_1,
                               .v1 = {NULL, "1234", 4, NULL, free_it, &five}};
    QnnContext_Params_t two = {.version = QNN_CONTEXT_PARAMS_VERSION_1,
                               .v1 = {NULL, "56789", 5, NULL, free_it, &five}};
    const QnnContext_Params_t *list[] = {&one, &two, NULL};
    assert_int_equal(qnn.contextCreateFromBinaryListAsync(b, NULL, list, NULL, NULL), QNN_SUCCESS);
    assert_int_equal(n_freed, 2);
    const char *text = file("saver_output.c");
    const char *made = strstr(text, "qnn.contextCreateFromBinaryListAsync(");
    const char *freed = strstr(text, "qnn.contextFree(context_0");
    assert_true(made && freed && made < freed);
    assert_int_not_equal(qnn.contextCreateFromBinaryListAsync(b, NULL, NULL, NULL, NULL),
                         QNN_SUCCESS);
    end(b, NULL);
}

// --- options of backends

static void custom_options_need_a_backend_id(void **state) {
    (void)state;
    QnnHtpGraph_CustomConfig_t vtcm = {.option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE,
                                       .vtcmSizeInMB = 4};
    QnnHtpGraph_CustomConfig_t newer = {.option = (QnnHtpGraph_ConfigOption_t)12345};
    QnnGraph_Config_t first = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &vtcm};
    QnnGraph_Config_t second = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &newer};
    const QnnGraph_Config_t *configs[] = {&first, &second, NULL};
    const QnnSaver_Config_t id = {.option = QNN_SAVER_CONFIG_OPTION_BACKEND_ID,
                                  .backendId = QNN_BACKEND_ID_HTP};
    for (int known = 0; known < 2; known++) {
        start(known ? "htp" : "nobody", known ? &id : NULL);
        Qnn_BackendHandle_t b = new_backend();
        Qnn_ContextHandle_t c = new_context(b);
        Qnn_GraphHandle_t g = NULL;
        assert_int_equal(qnn.graphCreate(c, "g", configs, &g), QNN_SUCCESS);
        const char *text = file("saver_output.c");
        assert_int_equal(count(text, ".vtcmSizeInMB = 4"), known);
        assert_int_equal(count(text, "/* a custom option that backend id"), 2 - known);
        end(b, c);
    }
}

static void options_of_older_headers_are_written_as_of_todays(void **state) {
    (void)state;
    const QnnSaver_Config_t id = {.option = QNN_SAVER_CONFIG_OPTION_BACKEND_ID,
                                  .backendId = QNN_BACKEND_ID_HTP};
    // The union at byte 4, 12 bytes in all.
    uint32_t *soc = malloc(12), *arch = malloc(12);
    memcpy(soc, (uint32_t[]){QNN_HTP_DEVICE_CONFIG_OPTION_SOC, 57, 0}, 12);
    memcpy(arch, (uint32_t[]){QNN_HTP_DEVICE_CONFIG_OPTION_ARCH, 0, 75}, 12);
    QnnHtpDevice_CustomConfig_t today = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_ARCH,
                                         .arch = {1, QNN_HTP_DEVICE_ARCH_V79}};
    const QnnDevice_Config_t all[] = {
        {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = soc},
        {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = arch},
        {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &today}};
    const QnnDevice_Config_t *configs[] = {&all[0], &all[1], &all[2], NULL};
    start("older", &id);
    Qnn_BackendHandle_t b = new_backend();
    Qnn_DeviceHandle_t d = NULL;
    assert_int_equal(qnn.deviceCreate(NULL, configs, &d), QNN_SUCCESS);
    has(".option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = 57}");
    has(".arch = {.arch = QNN_HTP_DEVICE_ARCH_V75}");
    has(".arch = {.deviceId = 1, .arch = QNN_HTP_DEVICE_ARCH_V79}");
    assert_int_equal(qnn.deviceFree(d), QNN_SUCCESS);
    end(b, NULL);
    free(soc);
    free(arch);
}

static void votes_for_clocks_are_calls(void **state) {
    (void)state;
    start("votes", NULL);
    Qnn_BackendHandle_t b = new_backend();
    QnnDevice_Infrastructure_t infra = NULL;
    uint32_t id = 0;
    assert_int_equal(qnn.deviceGetInfrastructure(&infra), QNN_SUCCESS);
    assert_int_equal(infra->infraType, QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF);
    assert_int_equal(infra->perfInfra.createPowerConfigId(0, 0, &id), QNN_SUCCESS);
    QnnHtpPerfInfrastructure_PowerConfig_t vote = {
        .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME,
        .rpcPollingTimeConfig = 9999};
    const QnnHtpPerfInfrastructure_PowerConfig_t *votes[] = {&vote, NULL};
    assert_int_equal(infra->perfInfra.setPowerConfig(id, votes), QNN_SUCCESS);
    has("perf()->setPowerConfig(power_0, ");
    has(".rpcPollingTimeConfig = 9999");
    assert_int_equal(infra->perfInfra.destroyPowerConfigId(id), QNN_SUCCESS);
    assert_int_not_equal(infra->perfInfra.setPowerConfig(id, votes), QNN_SUCCESS);
    assert_int_not_equal(infra->perfInfra.destroyPowerConfigId(id), QNN_SUCCESS);
    assert_int_not_equal(infra->perfInfra.createPowerConfigId(0, 0, NULL), QNN_SUCCESS);
    assert_int_not_equal(infra->perfInfra.setMemoryConfig(0, 0, NULL), QNN_SUCCESS);
    end(b, NULL);
}

static void shared_buffers_of_the_htp_have_an_offset(void **state) {
    (void)state;
    const QnnSaver_Config_t id = {.option = QNN_SAVER_CONFIG_OPTION_BACKEND_ID,
                                  .backendId = QNN_BACKEND_ID_HTP};
    start("shared", &id);
    Qnn_BackendHandle_t b = new_backend();
    Qnn_ContextHandle_t c = new_context(b);
    int fd = memfd_create("shared", 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    QnnMemHtp_Descriptor_t htp = {
        .type = QNN_HTP_MEM_SHARED_BUFFER, .size = 4096, .sharedBufferConfig = {fd, 128}};
    uint32_t dims[] = {8};
    Qnn_MemDescriptor_t d = {.memShape = {1, dims, NULL},
                             .dataType = QNN_DATATYPE_FLOAT_32,
                             .memType = QNN_MEM_TYPE_CUSTOM,
                             .customInfo = &htp};
    Qnn_MemHandle_t m = NULL;
    assert_int_equal(qnn.memRegister(c, &d, 1, &m), QNN_SUCCESS);
    has(".sharedBufferConfig = {.fd = shared(&memory_0, 4096, 128), .offset = 128ull}");
    assert_int_equal(qnn.memDeRegister(&m, 1), QNN_SUCCESS);
    has("(void *[]){memory_0.handle}");
    close(fd);
    end(b, c);
}

// --- threads, and clients that go wrong

#define N_NODES 40

typedef struct worker {
    Qnn_ContextHandle_t context;
    const char *graph;
    pthread_t thread;
} worker;

static void *build(void *arg) {
    const worker *me = arg;
    Qnn_GraphHandle_t g = NULL;
    char name[32];
    uint32_t dims[] = {2};
    float in[2] = {1, -1}, out[2];
    if (qnn.graphCreate(me->context, me->graph, NULL, &g) != QNN_SUCCESS)
        return "create";
    Qnn_Tensor_t first = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, dims);
    Qnn_Tensor_t from = first, to = first;
    if (qnn.tensorCreateGraphTensor(g, &from) != QNN_SUCCESS)
        return "x";
    first = from;
    for (int i = 0; i < N_NODES; i++) {
        snprintf(name, sizeof name, "t%d", i);
        to = describe(name, i + 1 < N_NODES ? QNN_TENSOR_TYPE_NATIVE : QNN_TENSOR_TYPE_APP_READ,
                      QNN_DATATYPE_FLOAT_32, 1, dims);
        if (qnn.tensorCreateGraphTensor(g, &to) != QNN_SUCCESS ||
            qnn.graphAddNode(g, op_config(name, "qti.aisw", "Relu", &from, 1, &to, 1)) !=
                QNN_SUCCESS)
            return "node";
        from = to;
        from.v1.name = NULL;
    }
    if (qnn.graphFinalize(g, NULL, NULL) != QNN_SUCCESS)
        return "finalize";
    set_buffer(&first, in, sizeof in);
    set_buffer(&to, out, sizeof out);
    return qnn.graphExecute(g, &first, 1, &to, 1, NULL, NULL) == QNN_SUCCESS ? NULL : "execute";
}

static void two_threads_are_written_one_call_after_the_other(void **state) {
    (void)state;
    start("threads", NULL);
    Qnn_BackendHandle_t b = new_backend();
    Qnn_ContextHandle_t c = new_context(b);
    worker workers[2] = {{.context = c, .graph = "one"}, {.context = c, .graph = "two"}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, build, &workers[i]), 0);
    for (int i = 0; i < 2; i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(workers[i].thread, &failed), 0);
        if (failed)
            fail_msg("thread %d: %s", i, (const char *)failed);
    }
    end(b, c);
    const char *text = file("saver_output.c");
    assert_int_equal(count(text, "qnn.graphAddNode("), 2 * N_NODES);
    assert_int_equal(count(text, "qnn.tensorCreateGraphTensor("), 2 * (N_NODES + 1));
    char last[32]; // backend, context, 2 * (graph, x, nodes and tensors, finalize, execute), ends
    snprintf(last, sizeof last, "check(%d, \"backendFree\"", 2 + 2 * (4 + 2 * N_NODES) + 1);
    has(last);
}

// Every function with nothing but garbage in the place of handles and NULL for the rest.
static void nobody_is_hurt_by_wrong_arguments(void **state) {
    (void)state;
    start("wrong", NULL);
    Qnn_BackendHandle_t b = new_backend();
    void *bad[] = {NULL, (void *)(uintptr_t)0xdeadbeef, b};
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    for (size_t i = 0; i < 3; i++) {
        void *h = bad[i];
        assert_int_not_equal(qnn.backendCreate(i == 1 ? h : NULL, NULL, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextCreate(i < 2 ? h : NULL, NULL, NULL, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextFree(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextGetBinary(h, NULL, 0, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextCreateFromBinary(h, NULL, NULL, NULL, 9, NULL, NULL),
                             QNN_SUCCESS);
        assert_int_not_equal(qnn.graphCreate(h, NULL, NULL, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.graphRetrieve(h, NULL, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.graphAddNode(h, op), QNN_SUCCESS);
        assert_int_not_equal(qnn.graphFinalize(h, NULL, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.graphExecute(h, NULL, 1, NULL, 1, NULL, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.graphExecuteAsync(h, NULL, 1, NULL, 1, NULL, NULL, NULL, NULL),
                             QNN_SUCCESS);
        assert_int_not_equal(qnn.tensorCreateGraphTensor(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.tensorCreateContextTensor(h, &t), QNN_SUCCESS);
        assert_int_not_equal(qnn.backendValidateOpConfig(h, op), QNN_SUCCESS);
        assert_int_not_equal(qnn.memRegister(h, NULL, 1, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.memDeRegister((Qnn_MemHandle_t *)bad, 3), QNN_SUCCESS);
        assert_int_not_equal(qnn.profileCreate(h, 0, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.profileFree(h), QNN_SUCCESS);
        assert_int_not_equal(qnn.signalFree(h), QNN_SUCCESS);
        assert_int_not_equal(qnn.logFree(h), QNN_SUCCESS);
        assert_int_not_equal(qnn.deviceFree(h), QNN_SUCCESS);
        assert_int_not_equal(qnn.graphGetProperty(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.graphValidate(h, NULL, NULL), QNN_SUCCESS);
    }
    end(b, NULL);
    assert_int_equal(count(file("saver_output.c"), "qnn.graph"), 0);
}

static void nor_by_wrong_arguments_of_the_rarer_functions(void **state) {
    (void)state;
    start("rarer", NULL);
    Qnn_BackendHandle_t b = new_backend();
    void *bad[] = {NULL, (void *)(uintptr_t)0xdeadbeef};
    for (size_t i = 0; i < 3; i++) {
        void *h = i < 2 ? bad[i] : bad; // an address that is no handle
        QnnContext_Buffer_t buffer = {.version = QNN_CONTEXT_BUFFER_VERSION_1};
        assert_int_not_equal(qnn.backendSetConfig(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.backendRegisterOpPackage(h, NULL, NULL, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.backendRegisterOpPackageFromBinary(h, NULL, 5, NULL, NULL),
                             QNN_SUCCESS);
        assert_int_not_equal(qnn.backendGetSupportedOperations(h, NULL, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.backendGetProperty(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.backendFree(h), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextSetConfig(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextValidateBinary(h, NULL, NULL, NULL, 5), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextCreateFromBinaryWithSignal(h, h, NULL, NULL, 5, NULL, h, h),
                             QNN_SUCCESS);
        assert_int_not_equal(
            qnn.contextCreateFromBinaryWithCallback(h, h, NULL, NULL, NULL, 5, NULL, h, h),
            QNN_SUCCESS);
        assert_int_not_equal(qnn.contextGetBinarySectionSize(h, h, 1, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextGetBinarySection(h, h, 1, NULL, NULL, h, h), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextApplyBinarySection(h, h, 1, &buffer, h, h), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextGetProperty(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextGetIncrementalBinary(h, NULL, NULL, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextReleaseIncrementalBinary(h, NULL, 0), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextFinalize(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextFreeBinarySectionUpdate(buffer, h), QNN_SUCCESS);
        assert_int_not_equal(qnn.contextAddToDlc(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.graphCreateSubgraph(h, NULL, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.graphSetConfig(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.graphPrepareExecutionEnvironment(h, NULL, 1), QNN_SUCCESS);
        assert_int_not_equal(qnn.graphReleaseExecutionEnvironment(h, NULL, 1), QNN_SUCCESS);
        assert_int_not_equal(qnn.graphFreeValidationResult(h), QNN_SUCCESS);
        assert_int_not_equal(qnn.tensorUpdateGraphTensors(h, NULL, 1), QNN_SUCCESS);
        assert_int_not_equal(qnn.tensorUpdateContextTensors(h, NULL, 1), QNN_SUCCESS);
        assert_int_not_equal(qnn.logSetLogLevel(h, QNN_LOG_LEVEL_ERROR), QNN_SUCCESS);
        assert_int_not_equal(qnn.profileSetConfig(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.profileGetSubEvents((uintptr_t)h, NULL, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.profileGetEventData((uintptr_t)h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.profileGetExtendedEventData((uintptr_t)h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.deviceFreePlatformInfo(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.deviceCreate(h, NULL, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.deviceSetConfig(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.deviceGetInfo(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.signalCreate(h, NULL, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.signalSetConfig(h, NULL), QNN_SUCCESS);
        assert_int_not_equal(qnn.signalTrigger(h), QNN_SUCCESS);
    }
    end(b, NULL);
    assert_int_equal(count(file("saver_output.c"), "qnn.context"), 0);
}

static void nor_by_answers_without_a_place(void **state) {
    (void)state;
    start("nowhere", NULL);
    Qnn_BackendHandle_t b = new_backend();
    assert_int_not_equal(qnn.logCreate(NULL, QNN_LOG_LEVEL_ERROR, NULL), QNN_SUCCESS);
    assert_int_not_equal(qnn.backendGetApiVersion(NULL), QNN_SUCCESS);
    assert_int_not_equal(qnn.backendGetBuildId(NULL), QNN_SUCCESS);
    assert_int_not_equal(qnn.errorGetMessage(1004, NULL), QNN_SUCCESS);
    assert_int_not_equal(qnn.errorGetVerboseMessage(1004, NULL), QNN_SUCCESS);
    assert_int_not_equal(
        qnn.contextGetBinarySectionUpdate(NULL, NULL, NULL, 1, 0, NULL, NULL, NULL, NULL),
        QNN_SUCCESS);
    assert_int_not_equal(qnn.deviceGetInfrastructure(NULL), QNN_SUCCESS);
    assert_int_not_equal(qnn.errorFreeVerboseMessage("not ours"), QNN_SUCCESS);
    end(b, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_provider_is_the_saver),
        cmocka_unit_test(the_default_folder_is_made_with_the_first_backend),
        cmocka_unit_test(a_recording_overwrites_the_one_before),
        cmocka_unit_test(a_second_backend_goes_on_with_the_recording),
        cmocka_unit_test(folders_may_carry_the_time),
        cmocka_unit_test(files_may_have_other_names),
        cmocka_unit_test(header_and_footer_can_be_left_out),
        cmocka_unit_test(bad_and_late_options_are_refused),
        cmocka_unit_test(a_file_in_the_place_of_the_folder_is_an_error_that_can_be_mended),
        cmocka_unit_test(a_full_disk_at_the_start_refuses_the_backend),
        cmocka_unit_test(a_disk_that_fills_up_ends_the_recording),
        cmocka_unit_test(what_only_a_device_knows_is_a_dummy),
        cmocka_unit_test(everything_known_is_a_capability),
        cmocka_unit_test(refused_calls_are_comments),
        cmocka_unit_test(ops_of_any_package_are_taken),
        cmocka_unit_test(executions_leave_outputs_alone),
        cmocka_unit_test(graphs_of_binaries_are_known_by_name_alone),
        cmocka_unit_test(a_list_of_binaries_tells_after_it_was_written),
        cmocka_unit_test(custom_options_need_a_backend_id),
        cmocka_unit_test(options_of_older_headers_are_written_as_of_todays),
        cmocka_unit_test(votes_for_clocks_are_calls),
        cmocka_unit_test(shared_buffers_of_the_htp_have_an_offset),
        cmocka_unit_test(two_threads_are_written_one_call_after_the_other),
        cmocka_unit_test(nobody_is_hurt_by_wrong_arguments),
        cmocka_unit_test(nor_by_wrong_arguments_of_the_rarer_functions),
        cmocka_unit_test(nor_by_answers_without_a_place),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
