// SPDX-License-Identifier: MIT
#include "tools/throughput/unit.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"
#include "tools/sdk/backend.h"

int tp_client_open(const tp_thread *t, const char *log_level, tp_client *out) {
    const tp_backend *b = t->backend;
    *out = (tp_client){.backend = b, .config = t->backend_config};
    int code =
        qs_extension_open(b->extensions, t->backend_config, b->perf_profile, &out->extension);
    const qs_backend_request request = {.library = b->path,
                                        .log_level = log_level,
                                        .platform_options = b->platform,
                                        .op_packages = b->packages,
                                        .extension = &out->extension};
    return code == QT_EXIT_OK ? qs_backend_open(&request, &out->client) : code;
}

void tp_client_close(tp_client *c) {
    qs_extension_close(&c->extension);
    qc_close(c->client);
    *c = (tp_client){0};
}

// The context's options in the form of --config_file.
static void set_options(const tp_context *c, qs_run_config *out) {
    static const int64_t priorities[] = {0, 0, 2,
                                         4}; // DEFAULT has none; positions in QS_PRIORITIES
    out->context.queue_depth = c->depth;
    out->context.compatibility = c->compatibility;
    if (c->priority.v)
        out->context.priority = (qs_int){true, priorities[c->priority.v], 0};
}

int tp_unit_open(const tp_client *c, const tp_context *context, const tp_model *cached,
                 const qs_words *paths, tp_unit *out) {
    static const qs_profile no_profile;
    static const qs_words no_words;
    *out = (tp_unit){.owner = c, .view = *c->client, .context = context, .cached = cached};
    int code = qs_run_config_open(NULL, &out->config);
    if (code != QT_EXIT_OK)
        return code;
    set_options(context, &out->config);
    if (cached) {
        const qs_loading how = {.config = &out->config, .extension = &c->extension, .map = true};
        return qs_model_load(&out->view, paths, &how, &out->model);
    }
    const qs_sources from = {paths, NULL, &no_words};
    const qs_rules rules = {.config = &out->config, .extension = &c->extension};
    return qs_prepare(&out->view, &from, &rules, &no_profile, &out->model);
}

void tp_unit_close(tp_unit *u) {
    qs_model_close(&u->model);
    qs_run_config_close(&u->config);
    *u = (tp_unit){0};
}
