// SPDX-License-Identifier: MIT
//
// What an application can change while a session lives: options of a run, and dynamic options.
#include "frontend/ort/watch.h"

#include "base/file.h"
#include "base/suggest.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *run_option(const OrtRunOptions *o, const char *key) {
    const char *value = ORT(GetRunConfigEntry)(o, key);
    return value && value[0] ? value : NULL;
}

static qrn_status no_genie(qe_ep *ep, const char *key, const char *value) {
    (void)ep, (void)value;
    return QRN_FAIL(QRN_E_ARGUMENT,
                    "option %s: Genie, which it is for, is not part of this "
                    "provider",
                    key);
}

// --- adapters

// The config file's first line: "<graph>;<path of the adapter>".
static qrn_status read_adapter_line(const char *path, char *graph, char *file, size_t size) {
    qrn_file f;
    QRN_TRY(qrn_file_map(path, &f));
    const char *end = f.size ? memchr(f.data, '\n', f.size) : NULL;
    size_t n = end ? (size_t)(end - (const char *)f.data) : f.size;
    const char *cut = n ? memchr(f.data, ';', n) : NULL;
    size_t at = cut ? (size_t)(cut - (const char *)f.data) : 0;
    bool ok = cut && at > 0 && at < size && n - at > 1 && n - at < size;
    if (ok) {
        snprintf(graph, size, "%.*s", (int)at, (const char *)f.data);
        snprintf(file, size, "%.*s", (int)(n - at - 1), cut + 1);
        size_t len = strlen(file);
        if (len && file[len - 1] == '\r')
            file[len - 1] = '\0';
    }
    qrn_file_unmap(&f);
    return ok ? QRN_OK
              : QRN_FAIL(QRN_E_CONFIG,
                         "qnn.lora_config %s: the first line must be '<graph>;<adapter file>'",
                         path);
}

static qrn_status apply_to(const qc_client *c, Qnn_ContextHandle_t context, const char *graph,
                           const qrn_file *f, bool *found) {
    Qnn_GraphHandle_t handle = NULL;
    if (!context || c->qnn.graphRetrieve(context, graph, &handle) != QNN_SUCCESS)
        return QRN_OK;
    *found = true;
    if (!c->qnn.contextApplyBinarySection)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s cannot apply adapters", c->path);
    QnnContext_Buffer_t buffer = {.version = QNN_CONTEXT_BUFFER_VERSION_1};
    buffer.v1.memType = QNN_CONTEXTMEMTYPE_RAW;
    buffer.v1.binaryBuf.dataSize = f->size;
    buffer.v1.binaryBuf.data = (void *)(uintptr_t)f->data; // only read
    return qc_check(c,
                    c->qnn.contextApplyBinarySection(context, handle, QNN_CONTEXT_SECTION_UPDATABLE,
                                                     &buffer, NULL, NULL),
                    "contextApplyBinarySection");
}

static qrn_status apply_adapter(qe_ep *ep, const char *config) {
    char graph[PATH_MAX], path[PATH_MAX];
    qrn_file f;
    bool found = false;
    QRN_TRY(read_adapter_line(config, graph, path, sizeof graph));
    QRN_TRY(qrn_file_map(path, &f));
    qe_share_lock(ep);
    qrn_status s = apply_to(ep->client, ep->client->context, graph, &f, &found);
    for (uint32_t i = 0; s == QRN_OK && !found && qe_context_at(ep, i); i++)
        s = apply_to(ep->client, qe_context_at(ep, i), graph, &f, &found);
    qe_share_unlock(ep);
    qrn_file_unmap(&f);
    if (s == QRN_OK && !found)
        s = QRN_FAIL(QRN_E_NOT_FOUND, "qnn.lora_config %s: the session has no graph '%s'", config,
                     graph);
    return s;
}

// --- runs

static qrn_status read_us(const char *key, const char *value, uint32_t *out) {
    char *end = NULL;
    errno = 0;
    unsigned long n = strtoul(value, &end, 10);
    if (end == value || *end || errno || n > UINT32_MAX || value[0] == '-')
        return QRN_FAIL(QRN_E_ARGUMENT, "run option %s: '%s'; expected microseconds", key, value);
    *out = (uint32_t)n;
    return QRN_OK;
}

// Keys that documents of the public provider name and that mean nothing here.
static qrn_status check_names(const OrtRunOptions *o) {
    if (run_option(o, "qnn.perf_mode"))
        return QRN_FAIL(
            QRN_E_ARGUMENT,
            "there is no run option 'qnn.perf_mode'; did you mean 'qnn.htp_perf_mode'?");
    return run_option(o, "kvcache_rewind") ? no_genie(NULL, "kvcache_rewind", NULL) : QRN_OK;
}

static qrn_status start_run(qe_ep *ep, const OrtRunOptions *o) {
    const char *mode = run_option(o, "qnn.htp_perf_mode");
    const char *latency = run_option(o, "qnn.rpc_control_latency");
    const char *adapter = run_option(o, "qnn.lora_config");
    const char *after = run_option(o, "qnn.htp_perf_mode_post_run");
    int wanted = 0, checked = 0;
    uint32_t us = 0;
    QRN_TRY(check_names(o));
    if (after) // reported before the run, not after it
        QRN_TRY(qe_choose("qnn.htp_perf_mode_post_run", after, qe_performance_modes, &checked));
    if (latency)
        QRN_TRY(read_us("qnn.rpc_control_latency", latency, &us));
    if (mode)
        QRN_TRY(qe_choose("qnn.htp_perf_mode", mode, qe_performance_modes, &wanted));
    // The run's own option, then the dynamic one; the session's holds from its start.
    if (!wanted)
        wanted = atomic_exchange(&ep->power.dynamic, 0);
    QRN_TRY(qe_power_vote(ep, wanted, us));
    if (adapter)
        QRN_TRY(apply_adapter(ep, adapter));
    return qe_watch_run(ep, o); // the last: a run that fails here has no end
}

OrtStatus *qe_on_run_start(OrtEp *base, const OrtRunOptions *o) {
    return qe_status(start_run((qe_ep *)base, o));
}

OrtStatus *qe_on_run_end(OrtEp *base, const OrtRunOptions *o, bool sync) {
    const char *after = run_option(o, "qnn.htp_perf_mode_post_run");
    int wanted = 0;
    (void)sync;
    qe_watch_run_end((qe_ep *)base);
    if (!after)
        return NULL;
    qrn_status s = qe_choose("qnn.htp_perf_mode_post_run", after, qe_performance_modes, &wanted);
    return qe_status(s == QRN_OK ? qe_power_vote((qe_ep *)base, wanted, 0) : s);
}

// --- dynamic options

static qrn_status set_priority(const qe_ep *ep, Qnn_ContextHandle_t context,
                               Qnn_Priority_t priority) {
    const qc_client *c = ep->client;
    QnnContext_Config_t config = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY,
                                  .priority = priority};
    const QnnContext_Config_t *list[] = {&config, NULL};
    if (!context || !c->qnn.contextSetConfig)
        return QRN_OK;
    return qc_check(c, c->qnn.contextSetConfig(context, list), "contextSetConfig");
}

// "Efficient" gives way to everybody else; "Default" is what the session asked for.
static qrn_status set_workload(qe_ep *ep, const char *key, const char *value) {
    static const char *const words[] = {"Default", "Efficient", NULL};
    int word = 0;
    QRN_TRY(qe_choose(key, value, words, &word));
    Qnn_Priority_t priority = word ? QNN_PRIORITY_LOW : qe_priority(ep);
    qe_share_lock(ep);
    qrn_status s = set_priority(ep, ep->client->context, priority);
    for (uint32_t i = 0; s == QRN_OK && qe_context_at(ep, i); i++)
        s = set_priority(ep, qe_context_at(ep, i), priority);
    qe_share_unlock(ep);
    return s;
}

static qrn_status set_mode(qe_ep *ep, const char *key, const char *value) {
    int wanted = 0;
    QRN_TRY(qe_choose(key, value, qe_performance_modes, &wanted));
    atomic_store(&ep->power.dynamic, wanted);
    return QRN_OK;
}

static const struct {
    const char *key;
    qrn_status (*set)(qe_ep *, const char *, const char *);
} dynamic[] = {{"ep.dynamic.workload_type", set_workload},
               {"ep.dynamic.qnn_htp_performance_mode", set_mode},
               {"kvcache_rewind", no_genie}};
#define N_DYNAMIC (sizeof dynamic / sizeof dynamic[0])

static qrn_status set_dynamic(qe_ep *ep, const char *key, const char *value) {
    const char *names[N_DYNAMIC];
    for (size_t i = 0; i < N_DYNAMIC; i++) {
        if (strcmp(dynamic[i].key, key) == 0)
            return dynamic[i].set(ep, key, value);
        names[i] = dynamic[i].key;
    }
    const char *near = qrn_suggest(key, names, N_DYNAMIC);
    return QRN_FAIL(QRN_E_ARGUMENT, "there is no dynamic option '%s'%s%s%s", key,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

OrtStatus *qe_set_dynamic(OrtEp *base, const char *const *keys, const char *const *values,
                          size_t n) {
    qrn_status s = QRN_OK;
    for (size_t i = 0; i < n && s == QRN_OK; i++)
        s = set_dynamic((qe_ep *)base, keys[i], values[i]);
    return qe_status(s);
}
