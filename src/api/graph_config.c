// SPDX-License-Identifier: MIT
//
// Options of graphs. A list is read completely before anything is set; the backend sees its own
// options with the new priority in place, and may still refuse the list as a whole.
#include "api/graph.h"

#include "base/mem.h"
#include "core/errors.h"
#include "core/profile.h"

static bool has(qrn_feature f) { return (qrn_this_backend.features & f) != 0; }

// The options of one list, the last of each kind.
typedef struct options {
    bool has_priority, has_profile, has_state, has_runs, has_weights;
    int priority;
    qrn_api_profile *profile;
    bool profiling_off;
    uint32_t runs;
    bool weights;
} options;

static qrn_status refuse(const qrn_api_graph *g, const char *option) {
    return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': option %s is not supported", g->ir->name,
                    option);
}

static qrn_status refuse_locked(const qrn_api_graph *g, const char *option) {
    return QRN_FAIL(QRN_E_FINALIZED, "graph '%s' is finalized: option %s cannot change",
                    g->ir->name, option);
}

static qrn_status read_profile(qrn_api_graph *g, const void *handle, bool locked, options *o) {
    if (!has(QRN_FEATURE_CONTINUOUS_PROFILING))
        return refuse(g, "PROFILE_HANDLE");
    if (locked)
        return refuse_locked(g, "PROFILE_HANDLE");
    if (qrn_profile_get(handle, g->context->backend, &o->profile) != QRN_OK || !o->profile)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "graph '%s': PROFILE_HANDLE is not a profile of the backend", g->ir->name);
    if (o->profile->bound && o->profile->bound != g)
        return QRN_FAIL(QRN_E_ALREADY, "graph '%s': the profile is bound to graph '%s'",
                        g->ir->name, o->profile->bound->ir->name);
    o->has_profile = true;
    return QRN_OK;
}

static qrn_status read_state(const qrn_api_graph *g, QnnGraph_ProfilingState_t state, options *o) {
    if (state != QNN_GRAPH_PROFILING_STATE_ENABLED && state != QNN_GRAPH_PROFILING_STATE_DISABLED)
        return QRN_FAIL(QRN_E_CONFIG, "graph '%s': profiling state %d, allowed 1 and 2",
                        g->ir->name, (int)state);
    if (!has(QRN_FEATURE_CONTINUOUS_PROFILING))
        return refuse(g, "SET_PROFILING_STATE");
    o->has_state = true;
    o->profiling_off = state == QNN_GRAPH_PROFILING_STATE_DISABLED;
    return QRN_OK;
}

static qrn_status read_weights(const qrn_api_graph *g, bool on, bool locked, options *o) {
    if (on && !qrn_this_backend.section_write)
        return refuse(g, "ENABLE_BINARY_SECTION_WEIGHTS_UPDATES");
    if (locked)
        return refuse_locked(g, "ENABLE_BINARY_SECTION_WEIGHTS_UPDATES");
    o->has_weights = true;
    o->weights = on;
    return QRN_OK;
}

static qrn_status check_custom(const qrn_api_graph *g, const void *custom) {
    if (!custom)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': the custom option is NULL", g->ir->name);
    if (!qrn_this_backend.graph_config)
        return refuse(g, "CUSTOM");
    return QRN_OK;
}

static qrn_status read_option(qrn_api_graph *g, const QnnGraph_Config_t *c, bool locked,
                              options *o) {
    switch (c->option) {
    case QNN_GRAPH_CONFIG_OPTION_CUSTOM:
        return check_custom(g, c->customConfig);
    case QNN_GRAPH_CONFIG_OPTION_PRIORITY:
        QRN_TRY(qrn_priority_check((int)c->priority));
        o->has_priority = true;
        o->priority = (int)c->priority;
        return QRN_OK;
    case QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE:
        return read_profile(g, c->profileHandle, locked, o);
    case QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_STATE:
        return read_state(g, c->profilingState, o);
    case QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_NUM_EXECUTIONS:
        if (!has(QRN_FEATURE_CONTINUOUS_PROFILING))
            return refuse(g, "SET_PROFILING_NUM_EXECUTIONS");
        o->has_runs = true;
        o->runs = c->numProfilingExecutions;
        return QRN_OK;
    case QNN_GRAPH_CONFIG_OPTION_ENABLE_BINARY_SECTION_WEIGHTS_UPDATES:
        return read_weights(g, c->enableBinarySectionWeightsUpdates != 0, locked, o);
    default:
        return QRN_FAIL(QRN_E_CONFIG, "graph '%s': unknown option %d", g->ir->name, (int)c->option);
    }
}

static qrn_status apply(qrn_api_graph *g, const options *o) {
    if (o->has_profile && o->profile != g->own->bound_profile) {
        QRN_TRY(qrn_profile_bind(o->profile, g));
        if (g->own->bound_profile)
            qrn_profile_unbind(g->own->bound_profile);
        g->own->bound_profile = o->profile;
    }
    if (o->has_state)
        g->own->profiling_off = o->profiling_off;
    if (o->has_runs)
        g->own->profiled_runs_left = o->runs;
    if (o->has_weights)
        g->own->weight_updates = o->weights;
    return QRN_OK;
}

// Gives the backend its own options; none of them is NULL.
static qrn_status hand_on(qrn_api_graph *g, const QnnGraph_Config_t **config,
                          qrn_config_phase phase) {
    size_t n = 0, filled = 0;
    if (!qrn_this_backend.graph_config)
        return QRN_OK;
    for (size_t i = 0; config && config[i]; i++)
        n += config[i]->option == QNN_GRAPH_CONFIG_OPTION_CUSTOM;
    const void **custom = n ? qrn_alloc(n * sizeof(*custom)) : NULL;
    if (n && !custom)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for its options", g->ir->name);
    for (size_t i = 0; filled < n; i++)
        if (config[i]->option == QNN_GRAPH_CONFIG_OPTION_CUSTOM)
            custom[filled++] = config[i]->customConfig;
    qrn_status s = qrn_this_backend.graph_config(g, phase, custom, n);
    qrn_free(custom);
    return s;
}

static qrn_status configure(qrn_api_graph *g, const QnnGraph_Config_t **config,
                            qrn_config_phase phase) {
    options o = {0};
    for (size_t i = 0; config && config[i]; i++)
        QRN_TRY(read_option(g, config[i], phase == QRN_CONFIG_SET_FINAL, &o));
    int old = g->priority;
    if (o.has_priority)
        g->priority = o.priority;
    qrn_status s = hand_on(g, config, phase);
    if (s == QRN_OK)
        s = apply(g, &o);
    if (s != QRN_OK)
        g->priority = old;
    return s;
}

qrn_status qrn_api_graph_configure(qrn_api_graph *g, const QnnGraph_Config_t **config,
                                   qrn_config_phase phase) {
    pthread_mutex_lock(&g->context->own->options_lock);
    qrn_status s = configure(g, config, phase);
    pthread_mutex_unlock(&g->context->own->options_lock);
    return s;
}
