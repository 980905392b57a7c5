// SPDX-License-Identifier: MIT
//
// Groups of contexts that share buffers; see group.h.
#include "backend/htp/device/group.h"

#include "core/services.h"
#include "backend/htp/device/properties.h"
#include "base/fork.h"
#include "base/mem.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards the list and its members
QRN_RENEW_AFTER_FORK(lock);
static qrn_htp_group *groups;

static const char *const names[] = {"REGISTER_MULTI_CONTEXTS",
                                    "REGISTER_CONCURRENT_RESOURCE_SHARING", "SHARE_RESOURCES"};

static qrn_htp_group *find(qrn_htp_group_kind kind, const void *first, uint32_t list) {
    qrn_htp_group *g = groups;
    while (g && (g->kind != kind ||
                 (kind == QRN_HTP_GROUP_LIST ? g->list != list : !first || g->first != first)))
        g = g->next;
    return g;
}

static qrn_status make(qrn_api_context *c, qrn_htp_group_kind kind, uint64_t spill_bytes,
                       qrn_htp_group **out) {
    if (kind != QRN_HTP_GROUP_LIST && spill_bytes == 0)
        return QRN_FAIL(QRN_E_CONFIG,
                        "context option %s: the first context of a group must say how large the "
                        "spill-fill buffer is",
                        names[kind]);
    qrn_htp_group *g = qrn_calloc(sizeof *g);
    if (!g)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a group of contexts");
    *g = (qrn_htp_group){.kind = kind,
                         .first = c->handle,
                         .list = c->list,
                         .spill_bytes = spill_bytes,
                         .priority = c->priority,
                         .next = groups};
    const qrn_htp_context *impl = qrn_htp_context_of(c);
    bool concurrent = kind == QRN_HTP_GROUP_CONCURRENT ||
                      (kind == QRN_HTP_GROUP_LIST && impl->options.share_type == 2);
    g->backup_bytes = concurrent ? qrn_htp_backup_bytes(c) : 0;
    groups = g;
    *out = g;
    return QRN_OK;
}

static qrn_status join(qrn_api_context *c, qrn_htp_group_kind kind, const void *first,
                       uint64_t spill_bytes) {
    qrn_htp_group *g = find(kind, first, c->list);
    if (!g && first)
        return QRN_FAIL(QRN_E_CONFIG,
                        "context option %s: the first context of the group is not known",
                        names[kind]);
    if (!g)
        QRN_TRY(make(c, kind, spill_bytes, &g));
    if (kind == QRN_HTP_GROUP_CONCURRENT && g->priority != c->priority)
        return QRN_FAIL(QRN_E_CONFIG,
                        "context option %s: priority %d, all contexts of the group have %d",
                        names[kind], c->priority, g->priority);
    g->n_members++;
    qrn_htp_context_of(c)->group = g;
    return QRN_OK;
}

qrn_status qrn_htp_group_join(qrn_api_context *c, qrn_htp_group_kind kind, const void *first,
                              uint64_t spill_bytes) {
    if (qrn_htp_context_of(c)->group)
        return QRN_FAIL(QRN_E_CONFIG, "context option %s: the context is in a group already",
                        names[kind]);
    pthread_mutex_lock(&lock);
    qrn_status s = join(c, kind, first, spill_bytes);
    pthread_mutex_unlock(&lock);
    return s;
}

void qrn_htp_group_leave(qrn_api_context *c) {
    qrn_htp_group *g = qrn_htp_context_of(c)->group;
    if (!g)
        return;
    qrn_htp_context_of(c)->group = NULL;
    pthread_mutex_lock(&lock);
    if (g->first == c->handle && g->kind != QRN_HTP_GROUP_LIST)
        g->first = NULL; // nobody can join by a handle that is gone
    bool last = --g->n_members == 0;
    if (last) {
        qrn_htp_group **at = &groups;
        while (*at != g)
            at = &(*at)->next;
        *at = g->next;
    }
    pthread_mutex_unlock(&lock);
    if (last)
        qrn_free(g);
}

qrn_status qrn_htp_group_check_priority(const qrn_api_context *c, int priority) {
    const qrn_htp_group *g = qrn_htp_context_of(c)->group;
    if (!g || g->kind != QRN_HTP_GROUP_CONCURRENT || g->priority == priority)
        return QRN_OK;
    return QRN_FAIL(QRN_E_NOT_PERMITTED,
                    "priority %d: the context is in a concurrent group, whose priority %d cannot "
                    "change",
                    priority, g->priority);
}

static qrn_status check_graph(const qrn_htp_group *group, const qrn_api_graph *g) {
    const qrn_htp_graph_options *o = &qrn_htp_graph_of(g)->options;
    uint64_t need = qrn_htp_spill_bytes(g);
    if (o->dlbc || o->dlbc_weights)
        return QRN_FAIL(QRN_E_CONFIG, "context option %s: graph '%s' uses DLBC, which excludes it",
                        names[group->kind], g->ir->name);
    if (o->concurrency)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "context option %s: graph '%s' may run beside others "
                        "(PARALLEL_GRAPH_EXECUTION_CONFIG), which excludes it",
                        names[group->kind], g->ir->name);
    if (group->kind == QRN_HTP_GROUP_CONCURRENT && g->priority != group->priority)
        return QRN_FAIL(QRN_E_CONFIG,
                        "context option %s: graph '%s' has priority %d, the group has %d",
                        names[group->kind], g->ir->name, g->priority, group->priority);
    if (need > group->spill_bytes)
        return QRN_FAIL(QRN_E_CONFIG,
                        "context option %s: graph '%s' needs a spill-fill buffer of %llu bytes, "
                        "the group has %llu",
                        names[group->kind], g->ir->name, (unsigned long long)need,
                        (unsigned long long)group->spill_bytes);
    return QRN_OK;
}

qrn_status qrn_htp_group_check_graphs(qrn_api_context *c) {
    qrn_htp_group *g = qrn_htp_context_of(c)->group;
    if (!g)
        return QRN_OK;
    qrn_status s = QRN_OK;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < qrn_context_n_graphs(c) && s == QRN_OK; i++) {
        const qrn_api_graph *graph = qrn_context_graph(c, i);
        uint64_t need = qrn_htp_spill_bytes(graph);
        if (g->kind == QRN_HTP_GROUP_LIST && need > g->spill_bytes)
            g->spill_bytes = need;
        if (g->kind != QRN_HTP_GROUP_LIST)
            s = check_graph(g, graph);
    }
    pthread_mutex_unlock(&lock);
    return s;
}

uint64_t qrn_htp_group_bytes(const qrn_api_context *c) {
    const qrn_htp_group *g = qrn_htp_context_of(c)->group;
    if (!g)
        return 0;
    pthread_mutex_lock(&lock);
    uint64_t bytes = g->n_members == 1 ? g->spill_bytes + g->backup_bytes : 0;
    pthread_mutex_unlock(&lock);
    return bytes;
}

void qrn_htp_group_batch(const qrn_api_context *c, uint32_t multiple) {
    qrn_htp_group *g = qrn_htp_context_of(c)->group;
    if (!g || g->kind != QRN_HTP_GROUP_LIST || multiple < 2)
        return;
    qrn_log(
        c->backend->log, QNN_LOG_LEVEL_INFO,
        "execution of %u times the batch: an accelerator allocates the buffer that the contexts "
        "of the list share again; keep the batch with SHARE_RESOURCES",
        multiple);
}
