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
const char *const qe_gpu_precisions[] = {"user", "fp32", "fp16", "hybrid", NULL};
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
    MUTE, // a text that has nothing to change here: `why`
    IDLE, // a number from least to most that has nothing to change here: `why`
    NEVER // refused unless it asks for nothing: `why`
} kind;

typedef struct row {
    const char *key;
    kind kind;
    size_t at; // of the field
    int64_t least, most;
    const char *const *words;
    const char *why; // it is refused or has no effect
} row;

#define AT(field) offsetof(qe_options, field)
#define FLAG(key, field)                                                                           \
    { key, BOOL, AT(field), 0, 0, NULL, NULL }
#define WORDS(key, field)                                                                          \
    { key, TEXT, AT(field), 0, 0, NULL, NULL }
#define COUNT(key, field, least, most)                                                             \
    { key, INT, AT(field), least, most, NULL, NULL }
#define CHOOSE(key, field, list)                                                                   \
    { key, CHOICE, AT(field), 0, 0, list, NULL }
#define NOTHING(key, most, why)                                                                    \
    { key, IDLE, 0, 0, most, NULL, why }
#define REFUSE(key, why)                                                                           \
    { key, NEVER, 0, 0, 0, NULL, why }
static const row rows[] = {
    CHOOSE("backend_type", backend_type, backends),
    WORDS("backend_path", backend_path),
    {"soc_model", SOC, AT(soc_model), 0, 0, NULL, NULL},
    {"htp_arch", NUMBER, AT(htp_arch), 0, 0, archs, NULL},
    COUNT("device_id", device_id, 0, UINT32_MAX),
    COUNT("vtcm_mb", vtcm_mb, 0, 1024),
    CHOOSE("htp_performance_mode", performance_mode, qe_performance_modes),
    COUNT("rpc_control_latency", rpc_latency, 0, UINT32_MAX),
    CHOOSE("qnn_context_priority", priority, qe_priorities),
    COUNT("htp_graph_finalization_optimization_mode", finalize_mode, 0, 3),
    CHOOSE("gpu_precision", gpu_precision, qe_gpu_precisions),
    FLAG("enable_htp_fp16_precision", fp16),
    FLAG("htp_bf16_enable", bf16),
    FLAG("offload_graph_io_quantization", offload_io),
    CHOOSE("profiling_level", profile_level, qe_profile_levels),
    WORDS("profiling_file_path", profile_path),
    FLAG("allow_float16_units", allow_fp16),
    FLAG("strict", strict),
    COUNT("threads", n_threads, 0, 256),
    FLAG("enable_htp_shared_memory_allocator", shared_memory),
    FLAG("enable_htp_spill_fill_buffer", spill_fill),
    FLAG("enable_vtcm_backup_buffer_sharing", share_resources),
    COUNT("htp_share_resource_optimization", share_resources_too, 1, 1),
    FLAG("disable_file_mapped_weights", no_mapping),
    FLAG("extended_udma", extended_udma),
    FLAG("enable_htp_prepare_only", prepare_only),
    FLAG("enable_htp_prepare_and_load", prepare_and_load),
    FLAG("enable_htp_graph_splitting", split_graphs),
    COUNT("htp_reused_io_limit_mb", reused_io_mb, 0, INT32_MAX),
    FLAG("enable_htp_monolithic_lstm", monolithic_lstm),
    FLAG("enable_htp_fp16_clamp_overflow", clamp_fp16),
    FLAG("enable_htp_matmul_lut", matmul_lut),
    COUNT("htp_num_cores", n_cores, 0, 64),
    FLAG("skip_qnn_version_check", any_version),
    WORDS("op_packages", packages),
    WORDS("qnn_saver_path", saver_path),
    FLAG("dump_qnn_ir_dlc", dump_dlc),
    WORDS("dump_qnn_ir_dlc_dir", dlc_dir),
    WORDS("qnn_ir_backend_path", ir_path),
    WORDS("op_affinity", affinity_path),
    FLAG("dump_json_qnn_graph", dump_json),
    WORDS("json_qnn_graph_dir", json_dir),
    FLAG("enable_framework_op_trace", op_trace),
    WORDS("framework_op_trace_dir", trace_dir),
    FLAG("dump_qnn_ep_input_graph", dump_input),
    WORDS("dump_qnn_ep_input_graph_dir", input_dir),
    NOTHING("enable_block_quant_weight_optimization", 1,
            "weights quantized by blocks have one path, which is the fast one"),
    NOTHING("enable_htp_weight_sharing", 1,
            "binaries store equal weights once; ep.share_ep_contexts puts models into one binary"),
    NOTHING("num_graph_prepare_threads", 1024,
            "partitions are compiled one after the other, each by all threads"),
    NOTHING("htp_graph_splitting_num_prepare_threads", UINT32_MAX,
            "the library chooses the threads that compile a split graph"),
    NOTHING("enable_htp_cross_device_prepare", 1, "every machine can compile for every SoC"),
    NOTHING("skip_backend_op_validation", 1,
            "the library that writes DLC files checks their nodes by itself"),
    NOTHING("log_severity_level", 4,
            "the provider logs to the session's log, whose level the session options set"),
    REFUSE("genie_log_level", "Genie is not part of this provider"),
    REFUSE("enable_dx12_shared_memory_allocator", "Direct3D exists on Windows only"),
};
#define N_ROWS (sizeof rows / sizeof rows[0])

// Keys of the session that concern the provider; others are none of its business.
static const row session_rows[] = {
    FLAG("session.disable_cpu_ep_fallback", no_fallback),
    FLAG("ep.context_enable", context_enable),
    WORDS("ep.context_file_path", context_path),
    FLAG("ep.context_embed_mode", context_embed),
    {"ep.context_node_name_prefix", MUTE, 0, 0, 0, NULL,
     "onnxruntime wants the nodes of a context model to have the names it gave to partitions"},
    FLAG("ep.share_ep_contexts", share_contexts),
    FLAG("ep.stop_share_ep_contexts", stop_sharing),
};
#define N_SESSION_ROWS (sizeof session_rows / sizeof session_rows[0])

char *qe_cut(char **rest, char at) {
    char *piece = *rest, *end = strchr(piece, at);
    if (end)
        *end = '\0';
    *rest = end ? end + 1 : NULL;
    return piece;
}

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
    const row whole = {r->key, INT, 0, 0, UINT32_MAX, NULL, NULL};
    int64_t id = 0;
    if (isdigit((unsigned char)value[0]) && !strchr(value, ' ')) { // not "8 Gen 3"
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
    return near
               ? QRN_FAIL(QRN_E_ARGUMENT, "option %s: unknown SoC '%s'; did you mean '%s'?", r->key,
                          value, near)
               : QRN_FAIL(QRN_E_ARGUMENT,
                          "option %s: unknown SoC '%s'; expected a number or a name such as SM8650",
                          r->key, value);
}

// Options for which the public provider accepts lists, one value a chip.
static qrn_status refuse_list(const char *key, const char *value) {
    static const char *const keys[] = {"soc_model", "htp_arch", "vtcm_mb"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strchr(value, ',') && strcmp(keys[i], key) == 0)
            return QRN_FAIL(QRN_E_UNSUPPORTED,
                            "option %s: '%s': a model for several SoCs is a DLC file of context "
                            "binaries, which is not written; name one SoC",
                            key, value);
    return QRN_OK;
}

static qrn_status read_value(const row *r, const char *value, qrn_arena *arena, qe_options *out) {
    char *at = (char *)out + r->at;
    int index = 0;
    int64_t ignored = 0;
    QRN_TRY(refuse_list(r->key, value));
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
    case MUTE:
        if (value[0])
            qe_say(out->log, ORT_LOG_INFO, "option %s has no effect: %s", r->key, r->why);
        return QRN_OK;
    case IDLE:
        QRN_TRY(read_int(r, value, &ignored));
        qe_say(out->log, ORT_LOG_INFO, "option %s has no effect: %s", r->key, r->why);
        return QRN_OK;
    default:
        if (value[0] == '\0' || strcmp(value, "0") == 0 || strcasecmp(value, "off") == 0)
            return QRN_OK;
        return QRN_FAIL(QRN_E_UNSUPPORTED, "option %s is not supported: %s; leave it out", r->key,
                        r->why);
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

// Options that make sense only with others.
static qrn_status check_contexts(const qe_options *o) {
    const char *prepared = o->prepare_only ? "enable_htp_prepare_only" : NULL;
    if (prepared && o->prepare_and_load)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "options enable_htp_prepare_only and enable_htp_prepare_and_load exclude "
                        "each other");
    if (prepared && !o->context_enable)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "option enable_htp_prepare_only: set ep.context_enable to 1, too, so that "
                        "what is compiled is written");
    if (o->prepare_and_load && o->context_path && o->context_path[0] && !o->context_enable)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "option enable_htp_prepare_and_load: ep.context_file_path is set and "
                        "ep.context_enable is not; set both or none");
    if (o->prepare_and_load && o->share_contexts)
        return QRN_FAIL(QRN_E_ARGUMENT, "option enable_htp_prepare_and_load: a context that "
                                        "sessions share (ep.share_ep_contexts) stays as it is");
    if (o->n_cores && !o->context_enable && !o->prepare_and_load)
        return QRN_FAIL(QRN_E_ARGUMENT, "option htp_num_cores: set ep.context_enable or "
                                        "enable_htp_prepare_and_load to 1, too");
    return QRN_OK;
}

#define FIRST_BF16_SOC 88

// The chip first, as the public provider has it; then what the library cannot do.
static qrn_status check_bf16(const qe_options *o) {
    if (!o->bf16)
        return QRN_OK;
    const qrn_soc *soc = o->soc_model ? qrn_soc_by_id(o->soc_model) : NULL;
    if (!o->soc_model)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "option htp_bf16_enable: also set soc_model: bfloat16 needs a SoC whose "
                        "number is %d or above",
                        FIRST_BF16_SOC);
    if (o->soc_model < FIRST_BF16_SOC)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "option htp_bf16_enable: bfloat16 needs a SoC whose number is %d or "
                        "above; soc_model %u (%s) has none",
                        FIRST_BF16_SOC, o->soc_model, soc ? soc->name : "not known");
    return QRN_FAIL(QRN_E_UNSUPPORTED,
                    "option htp_bf16_enable: soc_model %u (%s) may have it, but QNN has bfloat16 "
                    "graphs on Windows alone; here floats are computed as float16: leave it out",
                    o->soc_model, soc ? soc->name : "not known");
}

// Where to write what nobody asked for: a slip that would otherwise show by a missing file.
static void warn_unused(const qe_options *o) {
    const struct {
        const char *key, *path, *needs;
        bool used;
    } list[] = {
        {"profiling_file_path", o->profile_path, "profiling_level", o->profile_level != 0},
        {"json_qnn_graph_dir", o->json_dir, "dump_json_qnn_graph", o->dump_json},
        {"framework_op_trace_dir", o->trace_dir, "enable_framework_op_trace", o->op_trace},
        {"dump_qnn_ep_input_graph_dir", o->input_dir, "dump_qnn_ep_input_graph", o->dump_input}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (list[i].path && list[i].path[0] && !list[i].used)
            qe_say(o->log, ORT_LOG_WARNING, "option %s has no effect: %s is not set", list[i].key,
                   list[i].needs);
}

static qrn_status check(qe_options *o) {
    if (o->backend_type >= 0 && o->backend_path)
        return QRN_FAIL(QRN_E_ARGUMENT, "only one of 'backend_type' and 'backend_path' may be set");
    if (o->no_fallback || o->strict)
        o->offload_io = false; // nobody else may quantize
    o->share_resources |= o->share_resources_too != 0;
    warn_unused(o);
    QRN_TRY(check_bf16(o));
    return check_contexts(o);
}

qrn_status qe_options_read(const OrtSessionOptions *from, const char *ep_name, const OrtLogger *log,
                           qrn_arena *arena, qe_options *out) {
    char prefix[MAX_PREFIX];
    int len = snprintf(prefix, sizeof prefix, "ep.%s.", ep_name);
    if (len < 0 || (size_t)len >= sizeof prefix)
        return QRN_FAIL(QRN_E_NAME, "the provider's name is too long");
    for (char *p = prefix; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    *out = (qe_options){.log = log, .backend_type = -1, .offload_io = true, .matmul_lut = true};
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
