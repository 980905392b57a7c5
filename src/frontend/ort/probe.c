// SPDX-License-Identifier: MIT
//
// A session of the host that copies one number.
#include "frontend/ort/probe.h"

#include "base/mem.h"
#include "frontend/onnx/reader/model.h"
#include "frontend/onnx/reader/schema.h"
#include "frontend/onnx/writer/wire_write.h"

#include <string.h>

struct qe_probe {
    OrtSession *session;
    OrtValue *in, *out;
    float x, y;
};

static void put_value(ox_writer *graph, uint32_t field, const char *name) {
    ox_writer dim = {0}, shape = {0}, tensor = {0}, type = {0}, value = {0};
    ox_put_int(&dim, PB_DIM_VALUE, 1);
    ox_put_message(&shape, PB_SHAPE_DIM, &dim);
    ox_put_int(&tensor, PB_TENSOR_TYPE_ELEM_TYPE, OX_F32);
    ox_put_message(&tensor, PB_TENSOR_TYPE_SHAPE, &shape);
    ox_put_message(&type, PB_TYPE_TENSOR, &tensor);
    ox_put_text(&value, PB_VALUE_NAME, name);
    ox_put_message(&value, PB_VALUE_TYPE, &type);
    ox_put_message(graph, field, &value);
}

static void put_model(ox_writer *model) {
    ox_writer node = {0}, graph = {0}, opset = {0};
    ox_put_text(&node, PB_NODE_INPUT, "x");
    ox_put_text(&node, PB_NODE_OUTPUT, "y");
    ox_put_text(&node, PB_NODE_OP_TYPE, "Identity");
    ox_put_message(&graph, PB_GRAPH_NODE, &node);
    ox_put_text(&graph, PB_GRAPH_NAME, "probe");
    put_value(&graph, PB_GRAPH_INPUT, "x");
    put_value(&graph, PB_GRAPH_OUTPUT, "y");
    ox_put_int(model, PB_MODEL_IR_VERSION, 8);
    ox_put_message(model, PB_MODEL_GRAPH, &graph);
    ox_put_int(&opset, PB_OPSET_VERSION, 13);
    ox_put_message(model, PB_MODEL_OPSET, &opset);
}

static qrn_status make_session(qe_probe *p, const OrtEnv *env, const ox_writer *model) {
    OrtSessionOptions *options = NULL;
    QE_TRY(CreateSessionOptions, &options);
    qrn_status s = qe_heard(ORT(SetSessionLogSeverityLevel)(options, ORT_LOG_FATAL), "probe");
    if (s == QRN_OK)
        s = qe_heard(ORT(SetIntraOpNumThreads)(options, 1), "probe");
    if (s == QRN_OK)
        s = qe_heard(ORT(CreateSessionFromArray)(env, model->data, model->n, options, &p->session),
                     "probe");
    ORT(ReleaseSessionOptions)(options);
    return s;
}

static qrn_status make_values(qe_probe *p) {
    const int64_t dims[] = {1};
    OrtMemoryInfo *memory = NULL;
    QE_TRY(CreateCpuMemoryInfo, 0, 0, &memory);
    qrn_status s = qe_heard(
        ORT(CreateTensorWithDataAsOrtValue)(memory, &p->x, sizeof p->x, dims, 1, 1, &p->in),
        "probe");
    if (s == QRN_OK)
        s = qe_heard(
            ORT(CreateTensorWithDataAsOrtValue)(memory, &p->y, sizeof p->y, dims, 1, 1, &p->out),
            "probe");
    ORT(ReleaseMemoryInfo)(memory);
    return s;
}

// There is one environment in a process, the application's, and it is counted. It is not kept: the
// last one who lets it go closes this library.
static qrn_status make(qe_probe *p) {
    ox_writer model = {0};
    OrtEnv *env = NULL;
    put_model(&model);
    qrn_status s = model.no_memory
                       ? QRN_FAIL(QRN_E_MEM, "probe: no memory")
                       : qe_heard(ORT(CreateEnv)(ORT_LOG_WARNING, "quern", &env), "CreateEnv");
    if (s == QRN_OK) {
        s = make_session(p, env, &model);
        ORT(ReleaseEnv)(env);
    }
    ox_writer_free(&model);
    return s == QRN_OK ? make_values(p) : s;
}

qrn_status qe_probe_open(qe_probe **out) {
    qe_probe *p = qrn_calloc(sizeof *p);
    if (!p)
        return QRN_FAIL(QRN_E_MEM, "probe: no memory");
    qrn_status s = make(p);
    if (s != QRN_OK) {
        qe_probe_close(p);
        return s;
    }
    *out = p;
    return QRN_OK;
}

void qe_probe_close(qe_probe *p) {
    if (!p)
        return;
    if (p->in)
        ORT(ReleaseValue)(p->in);
    if (p->out)
        ORT(ReleaseValue)(p->out);
    if (p->session)
        ORT(ReleaseSession)(p->session);
    qrn_free(p);
}

qe_flag qe_probe_ask(qe_probe *p, const OrtRunOptions *options) {
    static const char *const in[] = {"x"}, *const out[] = {"y"};
    const OrtValue *feed[] = {p->in};
    OrtStatus *s = ORT(Run)(p->session, options, in, feed, 1, out, 1, &p->out);
    if (!s)
        return QE_GOES_ON;
    bool ended = strstr(ORT(GetErrorMessage)(s), "terminate flag");
    ORT(ReleaseStatus)(s);
    return ended ? QE_TERMINATED : QE_UNKNOWN;
}
