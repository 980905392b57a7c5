// SPDX-License-Identifier: MIT
#include "tools/throughput/config.h"

#include <string.h>

#define U32 UINT32_MAX

#define AT(field) offsetof(tp_backend, field)
static const qs_key backend_keys[] = {
    {"backendName", QS_TEXT, AT(name), 0, 0, NULL, NULL, true, "name for threads"},
    {"backendPath", QS_TEXT, AT(path), 0, 0, NULL, NULL, true, "backend library"},
    {"profilingLevel", QS_WORD, AT(profiling), 0, 0, "OFF|BASIC|DETAILED", NULL, false,
     "a log for each thread, in the model's outputPath"},
    {"backendExtensions", QS_TEXT, AT(extensions), 0, 0, NULL, NULL, false, "extension library"},
    {"perfProfile", QS_TEXT, AT(perf_profile), 0, 0, NULL, NULL, false,
     "modelled: performance profile"},
    {"opPackagePath", QS_TEXT, AT(packages), 0, 0, NULL, NULL, false, "op packages to register"},
    {"platformOption", QS_TEXT, AT(platform), 0, 0, NULL, NULL, false,
     "options of the backend's platform"},
    {0},
};
#undef AT

#define AT(field) offsetof(tp_model, field)
static const qs_key model_keys[] = {
    {"modelName", QS_TEXT, AT(name), 0, 0, NULL, NULL, true, "name for threads"},
    {"modelPath", QS_TEXT, AT(path), 0, 0, NULL, NULL, true,
     "model library, .onnx or .tflite file, or context binary"},
    {"loadFromCachedBinary", QS_BOOL, AT(cached), 0, 0, NULL, NULL, false, "it is a binary"},
    {"inputPath", QS_TEXT, AT(inputs), 0, 0, NULL, NULL, false,
     "input lists, one for each graph; without them random data"},
    {"inputDataType", QS_WORD, AT(in_type), 0, 0, "NATIVE|FLOAT", NULL, false, "type of the files"},
    {"postProcessor", QS_TEXT, AT(post), 0, 0, NULL, NULL, false,
     "NONE, MSE, MSE_FLOAT32, MSE_INT8 or MSE_INT16, one for each graph"},
    {"outputPath", QS_TEXT, AT(output), 0, 0, NULL, NULL, false,
     "folder of outputs and logs, with a subfolder named after the thread"},
    {"outputDataType", QS_WORD, AT(out_type), 0, 0, "NATIVE_ONLY|FLOAT_ONLY|FLOAT_AND_NATIVE", NULL,
     false, "type of the outputs"},
    {"saveOutput", QS_WORD, AT(save), 0, 0, "NONE|NATIVE_LAST|NATIVE_ALL", NULL, false,
     "executions whose outputs are written"},
    {"groundTruthPath", QS_TEXT, AT(truth), 0, 0, NULL, NULL, false,
     "lists of outputs to compare with, one for each graph; NONE for none"},
    {0},
};
#undef AT

#define AT(field) offsetof(tp_context, field)
static const qs_key context_keys[] = {
    {"contextName", QS_TEXT, AT(name), 0, 0, NULL, NULL, true, "name for threads"},
    {"priority", QS_WORD, AT(priority), 0, 0, "DEFAULT|LOW|NORMAL|HIGH", NULL, false, "PRIORITY"},
    {"executeAsyncQueueDepth", QS_INT, AT(depth), 1, 300, NULL, NULL, false,
     "ASYNC_EXECUTION_QUEUE_DEPTH, and executions in flight"},
    {"cacheCompatibilityMode", QS_WORD, AT(compatibility), 0, 0, "permissive|strict", NULL, false,
     "BINARY_COMPATIBILITY"},
    {0},
};
#undef AT

#define AT(field) offsetof(tp_thread, field)
static const qs_key thread_keys[] = {
    {"threadName", QS_TEXT, AT(name), 0, 0, NULL, NULL, true, "name in results"},
    {"backend", QS_TEXT, AT(backend_name), 0, 0, NULL, NULL, true, "a backendName"},
    {"context", QS_TEXT, AT(context_name), 0, 0, NULL, NULL, true, "a contextName"},
    {"model", QS_TEXT, AT(model_name), 0, 0, NULL, NULL, true, "a modelName"},
    {"initModelInLoop", QS_BOOL, AT(init_in_loop), 0, 0, NULL, NULL, false,
     "prepare the model again for every iteration, in a context of the thread"},
    {"loadInputDataInLoop", QS_BOOL, AT(load_in_loop), 0, 0, NULL, NULL, false,
     "read inputs again for every execution"},
    {"useRandomData", QS_BOOL, AT(random), 0, 0, NULL, NULL, false, "instead of inputPath"},
    {"interval", QS_INT, AT(interval_us), 0, U32, NULL, NULL, false,
     "microseconds between executions"},
    {"loopUnit", QS_WORD, AT(unit), 0, 0, "count|second", NULL, false, "what loop counts"},
    {"loop", QS_INT, AT(loop), 1, U32, NULL, NULL, false, "executions of each graph, or seconds"},
    {"executeAsynchronous", QS_BOOL, AT(async), 0, 0, NULL, NULL, false, "graphExecuteAsync"},
    {"backendConfig", QS_TEXT, AT(backend_config), 0, 0, NULL, NULL, false,
     "file of the backend's extension"},
    {0},
};
#undef AT

static qrn_status read_threads(const qs_file *f, const qrn_json *v, void *slot) {
    tp_threads *t = slot;
    return qs_keys_list(f, v, "'threads'", thread_keys, sizeof *t->items, false, (void **)&t->items,
                        &t->n);
}

#define AT(field) offsetof(tp_case, field)
static const qs_key case_keys[] = {
    {"iteration", QS_INT, AT(iteration), INT32_MIN, INT32_MAX, NULL, NULL, true,
     "how often all threads run; below 0: until an interrupt"},
    {"logLevel", QS_WORD, AT(log_level), 0, 0, "error|warn|info|debug|verbose", NULL, false,
     "lines of the log that are printed"},
    {"threads", QS_INNER, AT(threads), 0, 0, NULL, read_threads, true,
     "what runs at the same time"},
    {0},
};
#undef AT

static qrn_status read_backends(const qs_file *f, const qrn_json *v, void *slot) {
    tp_backends *t = slot;
    return qs_keys_list(f, v, "'backends'", backend_keys, sizeof *t->items, false,
                        (void **)&t->items, &t->n);
}

static qrn_status read_models(const qs_file *f, const qrn_json *v, void *slot) {
    tp_models *t = slot;
    return qs_keys_list(f, v, "'models'", model_keys, sizeof *t->items, false, (void **)&t->items,
                        &t->n);
}

static qrn_status read_contexts(const qs_file *f, const qrn_json *v, void *slot) {
    tp_contexts *t = slot;
    return qs_keys_list(f, v, "'contexts'", context_keys, sizeof *t->items, false,
                        (void **)&t->items, &t->n);
}

static qrn_status read_case(const qs_file *f, const qrn_json *v, void *slot) {
    return qs_keys_read(f, v, "'testCase'", case_keys, slot);
}

#define AT(field) offsetof(tp_config, field)
static const qs_key top_keys[] = {
    {"backends", QS_INNER, AT(backends), 0, 0, NULL, read_backends, true, NULL},
    {"models", QS_INNER, AT(models), 0, 0, NULL, read_models, true, NULL},
    {"contexts", QS_INNER, AT(contexts), 0, 0, NULL, read_contexts, true, NULL},
    {"testCase", QS_INNER, AT(test), 0, 0, NULL, read_case, true, NULL},
    {0},
};
#undef AT

// Entries of a list by their names, which are the first member of each.
typedef struct named {
    const char *key; // "backendName"
    const void *items;
    size_t size;
    uint32_t n;
} named;

static const char *name_at(const named *l, uint32_t i) {
    const char *name;
    memcpy(&name, (const char *)l->items + i * l->size, sizeof name);
    return name;
}

static qrn_status check_unique(const qs_file *f, const named *l) {
    for (uint32_t i = 0; i < l->n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(name_at(l, i), name_at(l, k)) == 0)
                return QRN_FAIL(QRN_E_CONFIG, "%s: two entries have the %s '%s'", f->path, l->key,
                                name_at(l, i));
    return QRN_OK;
}

static qrn_status find(const qs_file *f, const tp_thread *t, const named *l, const char *name,
                       const void **out) {
    for (uint32_t i = 0; i < l->n; i++)
        if (strcmp(name_at(l, i), name) == 0) {
            *out = (const char *)l->items + i * l->size;
            return QRN_OK;
        }
    return QRN_FAIL(QRN_E_CONFIG, "%s: thread '%s': no %s '%s'; the first one is '%s'", f->path,
                    t->name, l->key, name, l->n ? name_at(l, 0) : "");
}

static qrn_status check_thread(const qs_file *f, const tp_thread *t) {
    if (t->init_in_loop.v && t->model->cached.v)
        return QRN_FAIL(QRN_E_CONFIG,
                        "%s: thread '%s': initModelInLoop does not go with loadFromCachedBinary",
                        f->path, t->name);
    if (t->backend_config && !t->backend->extensions)
        return QRN_FAIL(QRN_E_CONFIG,
                        "%s: thread '%s': backendConfig needs backendExtensions of backend '%s'",
                        f->path, t->name, t->backend->name);
    bool writes = t->model->save.v != TP_SAVE_NONE || t->backend->profiling.v;
    if (writes && !t->model->output)
        return QRN_FAIL(QRN_E_CONFIG,
                        "%s: thread '%s': saveOutput and profilingLevel need an "
                        "outputPath of model '%s'",
                        f->path, t->name, t->model->name);
    return QRN_OK;
}

static qrn_status resolve(const qs_file *f, tp_config *c) {
    const named backends = {"backendName", c->backends.items, sizeof(tp_backend), c->backends.n};
    const named models = {"modelName", c->models.items, sizeof(tp_model), c->models.n};
    const named contexts = {"contextName", c->contexts.items, sizeof(tp_context), c->contexts.n};
    const named threads = {"threadName", c->test.threads.items, sizeof(tp_thread),
                           c->test.threads.n};
    const named *all[] = {&backends, &models, &contexts, &threads};
    for (size_t i = 0; i < 4; i++)
        QRN_TRY(check_unique(f, all[i]));
    if (!c->test.threads.n)
        return QRN_FAIL(QRN_E_CONFIG, "%s: 'threads' is empty", f->path);
    for (uint32_t i = 0; i < c->test.threads.n; i++) {
        tp_thread *t = &c->test.threads.items[i];
        QRN_TRY(find(f, t, &backends, t->backend_name, (const void **)&t->backend));
        QRN_TRY(find(f, t, &models, t->model_name, (const void **)&t->model));
        QRN_TRY(find(f, t, &contexts, t->context_name, (const void **)&t->context));
        QRN_TRY(check_thread(f, t));
    }
    return QRN_OK;
}

qrn_status tp_config_parse(const char *path, const char *text, size_t n, qrn_arena *arena,
                           tp_config *out) {
    const qs_file f = {path, arena};
    qrn_json *top = NULL;
    QRN_TRY(qrn_json_read(path, text, n, arena, &top));
    QRN_TRY(qs_keys_read(&f, top, "the file", top_keys, out));
    return resolve(&f, out);
}
