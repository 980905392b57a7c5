// SPDX-License-Identifier: MIT
//
// Runs one case: context, graph, tensors, validation, nodes, finalize, execute, compare. Beside the
// values it holds the library to its contract: static data and structures may be gone after the
// call that took them, inputs are not written to, a repeated execution with other tensor order and
// other garbage in the outputs gives the same bytes, reported shapes are right, an error comes with
// a log line, and what validateOpConfig refuses is not accepted afterwards.

#include "case_run.h"

#include "GPU/QnnGpuGraph.h"
#include "HTP/QnnHtpDevice.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Guards last_log: the callback may come from any thread.
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_log[512];

static void on_log(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    (void)level;
    (void)timestamp;
    pthread_mutex_lock(&log_lock);
    vsnprintf(last_log, sizeof last_log, fmt, args);
    last_log[strcspn(last_log, "\n")] = '\0';
    pthread_mutex_unlock(&log_lock);
}

static bool has_logged(void) {
    pthread_mutex_lock(&log_lock);
    bool yes = last_log[0] != '\0';
    pthread_mutex_unlock(&log_lock);
    return yes;
}

typedef Qnn_ErrorHandle_t (*get_providers_fn)(const QnnInterface_t ***list, uint32_t *n);

static Qnn_ErrorHandle_t make_device(qrn_session *s, uint32_t soc) {
    QnnHtpDevice_CustomConfig_t chip = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC,
                                        .socModel = soc};
    QnnDevice_Config_t config = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &chip};
    const QnnDevice_Config_t *configs[] = {&config, NULL};
    return s->api.deviceCreate(s->log, configs, &s->device);
}

bool qrn_session_open(qrn_session *s, const char *path, uint32_t soc, char *why, size_t why_size) {
    get_providers_fn get_providers = NULL;
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    *s = (qrn_session){0};
    s->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!s->library) {
        snprintf(why, why_size, "%s", dlerror());
        return false;
    }
    *(void **)&get_providers = dlsym(s->library, "QnnInterface_getProviders");
    if (!get_providers || get_providers(&list, &n) != QNN_SUCCESS || n != 1) {
        snprintf(why, why_size, "%s: no single interface provider", path);
        return false;
    }
    Qnn_Version_t core = list[0]->apiVersion.coreApiVersion;
    if (core.major != QNN_API_VERSION_MAJOR || core.minor < QNN_API_VERSION_MINOR) {
        snprintf(why, why_size, "%s: API version %" PRIu32 ".%" PRIu32 " is too old", path,
                 core.major, core.minor);
        return false;
    }
    s->api = list[0]->QNN_INTERFACE_VER_NAME;
    Qnn_ErrorHandle_t rc = s->api.logCreate(on_log, QNN_LOG_LEVEL_ERROR, &s->log);
    if (rc == QNN_SUCCESS)
        rc = s->api.backendCreate(s->log, NULL, &s->backend);
    if (rc == QNN_SUCCESS && soc)
        rc = make_device(s, soc);
    if (rc == QNN_SUCCESS)
        return true;
    snprintf(why, why_size, "%s: creating the backend or device gives %" PRIu64 ": %s", path,
             (uint64_t)rc, last_log);
    return false;
}

typedef struct {
    const char *word;
    QnnGpu_Precision_t number;
    qrn_leeway leeway;
} precision;

static const precision precisions[] = {
#define X(word, number, fp16, tolerance) {word, number, {tolerance, fp16}},
    QRN_PRECISION_LIST(X)
#undef X
};

static const precision *find_precision(const char *word) {
    for (size_t i = 0; word && i < sizeof precisions / sizeof precisions[0]; i++)
        if (strcmp(precisions[i].word, word) == 0)
            return &precisions[i];
    return NULL;
}

bool qrn_session_precision(qrn_session *s, const char *word) {
    const precision *p = find_precision(word);
    if (p) {
        s->precision = p->word;
        s->leeway = p->leeway;
    }
    return p != NULL;
}

void qrn_session_close(qrn_session *s) {
    // The library stays loaded, so that a leak report can still name its functions.
    if (s->device)
        s->api.deviceFree(s->device);
    if (s->backend)
        s->api.backendFree(s->backend);
    if (s->log)
        s->api.logFree(s->log);
}

// One case in progress.
typedef struct {
    qrn_session *s;
    const qrn_case *c;
    qrn_result *result;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    bool v2;       // tensors are V2
    bool rejected; // validateOpConfig said no
    bool done;     // an expected error arrived
    uint32_t ids[QRN_CASE_TENSORS];
    qrn_shape shapes[QRN_CASE_TENSORS]; // what is passed and may be written to
} run;

static bool fail(run *r, const char *fmt, ...) {
    va_list args;
    char *why = r->result->why;
    va_start(args, fmt);
    int n = vsnprintf(why, sizeof r->result->why, fmt, args);
    va_end(args);
    pthread_mutex_lock(&log_lock);
    if (last_log[0] && n >= 0 && (size_t)n < sizeof r->result->why)
        snprintf(why + n, sizeof r->result->why - (size_t)n, "; log: %s", last_log);
    pthread_mutex_unlock(&log_lock);
    r->result->verdict = QRN_FAILED;
    return false;
}

// Judges what a call returned. False ends the case: as failed, or as passed when done is set.
static bool check_call(run *r, qrn_stage stage, Qnn_ErrorHandle_t rc, const char *call,
                       const char *object) {
    const qrn_case *c = r->c;
    if (rc == QNN_SUCCESS)
        return true;
    if (stage == QRN_STAGE_VALIDATE) {
        r->rejected = true;
        if (c->error_stage == QRN_STAGE_NONE) {
            fail(r, "validateOpConfig refuses '%s' with %" PRIu64, object, (uint64_t)rc);
            r->result->verdict = QRN_REFUSED;
            return false;
        }
    }
    if (stage == c->error_stage) {
        if (c->error_code != 0 && rc != c->error_code)
            return fail(r, "%s of '%s' gives %" PRIu64 ", wanted error %" PRIu64, call, object,
                        (uint64_t)rc, c->error_code);
        if (!has_logged())
            return fail(r, "%s of '%s' gives error %" PRIu64 " and logs nothing", call, object,
                        (uint64_t)rc);
        // A refused op must also be refused when it is added or finalized.
        if (stage == QRN_STAGE_VALIDATE)
            return true;
        r->done = true;
        return false;
    }
    if (stage == QRN_STAGE_VALIDATE)
        return true;
    if (r->rejected && c->error_stage == QRN_STAGE_VALIDATE &&
        (stage == QRN_STAGE_ADD || stage == QRN_STAGE_FINALIZE)) {
        r->done = true;
        return false;
    }
    return fail(r, "%s of '%s' gives error %" PRIu64, call, object, (uint64_t)rc);
}

// At the end of a stage: an expected error of this stage must have come.
static bool check_stage(run *r, qrn_stage stage) {
    static const char *const names[] = {"createGraphTensor", "validateOpConfig", "addNode",
                                        "finalize", "execute"};
    bool came = stage == QRN_STAGE_VALIDATE && r->rejected;
    if (r->c->error_stage == stage && !came)
        return fail(r, "%s succeeds, wanted error %" PRIu64, names[stage], r->c->error_code);
    if (stage == QRN_STAGE_FINALIZE && r->rejected)
        return fail(r, "validateOpConfig refuses, addNode and finalize accept");
    return true;
}

static Qnn_Tensor_t make_tensor(run *r, uint32_t i, qrn_bytes data) {
    const qrn_case_tensor *t = &r->c->tensors[i];
    uint32_t *dims = t->shape.rank ? r->shapes[i].dims : NULL;
    Qnn_ClientBuffer_t buffer = {(void *)(uintptr_t)data.data, (uint32_t)data.size};
    Qnn_Tensor_t out = QNN_TENSOR_INIT;
    if (r->v2) {
        out.version = QNN_TENSOR_VERSION_2;
        out.v2 = (Qnn_TensorV2_t)QNN_TENSOR_V2_INIT;
        out.v2.id = r->ids[i];
        out.v2.name = t->name;
        out.v2.type = t->type;
        out.v2.dataType = t->dtype;
        out.v2.quantizeParams = t->quant;
        out.v2.rank = t->shape.rank;
        out.v2.dimensions = dims;
        out.v2.memType = QNN_TENSORMEMTYPE_RAW;
        out.v2.clientBuf = buffer;
        out.v2.isDynamicDimensions = t->is_dynamic ? (uint8_t *)(uintptr_t)t->dynamic : NULL;
        if (t->n_sparse) {
            out.v2.dataFormat = QNN_TENSOR_DATA_FORMAT_SPARSE;
            out.v2.sparseParams.type = QNN_SPARSE_LAYOUT_HYBRID_COO;
            out.v2.sparseParams.hybridCoo.numSpecifiedElements = t->n_sparse;
            out.v2.sparseParams.hybridCoo.numSparseDimensions = t->n_sparse_dims;
        }
        return out;
    }
    out.v1.id = r->ids[i];
    out.v1.name = t->name;
    out.v1.type = t->type;
    out.v1.dataType = t->dtype;
    out.v1.quantizeParams = t->quant;
    out.v1.rank = t->shape.rank;
    out.v1.dimensions = dims;
    out.v1.memType = QNN_TENSORMEMTYPE_RAW;
    out.v1.clientBuf = buffer;
    return out;
}

static void *copy_bytes(const void *data, size_t size) {
    void *copy = malloc(size ? size : 1);
    if (copy && size)
        memcpy(copy, data, size);
    return copy;
}

static bool create_tensors(run *r) {
    for (uint32_t i = 0; i < r->c->n_tensors; i++) {
        const qrn_case_tensor *t = &r->c->tensors[i];
        r->shapes[i] = t->shape;
        if (t->type == QNN_TENSOR_TYPE_NULL)
            continue;
        qrn_bytes data = t->data;
        void *copy = NULL;
        if (data.data) {
            copy = copy_bytes(data.data, data.size);
            if (!copy)
                return fail(r, "out of memory");
            data.data = copy;
        }
        Qnn_Tensor_t tensor = make_tensor(r, i, data);
        Qnn_ErrorHandle_t rc = r->s->api.tensorCreateGraphTensor(r->graph, &tensor);
        // The library must have taken its own copy.
        if (copy)
            memset(copy, 0xEE, data.size);
        free(copy);
        r->ids[i] = r->v2 ? tensor.v2.id : tensor.v1.id;
        if (!check_call(r, QRN_STAGE_CREATE, rc, "createGraphTensor", t->name))
            return false;
        if (r->ids[i] == 0)
            return fail(r, "tensor '%s' has got no id", t->name);
    }
    return check_stage(r, QRN_STAGE_CREATE);
}

static bool add_node(run *r, const qrn_case_node *n) {
    Qnn_Param_t params[QRN_CASE_PARAMS];
    Qnn_Tensor_t links[QRN_CASE_LINKS];
    const qrn_case *c = r->c;
    for (uint32_t i = 0; i < n->n_params; i++) {
        const qrn_case_param *p = &c->params[n->first_param + i];
        params[i] = (Qnn_Param_t)QNN_PARAM_INIT;
        params[i].name = p->name;
        params[i].paramType = p->is_tensor ? QNN_PARAMTYPE_TENSOR : QNN_PARAMTYPE_SCALAR;
        if (p->is_tensor)
            params[i].tensorParam = make_tensor(r, p->tensor, c->tensors[p->tensor].data);
        else
            params[i].scalarParam = p->scalar;
    }
    uint32_t k = 0;
    for (uint32_t i = 0; i < n->n_inputs; i++, k++) {
        uint32_t t = c->links[n->first_input + i];
        links[k] = make_tensor(r, t, c->tensors[t].data);
    }
    for (uint32_t i = 0; i < n->n_outputs; i++, k++)
        links[k] = make_tensor(r, c->links[n->first_output + i], (qrn_bytes){0});
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = n->name;
    op.v1.packageName = n->package;
    op.v1.typeName = n->op;
    op.v1.numOfParams = n->n_params;
    op.v1.params = n->n_params ? params : NULL;
    op.v1.numOfInputs = n->n_inputs;
    op.v1.inputTensors = n->n_inputs ? links : NULL;
    op.v1.numOfOutputs = n->n_outputs;
    op.v1.outputTensors = n->n_outputs ? links + n->n_inputs : NULL;
    Qnn_ErrorHandle_t rc = r->s->api.backendValidateOpConfig(r->s->backend, op);
    if (!check_call(r, QRN_STAGE_VALIDATE, rc, "validateOpConfig", n->name))
        return false;
    if (r->s->validate_only)
        return true;
    rc = r->s->api.graphAddNode(r->graph, op);
    return check_call(r, QRN_STAGE_ADD, rc, "addNode", n->name);
}

static Qnn_ErrorHandle_t create_graph(run *r) {
    const precision *p = find_precision(r->s->precision);
    QnnGpuGraph_CustomConfig_t own = {.precision = p ? p->number : QNN_GPU_PRECISION_FP32};
    QnnGraph_Config_t config = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &own};
    const QnnGraph_Config_t *configs[] = {&config, NULL};
    return r->s->api.graphCreate(r->context, "graph", p ? configs : NULL, &r->graph);
}

// Values that 16 bits cannot hold make no case for modes that store floats so.
static bool fits(const qrn_case *c) {
    bool ok = true;
    for (uint32_t i = 0; i < c->n_tensors; i++)
        if (c->tensors[i].data.data)
            ok &= qrn_fits_fp16(c->tensors[i].dtype, c->tensors[i].data.data,
                                qrn_shape_count(&c->tensors[i].shape));
    for (uint32_t k = 0; k < c->n_rounds; k++) {
        const qrn_round *round = &c->rounds[k];
        for (uint32_t i = 0; i < round->n_feeds; i++) {
            const qrn_feed *f = &c->feeds[round->first_feed + i];
            ok &= qrn_fits_fp16(c->tensors[f->tensor].dtype, f->data.data,
                                qrn_shape_count(&f->shape));
        }
        for (uint32_t i = 0; i < round->n_wants; i++) {
            const qrn_want *w = &c->wants[round->first_want + i];
            bool doubles = w->mode == QRN_CMP_FLOAT || w->mode == QRN_CMP_ULP;
            if (doubles || w->mode == QRN_CMP_EXACT)
                ok &= qrn_fits_fp16(doubles ? QNN_DATATYPE_FLOAT_64 : c->tensors[w->tensor].dtype,
                                    w->data.data, qrn_shape_count(&w->shape));
        }
    }
    return ok;
}

static bool build(run *r) {
    const qrn_case *c = r->c;
    Qnn_ErrorHandle_t rc = r->s->api.contextCreate(r->s->backend, r->s->device, NULL, &r->context);
    if (rc != QNN_SUCCESS)
        return fail(r, "contextCreate gives error %" PRIu64, (uint64_t)rc);
    rc = create_graph(r);
    if (rc != QNN_SUCCESS)
        return fail(r, "graphCreate gives error %" PRIu64, (uint64_t)rc);
    if (!create_tensors(r))
        return false;
    for (uint32_t i = 0; i < c->n_nodes; i++)
        if (!add_node(r, &c->nodes[i]))
            return false;
    if (!check_stage(r, QRN_STAGE_VALIDATE))
        return false;
    if (r->s->validate_only) {
        r->done = true;
        return false;
    }
    if (!check_stage(r, QRN_STAGE_ADD))
        return false;
    rc = r->s->api.graphFinalize(r->graph, NULL, NULL);
    return check_call(r, QRN_STAGE_FINALIZE, rc, "finalize", "graph") &&
           check_stage(r, QRN_STAGE_FINALIZE);
}

// Buffers of one round, each a heap block of exactly its size so that a sanitizer sees overruns.
typedef struct {
    void *in[QRN_CASE_TENSORS];
    uint8_t *out[QRN_CASE_TENSORS];
    uint8_t *first_out[QRN_CASE_TENSORS]; // results of the first execution
} buffers;

static bool execute_once(run *r, const qrn_round *round, buffers *b, int garbage, bool reverse) {
    const qrn_case *c = r->c;
    const uint32_t n_feeds = round->n_feeds, n_wants = round->n_wants;
    Qnn_Tensor_t in[QRN_CASE_TENSORS], out[QRN_CASE_TENSORS];
    for (uint32_t i = 0; i < n_feeds; i++) {
        const qrn_feed *f = &c->feeds[round->first_feed + i];
        r->shapes[f->tensor] = f->shape;
        uint32_t at = reverse ? n_feeds - 1 - i : i;
        in[at] = make_tensor(r, f->tensor, (qrn_bytes){b->in[i], f->data.size});
    }
    for (uint32_t i = 0; i < n_wants; i++) {
        uint32_t t = c->wants[round->first_want + i].tensor;
        size_t size = qrn_shape_bytes(&c->tensors[t].shape, c->tensors[t].dtype);
        r->shapes[t] = c->tensors[t].shape;
        memset(b->out[i], garbage, size);
        uint32_t at = reverse ? n_wants - 1 - i : i;
        out[at] = make_tensor(r, t, (qrn_bytes){b->out[i], size});
    }
    Qnn_ErrorHandle_t rc = r->s->api.graphExecute(r->graph, in, n_feeds, out, n_wants, NULL, NULL);
    for (uint32_t i = 0; r->v2 && i < n_wants && (rc == QNN_SUCCESS || round->early); i++)
        if (out[i].v2.isProduced == round->early)
            return fail(r, "output '%s': isProduced is %d", out[i].v2.name, !round->early);
    if (round->early && rc == QNN_GRAPH_ERROR_EARLY_TERMINATION)
        return true;
    if (round->early)
        return fail(r, "execute gives %" PRIu64 ", wanted early termination", (uint64_t)rc);
    if (!check_call(r, QRN_STAGE_EXECUTE, rc, "execute", "graph"))
        return false;
    for (uint32_t i = 0; i < n_feeds; i++) {
        const qrn_feed *f = &c->feeds[round->first_feed + i];
        if (memcmp(b->in[i], f->data.data, f->data.size) != 0)
            return fail(r, "input '%s' has been written to", c->tensors[f->tensor].name);
    }
    return true;
}

static bool check_outputs(run *r, const qrn_round *round, buffers *b) {
    const qrn_case *c = r->c;
    char why[512];
    for (uint32_t i = 0; i < round->n_wants; i++) {
        const qrn_want *w = &c->wants[round->first_want + i];
        const qrn_case_tensor *t = &c->tensors[w->tensor];
        for (uint32_t k = 0; k < w->shape.rank; k++)
            if (w->shape.dims[k] != r->shapes[w->tensor].dims[k])
                return fail(r, "output '%s': dimension %" PRIu32 " is %" PRIu32 ", want %" PRIu32,
                            t->name, k, r->shapes[w->tensor].dims[k], w->shape.dims[k]);
        if (!qrn_compare(t, w, b->out[i], &r->s->leeway, &r->result->codes, why, sizeof why))
            return fail(r, "%s", why);
    }
    return true;
}

static bool run_round(run *r, const qrn_round *round, buffers *b) {
    const qrn_case *c = r->c;
    if (!execute_once(r, round, b, 0xA5, false))
        return false;
    if (c->error_stage == QRN_STAGE_EXECUTE || round->early)
        return true;
    if (!check_outputs(r, round, b))
        return false;
    if (c->once)
        return true;
    for (uint32_t i = 0; i < round->n_wants; i++) {
        uint8_t *swap = b->first_out[i];
        b->first_out[i] = b->out[i];
        b->out[i] = swap;
    }
    if (!execute_once(r, round, b, 0x5A, true))
        return false;
    for (uint32_t i = 0; i < round->n_wants; i++) {
        const qrn_want *w = &c->wants[round->first_want + i];
        const qrn_case_tensor *t = &c->tensors[w->tensor];
        if (memcmp(b->out[i], b->first_out[i], qrn_shape_bytes(&w->shape, t->dtype)) != 0)
            return fail(r, "output '%s' differs when the graph is executed again", t->name);
    }
    return true;
}

static bool make_buffers(const qrn_case *c, const qrn_round *round, buffers *b) {
    for (uint32_t i = 0; i < round->n_feeds; i++) {
        const qrn_feed *f = &c->feeds[round->first_feed + i];
        b->in[i] = copy_bytes(f->data.data, f->data.size);
        if (!b->in[i])
            return false;
    }
    for (uint32_t i = 0; i < round->n_wants; i++) {
        const qrn_case_tensor *t = &c->tensors[c->wants[round->first_want + i].tensor];
        size_t size = qrn_shape_bytes(&t->shape, t->dtype);
        b->out[i] = malloc(size ? size : 1);
        b->first_out[i] = malloc(size ? size : 1);
        if (!b->out[i] || !b->first_out[i])
            return false;
    }
    return true;
}

static bool execute(run *r) {
    const qrn_case *c = r->c;
    for (uint32_t k = 0; k < c->n_rounds; k++) {
        const qrn_round *round = &c->rounds[k];
        buffers b = {0};
        bool ok = make_buffers(c, round, &b) ? run_round(r, round, &b) : fail(r, "out of memory");
        for (uint32_t i = 0; i < round->n_feeds; i++)
            free(b.in[i]);
        for (uint32_t i = 0; i < round->n_wants; i++) {
            free(b.out[i]);
            free(b.first_out[i]);
        }
        if (!ok)
            return false;
    }
    return check_stage(r, QRN_STAGE_EXECUTE);
}

void qrn_case_run(qrn_session *s, const qrn_case *c, qrn_result *result) {
    run r = {.s = s, .c = c, .result = result};
    // Half of the cases go in as V1 and half as V2 tensors; only V2 can say what is dynamic, sparse
    // or not produced.
    r.v2 = c->index % 2 == 1;
    for (uint32_t i = 0; i < c->n_tensors; i++)
        r.v2 = r.v2 || c->tensors[i].is_dynamic || c->tensors[i].n_sparse;
    for (uint32_t i = 0; i < c->n_rounds; i++)
        r.v2 = r.v2 || c->rounds[i].early;
    *result = (qrn_result){.verdict = QRN_PASSED};
    last_log[0] = '\0';
    if (s->leeway.fp16 && !fits(c)) {
        fail(&r, "some values are beyond the range of 16 bits");
        result->verdict = QRN_REFUSED;
        return;
    }
    bool executes = c->error_stage >= QRN_STAGE_EXECUTE;
    bool ok = build(&r) && (!executes || execute(&r));
    if (!ok && !r.done && result->verdict == QRN_PASSED)
        fail(&r, "no verdict");
    Qnn_ErrorHandle_t rc = QNN_SUCCESS;
    if (r.context)
        rc = s->api.contextFree(r.context, NULL);
    if (rc != QNN_SUCCESS)
        fail(&r, "contextFree gives error %" PRIu64, (uint64_t)rc);
}
