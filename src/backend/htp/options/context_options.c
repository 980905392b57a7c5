// SPDX-License-Identifier: MIT
//
// Custom options of contexts (HTP-CTX-01 to -19): a table says when each one is allowed, what its
// value may be and where it goes. A list is read into a copy of the context's options, judged as a
// whole and only then taken.
#include "backend/htp/device/group.h"
#include "backend/htp/options/options.h"
#include "backend/htp/device/session.h"

#include "core/services.h"

#include "HTP/QnnHtpContext.h"

#include <stddef.h>
#include <string.h>

// Phases in which an option is allowed.
#define C (1u << QRN_CONFIG_CREATE)
#define B (1u << QRN_CONFIG_BINARY)
#define M (1u << QRN_CONFIG_MEMBER)
#define L (1u << QRN_CONFIG_GROUP)
#define S (1u << QRN_CONFIG_SET)

static const char *phase_name(qrn_config_phase phase) {
    static const char *const names[] = {"contextCreate", "contextCreateFromBinary",
                                        "a context of a list", "a list of contexts",
                                        "contextSetConfig"};
    return phase < sizeof names / sizeof *names ? names[phase] : "this call";
}

// Where a registration goes once the whole list is good.
typedef struct registration {
    bool given;
    qrn_htp_group_kind kind;
    QnnHtpContext_GroupRegistration_t value;
} registration;

// One list that is being read.
typedef struct reading {
    const qrn_api_context *c;
    const qrn_htp_device *device;
    qrn_config_phase phase;
    qrn_htp_context_options o;
    registration group;
} reading;

typedef struct row row;
struct row {
    QnnHtpContext_ConfigOption_t option;
    const char *name;
    unsigned phases;
    qrn_status (*read)(reading *r, const row *w, const QnnHtpContext_CustomConfig_t *x);
    size_t field;      // of qrn_htp_context_options
    uint32_t min_arch; // for flags that are set, and registrations
    bool offline;      // flags: needs graphs to be prepared offline
};

static qrn_status need_arch(const reading *r, const row *w) {
    const qrn_soc *soc = &r->device->soc;
    // No chip was asked for: there is none that could lack it. Clients share weights so.
    if (soc->arch >= w->min_arch || (!r->device->chosen && w->min_arch <= 73))
        return QRN_OK;
    return QRN_FAIL(QRN_E_UNSUPPORTED,
                    "context option %s needs v%u, the device is %s of v%u: leave it out, or choose "
                    "a SoC of v%u",
                    w->name, w->min_arch, soc->name, soc->arch, w->min_arch);
}

static qrn_status read_flag(reading *r, const row *w, const QnnHtpContext_CustomConfig_t *x) {
    unsigned char raw; // whatever byte a client sends is a truth value
    memcpy(&raw, &x->weightSharingEnabled, 1);
    if (raw) {
        QRN_TRY(need_arch(r, w));
        if (w->offline && !qrn_htp_offline())
            return QRN_FAIL(QRN_E_UNSUPPORTED,
                            "context option %s works for graphs that are prepared offline",
                            w->name);
    }
    *(bool *)((char *)&r->o + w->field) = raw != 0;
    return QRN_OK;
}

// A binary shares weights or does not, whatever is said when it is loaded.
static qrn_status read_sharing(reading *r, const row *w, const QnnHtpContext_CustomConfig_t *x) {
    return r->phase == QRN_CONFIG_CREATE ? read_flag(r, w, x) : QRN_OK;
}

static qrn_status read_u64(reading *r, const row *w, const QnnHtpContext_CustomConfig_t *x) {
    memcpy((char *)&r->o + w->field, &x->fileReadMemoryBudgetInMb, sizeof(uint64_t));
    return QRN_OK;
}

static qrn_status read_extra(reading *r, const row *w, const QnnHtpContext_CustomConfig_t *x) {
    (void)w;
    uint32_t kb = x->concurrentDeserializationExtraSizeKB;
    r->o.deserialize_extra_kb =
        kb < QRN_HTP_DESERIALIZE_EXTRA_MAX_KB ? kb : QRN_HTP_DESERIALIZE_EXTRA_MAX_KB;
    return QRN_OK;
}

static qrn_status read_patch(reading *r, const row *w, const QnnHtpContext_CustomConfig_t *x) {
    if (x->concurrentDeserializationPatchFd < 0)
        return QRN_FAIL(QRN_E_CONFIG, "context option %s: %d is not a file descriptor", w->name,
                        x->concurrentDeserializationPatchFd);
    r->o.deserialize_patch_fd = x->concurrentDeserializationPatchFd;
    return QRN_OK;
}

static qrn_status read_share_type(reading *r, const row *w, const QnnHtpContext_CustomConfig_t *x) {
    if ((unsigned)x->shareResOptType > CONCURRENT_OPTIMIZATION)
        return QRN_FAIL(QRN_E_CONFIG, "context option %s: %d, allowed 0 to 2", w->name,
                        (int)x->shareResOptType);
    r->o.share_type = (uint32_t)x->shareResOptType;
    return QRN_OK;
}

static qrn_status read_group(reading *r, const row *w, const QnnHtpContext_CustomConfig_t *x) {
    QRN_TRY(need_arch(r, w));
    r->group =
        (registration){.given = true,
                       .kind = x->option == QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS
                                   ? QRN_HTP_GROUP_SEQUENTIAL
                                   : QRN_HTP_GROUP_CONCURRENT,
                       .value = x->groupRegistration};
    return QRN_OK;
}

static qrn_status read_loading(reading *r, const row *w, const QnnHtpContext_CustomConfig_t *x) {
    const QnnHtpContext_ParallelWeightLoading_t *p = &x->parallelWeightLoading;
    if ((unsigned)p->mode > QNN_HTP_PARALLEL_WEIGHT_LOADING_MODE_OFF)
        return QRN_FAIL(QRN_E_CONFIG, "context option %s: mode %d, allowed 0 to 2", w->name,
                        (int)p->mode);
    r->o.weight_loading = (uint32_t)p->mode;
    r->o.weight_loading_mb = p->thresholdInMbOverride;
    return QRN_OK;
}

// Groups of graphs whose adapters share a buffer: the host keeps adapters where they are.
static qrn_status read_preload(reading *r, const row *w, const QnnHtpContext_CustomConfig_t *x) {
    (void)r;
    const QnnHtpContext_LoraPreloadBufferGroups_t *p = x->loraPreloadBufferGroups;
    if (!p || (p->numGroups && !p->groups))
        return QRN_FAIL(QRN_E_CONFIG, "context option %s: the list of groups is NULL", w->name);
    for (uint32_t i = 0; i < p->numGroups; i++)
        if (p->groups[i].numGraphs && !p->groups[i].graphNames)
            return QRN_FAIL(QRN_E_CONFIG, "context option %s: group %u has no names", w->name, i);
    return QRN_OK;
}

static const row rows[] = {
#define OPTION(name, phases, read, field, arch, offline)                                           \
    {QNN_HTP_CONTEXT_CONFIG_OPTION_##name,     #name, phases, read,                                \
     offsetof(qrn_htp_context_options, field), arch,  offline},
    // Documented are C for WEIGHT_SHARING_ENABLED and USE_EXTENDED_UDMA, and no C for
    // DSP_MEMORY_PROFILING_ENABLED; clients give one list to all calls.
    // clang-format off
    OPTION(WEIGHT_SHARING_ENABLED, C | B | M | L, read_sharing, weight_sharing, QRN_HTP_SHARE_ARCH,
           true)
    OPTION(REGISTER_MULTI_CONTEXTS, B, read_group, weight_sharing, 0, false)
    OPTION(FILE_READ_MEMORY_BUDGET, B | M, read_u64, read_budget_mb, 0, false)
    OPTION(DSP_MEMORY_PROFILING_ENABLED, C | B | M | S, read_flag, dsp_memory_profiling, 0, false)
    OPTION(SHARE_RESOURCES, L, read_flag, share_resources, 0, false)
    OPTION(IO_MEM_ESTIMATION, B | M, read_flag, io_mem_estimation, 0, false)
    OPTION(PREPARE_ONLY, C, read_flag, prepare_only, 0, false)
    OPTION(INIT_ACCELERATION, B | M, read_flag, init_acceleration, 0, false)
    OPTION(SKIP_VALIDATION_ON_BINARY_SECTION, B | M, read_flag, skip_section_validation, 0, false)
    OPTION(SHARE_RESOURCES_OPTIMIZATION_TYPE, L, read_share_type, share_type, 0, false)
    OPTION(USE_EXTENDED_UDMA, C | B | M, read_flag, extended_udma, 81, false)
    OPTION(REGISTER_CONCURRENT_RESOURCE_SHARING, B, read_group, weight_sharing, 81, false)
    OPTION(LORA_WEIGHT_SHARING_ENABLED, C, read_flag, lora_weight_sharing, 0, true)
    OPTION(LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED, C, read_flag, lora_ram_preload, 0, true)
    OPTION(REUSED_IO_LIMIT, B | M | L, read_u64, reused_io_limit_mb, 0, false)
    OPTION(REFERENCE_WEIGHT_SHARING_ENABLED, C, read_flag, reference_weight_sharing, 0, true)
    OPTION(CONCURRENT_DESERIALIZATION_EXTRA_SIZE, B | M, read_extra, deserialize_extra_kb, 0, false)
    OPTION(GRAPH_SPLITTING_ENABLED, C, read_flag, graph_splitting, 0, true)
    OPTION(CONCURRENT_DESERIALIZATION_PATCH, B | M, read_patch, deserialize_patch_fd, 0, false)
    OPTION(GRAPH_SPLITTING_CONFIGS, C, read_flag, graph_splitting, 0, true)
    OPTION(LORA_PRELOAD_BUFFER_GROUPS, C | B | M, read_preload, lora_ram_preload, 0, false)
    OPTION(PARALLEL_WEIGHT_LOADING, B | M, read_loading, weight_loading, 0, false)
// clang-format on
#undef OPTION
};

// A flag that is false asks for nothing: clients send all they know, wherever. What belongs to a
// list of contexts belongs there, whatever its value (HTP-CTX-29).
static bool asks_nothing(const row *w, const QnnHtpContext_CustomConfig_t *x) {
    unsigned char raw;
    memcpy(&raw, &x->weightSharingEnabled, 1);
    return (w->read == read_flag || w->read == read_sharing) && !raw && w->phases != L;
}

static qrn_status read_option(reading *r, const QnnHtpContext_CustomConfig_t *x) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *w = &rows[i];
        if (w->option != x->option)
            continue;
        if (w->phases & 1u << r->phase)
            return w->read(r, w, x);
        if (asks_nothing(w, x))
            return QRN_OK;
        return QRN_FAIL(QRN_E_CONFIG, "context option %s is not for %s", w->name,
                        phase_name(r->phase));
    }
    qrn_log(r->c->backend->log, QNN_LOG_LEVEL_WARN,
            "context: custom option %d is not known to this version and ignored: leave it out, or "
            "use a newer Quern",
            (int)x->option);
    return QRN_OK;
}

// The last step that may fail, so that nothing has to be undone.
static qrn_status join(qrn_api_context *c, const reading *r) {
    if (r->group.given)
        return qrn_htp_group_join(c, r->group.kind, r->group.value.firstGroupHandle,
                                  r->group.value.maxSpillFillBuffer);
    if (r->phase == QRN_CONFIG_GROUP && r->o.share_resources)
        return qrn_htp_group_join(c, QRN_HTP_GROUP_LIST, NULL, 0);
    return QRN_OK;
}

qrn_status qrn_htp_context_config(qrn_api_context *c, qrn_config_phase phase,
                                  const void *const *custom, size_t n) {
    qrn_htp_context *impl = qrn_htp_context_of(c);
    reading r = {.c = c, .device = qrn_htp_device_of(c), .phase = phase, .o = impl->options};
    for (size_t i = 0; i < n; i++)
        QRN_TRY(read_option(&r, custom[i]));
    QRN_TRY(qrn_htp_context_check(c, &r.o, phase));
    QRN_TRY(qrn_htp_session_retain(c));
    if (n == 0 && phase == QRN_CONFIG_SET)
        return QRN_OK; // a new priority, say: graphs may run, which read the options
    qrn_htp_context_options old = impl->options;
    impl->options = r.o; // a group looks at them
    qrn_status s = join(c, &r);
    if (s != QRN_OK)
        impl->options = old;
    else
        qrn_htp_session_profile(c, old.dsp_memory_profiling);
    return s;
}
