// SPDX-License-Identifier: MIT
//
// The table of options and its reader.
#include "frontend/ort/options.h"

#include "base/soc.h"
#include "base/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_PREFIX 256

const char *const qe_performance_modes[] = {"default",
                                            "burst",
                                            "balanced",
                                            "high_performance",
                                            "high_power_saver",
                                            "low_balanced",
                                            "low_power_saver",
                                            "power_saver",
                                            "extreme_power_saver",
                                            "sustained_high_performance",
                                            NULL};
const char *const qe_priorities[] = {"normal",    "low",      "normal_high",   "high", "normal_low",
                                     "high_plus", "critical", "critical_plus", NULL};
const char *const qe_profile_levels[] = {"off", "basic", "detailed", "optrace", NULL};
static const char *const backends[] = {"cpu", "gpu", "htp", "saver", NULL};
static const char *const archs[] = {"0", "68", "69", "73", "75", "79", "81", NULL};

typedef enum kind {
    BOOL,   // 0 or 1
    INT,    // least to most
    CHOICE, // one of `words`: its index
    NUMBER, // one of `words`, which are numbers
    SOC,    // a chip by number or name
    TEXT,
    NOT_YET // known to the public provider; refused unless it asks for nothing
} kind;

typedef struct row {
    const char *key;
    kind kind;
    size_t at; // of the field
    int64_t least, most;
    const char *const *words;
} row;

#define AT(field) offsetof(qe_options, field)
static const row rows[] = {
    {"backend_type", CHOICE, AT(backend_type), 0, 0, backends},
    {"backend_path", TEXT, AT(backend_path), 0, 0, NULL},
    {"soc_model", SOC, AT(soc_model), 0, 0, NULL},
    {"htp_arch", NUMBER, AT(htp_arch), 0, 0, archs},
    {"device_id", INT, AT(device_id), 0, UINT32_MAX, NULL},
    {"vtcm_mb", INT, AT(vtcm_mb), 0, 1024, NULL},
    {"htp_performance_mode", CHOICE, AT(performance_mode), 0, 0, qe_performance_modes},
    {"rpc_control_latency", INT, AT(rpc_latency), 0, UINT32_MAX, NULL},
    {"qnn_context_priority", CHOICE, AT(priority), 0, 0, qe_priorities},
    {"htp_graph_finalization_optimization_mode", INT, AT(finalize_mode), 0, 3, NULL},
    {"enable_htp_fp16_precision", BOOL, AT(fp16), 0, 0, NULL},
    {"offload_graph_io_quantization", BOOL, AT(offload_io), 0, 0, NULL},
    {"profiling_level", CHOICE, AT(profile_level), 0, 0, qe_profile_levels},
    {"profiling_file_path", TEXT, AT(profile_path), 0, 0, NULL},
    {"allow_float16_units", BOOL, AT(coarse), 0, 0, NULL},
    {"strict", BOOL, AT(strict), 0, 0, NULL},
    {"threads", INT, AT(n_threads), 0, 1024, NULL},
    {"enable_vtcm_backup_buffer_sharing", NOT_YET, 0, 0, 0, NULL},
    {"htp_share_resource_optimization", NOT_YET, 0, 0, 0, NULL},
    {"qnn_saver_path", NOT_YET, 0, 0, 0, NULL},
    {"dump_qnn_ir_dlc", NOT_YET, 0, 0, 0, NULL},
    {"dump_qnn_ir_dlc_dir", NOT_YET, 0, 0, 0, NULL},
    {"qnn_ir_backend_path", NOT_YET, 0, 0, 0, NULL},
    {"op_packages", NOT_YET, 0, 0, 0, NULL},
    {"htp_bf16_enable", NOT_YET, 0, 0, 0, NULL},
    {"enable_htp_spill_fill_buffer", NOT_YET, 0, 0, 0, NULL},
    {"enable_htp_shared_memory_allocator", NOT_YET, 0, 0, 0, NULL},
    {"dump_json_qnn_graph", NOT_YET, 0, 0, 0, NULL},
    {"json_qnn_graph_dir", NOT_YET, 0, 0, 0, NULL},
    {"skip_qnn_version_check", NOT_YET, 0, 0, 0, NULL},
    {"enable_framework_op_trace", NOT_YET, 0, 0, 0, NULL},
    {"framework_op_trace_dir", NOT_YET, 0, 0, 0, NULL},
    {"dump_qnn_ep_input_graph", NOT_YET, 0, 0, 0, NULL},
    {"dump_qnn_ep_input_graph_dir", NOT_YET, 0, 0, 0, NULL},
    {"enable_block_quant_weight_optimization", NOT_YET, 0, 0, 0, NULL},
    {"num_graph_prepare_threads", NOT_YET, 0, 0, 0, NULL},
    {"disable_file_mapped_weights", NOT_YET, 0, 0, 0, NULL},
    {"extended_udma", NOT_YET, 0, 0, 0, NULL},
    {"genie_log_level", NOT_YET, 0, 0, 0, NULL},
    {"enable_htp_monolithic_lstm", NOT_YET, 0, 0, 0, NULL},
    {"enable_htp_prepare_only", NOT_YET, 0, 0, 0, NULL},
    {"enable_htp_prepare_and_load", NOT_YET, 0, 0, 0, NULL},
    {"enable_htp_graph_splitting", NOT_YET, 0, 0, 0, NULL},
    {"htp_graph_splitting_num_prepare_threads", NOT_YET, 0, 0, 0, NULL},
    {"htp_reused_io_limit_mb", NOT_YET, 0, 0, 0, NULL},
    {"enable_htp_matmul_lut", NOT_YET, 0, 0, 0, NULL},
    {"enable_htp_fp16_clamp_overflow", NOT_YET, 0, 0, 0, NULL},
    {"enable_htp_cross_device_prepare", NOT_YET, 0, 0, 0, NULL},
    {"htp_num_cores", NOT_YET, 0, 0, 0, NULL},
    {"op_affinity", NOT_YET, 0, 0, 0, NULL},
    {"skip_backend_op_validation", NOT_YET, 0, 0, 0, NULL},
};
#define N_ROWS (sizeof rows / sizeof rows[0])

// Keys of the session that concern the provider; others are none of its business.
static const row session_rows[] = {
    {"session.disable_cpu_ep_fallback", BOOL, AT(no_fallback), 0, 0, NULL},
    {"ep.context_enable", BOOL, AT(context_enable), 0, 0, NULL},
    {"ep.context_file_path", TEXT, AT(context_path), 0, 0, NULL},
    {"ep.context_embed_mode", BOOL, AT(context_embed), 0, 0, NULL},
    {"ep.share_ep_contexts", BOOL, AT(share_contexts), 0, 0, NULL},
    {"ep.stop_share_ep_contexts", BOOL, AT(stop_sharing), 0, 0, NULL},
};
#define N_SESSION_ROWS (sizeof session_rows / sizeof session_rows[0])

qrn_status qe_choose(const char *key, const char *value, const char *const *words, int *out) {
    char list[512] = "";
    size_t n = 0, used = 0;
    for (; words[n]; n++) {
        if (strcasecmp(words[n], value) == 0) {
            *out = (int)n;
            return QRN_OK;
        }
        int len = snprintf(list + used, sizeof list - used, "%s%s", n ? ", " : "", words[n]);
        used += len > 0 && (size_t)len < sizeof list - used ? (size_t)len : 0;
    }
    const char *near = qrn_suggest(value, words, n);
    if (near)
        return QRN_FAIL(QRN_E_ARGUMENT, "option %s: '%s' is not known; did you mean '%s'?", key,
                        value, near);
    return QRN_FAIL(QRN_E_ARGUMENT, "option %s: '%s' is not known; expected one of %s", key, value,
                    list);
}

static qrn_status read_bool(const row *r, const char *value, bool *out) {
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "option %s: '%s'; expected 0 or 1", r->key, value);
    *out = value[0] == '1';
    return QRN_OK;
}

static qrn_status read_int(const row *r, const char *value, int64_t *out) {
    char *end = NULL;
    errno = 0;
    long long n = strtoll(value, &end, 10);
    if (end == value || *end || errno || n < r->least || n > r->most)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "option %s: '%s'; expected a whole number from %lld to %lld", r->key, value,
                        (long long)r->least, (long long)r->most);
    *out = n;
    return QRN_OK;
}

static qrn_status read_soc(const row *r, const char *value, uint32_t *out) {
    const row whole = {r->key, INT, 0, 0, UINT32_MAX, NULL};
    int64_t id = 0;
    if (isdigit((unsigned char)value[0])) {
        QRN_TRY(read_int(&whole, value, &id));
        *out = (uint32_t)id; // the library says which numbers it knows
        return QRN_OK;
    }
    const qrn_soc *soc = qrn_soc_by_name(value);
    if (soc) {
        *out = soc->id;
        return QRN_OK;
    }
    const char *names[256];
    size_t n = 0;
    for (const qrn_soc *s; n < 256 && (s = qrn_soc_at((uint32_t)n)); n++)
        names[n] = s->name;
    const char *near = qrn_suggest(value, names, n);
    return near ? QRN_FAIL(QRN_E_ARGUMENT, "option %s: no chip '%s'; did you mean '%s'?", r->key,
                           value, near)
                : QRN_FAIL(QRN_E_ARGUMENT,
                           "option %s: no chip '%s'; expected a number or a name such as SM8650",
                           r->key, value);
}

static qrn_status read_value(const row *r, const char *value, qrn_arena *arena, qe_options *out) {
    char *at = (char *)out + r->at;
    int index = 0;
    switch (r->kind) {
    case BOOL:
        return read_bool(r, value, (bool *)at);
    case INT:
        return read_int(r, value, (int64_t *)at);
    case CHOICE:
        return qe_choose(r->key, value, r->words, (int *)at);
    case NUMBER:
        QRN_TRY(qe_choose(r->key, value, r->words, &index));
        *(int64_t *)at = strtoll(value, NULL, 10);
        return QRN_OK;
    case SOC:
        return read_soc(r, value, (uint32_t *)at);
    case TEXT:
        *(const char **)at = qrn_arena_strdup(arena, value);
        return *(const char **)at ? QRN_OK : QRN_FAIL(QRN_E_MEM, "option %s: no memory", r->key);
    default:
        if (value[0] == '\0' || strcmp(value, "0") == 0 || strcasecmp(value, "off") == 0)
            return QRN_OK;
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "option %s is not supported by this provider yet; leave it out", r->key);
    }
}

static qrn_status read_provider_option(const char *key, const char *value, qrn_arena *arena,
                                       qe_options *out) {
    const char *names[N_ROWS];
    for (size_t i = 0; i < N_ROWS; i++) {
        if (strcmp(rows[i].key, key) == 0)
            return read_value(&rows[i], value, arena, out);
        names[i] = rows[i].key;
    }
    const char *near = qrn_suggest(key, names, N_ROWS);
    return QRN_FAIL(QRN_E_ARGUMENT, "there is no option '%s'%s%s%s", key,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static qrn_status read_pair(const char *prefix, const char *key, const char *value,
                            qrn_arena *arena, qe_options *out) {
    size_t n = strlen(prefix);
    if (strncmp(key, prefix, n) == 0)
        return read_provider_option(key + n, value, arena, out);
    for (size_t i = 0; i < N_SESSION_ROWS; i++)
        if (strcmp(session_rows[i].key, key) == 0)
            return read_value(&session_rows[i], value, arena, out);
    return QRN_OK;
}

static qrn_status check(qe_options *o) {
    if (o->backend_type >= 0 && o->backend_path)
        return QRN_FAIL(QRN_E_ARGUMENT, "only one of 'backend_type' and 'backend_path' may be set");
    if (o->no_fallback)
        o->offload_io = false; // nobody else could quantize
    return QRN_OK;
}

qrn_status qe_options_read(const OrtSessionOptions *from, const char *ep_name, qrn_arena *arena,
                           qe_options *out) {
    char prefix[MAX_PREFIX];
    int len = snprintf(prefix, sizeof prefix, "ep.%s.", ep_name);
    if (len < 0 || (size_t)len >= sizeof prefix)
        return QRN_FAIL(QRN_E_NAME, "the provider's name is too long");
    for (char *p = prefix; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    *out = (qe_options){.backend_type = -1, .offload_io = true};
    OrtKeyValuePairs *pairs = NULL;
    QE_TRY(GetSessionOptionsConfigEntries, from, &pairs);
    const char *const *keys = NULL, *const *values = NULL;
    size_t n = 0;
    ORT(GetKeyValuePairs)(pairs, &keys, &values, &n);
    qrn_status s = QRN_OK;
    for (size_t i = 0; i < n && s == QRN_OK; i++)
        s = read_pair(prefix, keys[i], values[i], arena, out);
    ORT(ReleaseKeyValuePairs)(pairs);
    return s == QRN_OK ? check(out) : s;
}
