// SPDX-License-Identifier: MIT
#include "tools/sdk/prepare.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <stdlib.h>

static int compose(qc_client *c, const qs_sources *from, const qs_rules *rules,
                   const qs_profile *profile, qs_model *out) {
    const qs_extension *e = rules->extension;
    const QnnContext_Config_t **more =
        e && e->handle ? e->fn->getContextConfigs(e->handle, QUERN_EXTENSION_CONTEXT_PREPARE)
                       : NULL;
    const QnnContext_Config_t **configs = qs_context_options(rules->config, false, more);
    if (!configs) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    uint64_t start = qs_now_us();
    int code = qs_model_compose(c, from, rules, configs, out);
    return code == QT_EXIT_OK
               ? qs_profile_take(profile, QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_COMPOSE_GRAPHS, NULL,
                                 start, NULL)
               : code;
}

static int finalize(qs_model *m, const qs_profile *profile) {
    int code = QT_EXIT_OK;
    for (uint32_t i = 0; i < m->n_graphs && code == QT_EXIT_OK; i++) {
        const qs_graph *g = &m->graphs[i];
        uint64_t start = qs_now_us();
        code = qs_model_finalize(m, i, profile->handle);
        if (code == QT_EXIT_OK)
            code = qs_profile_take(profile, QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_FINALIZE,
                                   g->g->name, start, g->profile ? NULL : profile->handle);
    }
    return code;
}

static int check_outputs(const qs_model *m, const qs_selections *s) {
    qc_graph **graphs = calloc(m->n_graphs, sizeof *graphs);
    if (!graphs) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    for (uint32_t i = 0; i < m->n_graphs; i++)
        graphs[i] = m->graphs[i].g;
    int code = qs_selections_check(s, graphs, m->n_graphs);
    free(graphs);
    return code;
}

int qs_prepare(qc_client *c, const qs_sources *from, const qs_rules *rules,
               const qs_profile *profile, qs_model *out) {
    qs_extension_begin(rules->extension, QUERN_EXTENSION_PHASE_INIT);
    int code = compose(c, from, rules, profile, out);
    if (code == QT_EXIT_OK && rules->formats)
        code = qt_data_formats_check(rules->formats);
    if (code == QT_EXIT_OK && rules->outputs && rules->outputs->n)
        code = check_outputs(out, rules->outputs);
    if (code == QT_EXIT_OK)
        code = finalize(out, profile);
    qs_extension_end(rules->extension, QUERN_EXTENSION_PHASE_INIT);
    return code;
}
