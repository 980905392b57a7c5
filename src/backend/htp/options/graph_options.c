// SPDX-License-Identifier: MIT
//
// Custom options of graphs (HTP-GRF, HTP-OPT, HTP-DLBC, HTP-HVX, HTP-SLC, HTP-VTCM, HTP-PGE). A
// list is read into a copy of the graph's options, judged as a whole and only then taken.
#include "backend/htp/options/options.h"

#include "core/services.h"

#include "HTP/QnnHtpGraph.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

// One list that is being read.
typedef struct reading {
    const qrn_api_graph *g;
    const qrn_soc *soc;
    bool final; // the graph is finalized: few options may change (HTP-GRF-20)
    qrn_htp_graph_options o;
} reading;

static qrn_status refuse_final(const reading *r, const char *option) {
    return QRN_FAIL(QRN_E_FINALIZED,
                    "graph '%s' is finalized: option %s cannot change; only the priority, "
                    "NUM_HVX_THREADS and the SLC allocator may",
                    r->g->ir->name, option);
}

static qrn_status need_arch(const reading *r, const char *option, uint32_t arch) {
    if (r->soc->arch >= arch)
        return QRN_OK;
    return QRN_FAIL(QRN_E_UNSUPPORTED,
                    "graph '%s': option %s needs v%u, the device is %s of v%u: leave it out, or "
                    "choose a SoC of v%u",
                    r->g->ir->name, option, arch, r->soc->name, r->soc->arch, arch);
}

static qrn_status bad_value(const reading *r, const char *option, double found,
                            const char *allowed) {
    return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': option %s is %g, allowed: %s", r->g->ir->name,
                    option, found, allowed);
}

static void ignore(const reading *r, const char *what, long long number) {
    qrn_log(r->g->context->backend->log, QNN_LOG_LEVEL_WARN,
            "graph '%s': %s %lld is not known to this version and ignored: leave it out, or use a "
            "newer Quern",
            r->g->ir->name, what, number);
}

// --- OPTIMIZATION

static qrn_status read_level(reading *r, float v) {
    if (v != 1.0f && v != 2.0f && v != 3.0f)
        return bad_value(r, "FINALIZE_OPTIMIZATION_FLAG", (double)v, "1, 2 or 3");
    r->o.level = (uint32_t)v;
    return QRN_OK;
}

// On from 1.0, off below (HTP-DLBC-01).
static qrn_status read_dlbc(reading *r, const char *option, float v, bool *on) {
    if (!(v >= 0.0f)) // NaN, too
        return bad_value(r, option, (double)v, "0 (off) or 1 (on)");
    *on = v >= 1.0f;
    if (*on && !r->soc->dlbc)
        return QRN_FAIL(QRN_E_CREATE, "graph '%s': option %s: %s has no bandwidth compression",
                        r->g->ir->name, option, r->soc->name);
    if (*on && !qrn_htp_offline())
        return QRN_FAIL(QRN_E_CREATE,
                        "graph '%s': option %s works for graphs that are prepared offline",
                        r->g->ir->name, option);
    return QRN_OK;
}

// Chosen when the graph is prepared; at run time it can be held off and let on again (HTP-SLC-02).
static qrn_status read_slc(reading *r, float v) {
    if (v != 0.0f && v != 1.0f)
        return bad_value(r, "SLC_ALLOCATOR", (double)v, "0 (off) or 1 (on)");
    bool on = v == 1.0f;
    if (r->final && on && !r->o.slc)
        return refuse_final(r, "SLC_ALLOCATOR, which was off at prepare,");
    if (r->final) {
        r->o.slc_forced_off = r->o.slc && !on;
        return QRN_OK;
    }
    if (on && !r->soc->slc)
        qrn_log(r->g->context->backend->log, QNN_LOG_LEVEL_WARN,
                "graph '%s': option SLC_ALLOCATOR: %s has no such cache, ignored", r->g->ir->name,
                r->soc->name);
    r->o.slc = on && r->soc->slc;
    return QRN_OK;
}

static qrn_status read_optimization(reading *r, const QnnHtpGraph_CustomConfig_t *c) {
    const QnnHtpGraph_OptimizationOption_t *x = &c->optimizationOption;
    if (r->final && x->type != QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_SLC_ALLOCATOR)
        return refuse_final(r, "OPTIMIZATION");
    switch (x->type) {
    case QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG:
        return read_level(r, x->floatValue);
    case QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC:
        return read_dlbc(r, "DLBC", x->floatValue, &r->o.dlbc);
    case QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC_WEIGHTS:
        return read_dlbc(r, "DLBC_WEIGHTS", x->floatValue, &r->o.dlbc_weights);
    case QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_SPARSE_WEIGHTS_COMPRESSION:
        if (!(x->floatValue < 1.0f))
            return QRN_FAIL(QRN_E_UNSUPPORTED,
                            "graph '%s': compression of sparse weights is not supported",
                            r->g->ir->name);
        return QRN_OK;
    case QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_SLC_ALLOCATOR:
        return read_slc(r, x->floatValue);
    case QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_VTCM_RETENTION:
        r->o.vtcm_retention = x->floatValue >= 1.0f;
        return QRN_OK;
    case QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_CACHED_WEIGHTS:
        r->o.cached_weights = x->floatValue >= 1.0f;
        return QRN_OK;
    default:
        ignore(r, "optimization type", (long long)x->type);
        return QRN_OK;
    }
}

// --- VTCM, threads, cores

static qrn_status read_vtcm(reading *r, const char *option, uint64_t bytes) {
    uint64_t most = (uint64_t)r->soc->vtcm_mb << 20;
    if (bytes > most)
        return QRN_FAIL(
            QRN_E_CREATE,
            "graph '%s': option %s asks for %llu bytes of VTCM, %s has %llu: ask for at most %u MB",
            r->g->ir->name, option, (unsigned long long)bytes, r->soc->name,
            (unsigned long long)most, r->soc->vtcm_mb);
    r->o.vtcm_max = bytes == 0;
    r->o.vtcm_bytes = bytes ? bytes : most;
    return QRN_OK;
}

static qrn_status read_vtcm_mb(reading *r, const QnnHtpGraph_CustomConfig_t *c) {
    return read_vtcm(r, "VTCM_SIZE_IN_MB", (uint64_t)c->vtcmSizeInMB << 20);
}

static qrn_status read_vtcm_bytes(reading *r, const QnnHtpGraph_CustomConfig_t *c) {
    uint32_t bytes = c->vtcmSizeInBytes;
    QRN_TRY(need_arch(r, "VTCM_SIZE_IN_BYTES", 81));
    if (bytes % QRN_HTP_VTCM_PAGE)
        return bad_value(r, "VTCM_SIZE_IN_BYTES", (double)bytes, "multiples of 65536");
    return read_vtcm(r, "VTCM_SIZE_IN_BYTES", bytes);
}

// Settled by the first execution: later changes are ignored (HTP-HVX-03).
static qrn_status read_hvx(reading *r, const QnnHtpGraph_CustomConfig_t *c) {
    uint64_t n = c->numHvxThreads;
    if (n < 1 || n > r->soc->hvx)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': NUM_HVX_THREADS is %llu, allowed: 1 to %u",
                        r->g->ir->name, (unsigned long long)n, r->soc->hvx);
    if (atomic_load(&qrn_htp_graph_of(r->g)->executed))
        return QRN_OK;
    r->o.hvx_threads = (uint32_t)n;
    r->o.hvx_asked = true;
    return QRN_OK;
}

static qrn_status read_cores(reading *r, const QnnHtpGraph_CustomConfig_t *c) {
    uint32_t n = c->numCores;
    if (n < 1 || n > r->soc->cores)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': NUM_CORES is %u, %s has %u", r->g->ir->name, n,
                        r->soc->name, r->soc->cores);
    r->o.n_cores = n;
    return QRN_OK;
}

// --- the others

static bool scalar_value(const Qnn_Scalar_t *s, double *v) {
    switch (s->dataType) {
    case QNN_DATATYPE_INT_32:
        *v = s->int32Value;
        return true;
    case QNN_DATATYPE_UINT_32:
        *v = s->uint32Value;
        return true;
    case QNN_DATATYPE_INT_64:
        *v = (double)s->int64Value;
        return true;
    case QNN_DATATYPE_UINT_64:
        *v = (double)s->uint64Value;
        return true;
    case QNN_DATATYPE_FLOAT_32:
        *v = (double)s->floatValue;
        return true;
    default:
        return false;
    }
}

// Tuning point P: 0-6, 8, 13, 15-17, 19-23 (HTP-OPT-04).
#define TUNING_POINTS 0xfba17fu

static qrn_status read_finalize(reading *r, const QnnHtpGraph_CustomConfig_t *c) {
    const QnnHtpGraph_FinalizeConfig_t *f = &c->finalizeConfig;
    double v = 0;
    if (!f->key)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': FINALIZE_CONFIG without a key",
                        r->g->ir->name);
    if (strcmp(f->key, "P") != 0) {
        qrn_log(r->g->context->backend->log, QNN_LOG_LEVEL_WARN,
                "graph '%s': key '%s' of FINALIZE_CONFIG is not known to this version and ignored: "
                "leave it out",
                r->g->ir->name, f->key);
        return QRN_OK;
    }
    if (!scalar_value(&f->value, &v) || !(v >= 0 && v <= 23) || v != floor(v) ||
        !(TUNING_POINTS >> (unsigned)v & 1u))
        return bad_value(r, "FINALIZE_CONFIG P", v, "0-6, 8, 13, 15-17 and 19-23");
    r->o.tuning = (uint32_t)v;
    return QRN_OK;
}

static qrn_status read_parallel(reading *r, const QnnHtpGraph_CustomConfig_t *c) {
    const QnnHtpGraph_ParallelGraphExecutionConfig_t *p = &c->parallelGraphExecutionConfig;
    const QnnHtpGraph_VtcmConfig_t *v = &p->vtcmConfig;
    uint64_t end = (uint64_t)v->offsetInBytes + v->sizeInBytes;
    if (p->concurrency == QNN_HTP_GRAPH_CONCURRENCY_OPTION_NONE) {
        r->o.concurrency = 0;
        return QRN_OK;
    }
    QRN_TRY(need_arch(r, "PARALLEL_GRAPH_EXECUTION_CONFIG", 81));
    if (p->concurrency != QNN_HTP_GRAPH_CONCURRENCY_OPTION_ALL_SHARED)
        return bad_value(r, "PARALLEL_GRAPH_EXECUTION_CONFIG", (double)p->concurrency, "0 or 1");
    if (end > v->sizeTotalInBytes || v->sizeTotalInBytes > (uint64_t)r->soc->vtcm_mb << 20)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "graph '%s': PARALLEL_GRAPH_EXECUTION_CONFIG: offset %u and size %u of a "
                        "total of %u bytes do not fit into each other and the %u MB of %s",
                        r->g->ir->name, v->offsetInBytes, v->sizeInBytes, v->sizeTotalInBytes,
                        r->soc->vtcm_mb, r->soc->name);
    r->o.concurrency = 1;
    r->o.pge_size = v->sizeInBytes;
    r->o.pge_offset = v->offsetInBytes;
    r->o.pge_total = v->sizeTotalInBytes;
    return QRN_OK;
}

static qrn_status read_bounding(reading *r, const QnnHtpGraph_CustomConfig_t *c) {
    const QnnHtp_HmxBoundingInfo_t *h = &c->hmxBoundingInfo;
    QRN_TRY(need_arch(r, "HMX_BOUNDING", 81));
    if (!(isfinite(h->targetHmxFreqHz) && h->targetHmxFreqHz > 0.0f &&
          isfinite(h->targetDspCoreFreq) && h->targetDspCoreFreq > 0.0f))
        return bad_value(r, "HMX_BOUNDING", (double)h->targetHmxFreqHz, "clocks above 0 Hz");
    r->o.hmx_hz = h->targetHmxFreqHz;
    r->o.core_hz = h->targetDspCoreFreq;
    return QRN_OK;
}

static qrn_status read_precision(reading *r, const QnnHtpGraph_CustomConfig_t *c) {
    Qnn_Precision_t p = c->precision;
    if (p != QNN_PRECISION_FLOAT32 && p != QNN_PRECISION_FLOAT16)
        return bad_value(r, "PRECISION", (double)p, "0 (float32) or 1 (float16)");
    r->o.precision = (uint32_t)p;
    return QRN_OK;
}

// All options. A flag goes into its field; it has no effect of its own here, or is read where it
// matters.
typedef struct row {
    QnnHtpGraph_ConfigOption_t option;
    const char *name;
    qrn_status (*read)(reading *r, const QnnHtpGraph_CustomConfig_t *x); // NULL: a flag
    bool any_time;     // also of a finalized graph
    size_t field;      // flags: of qrn_htp_graph_options
    bool inverted;     // flags: the field says the opposite
    uint32_t min_arch; // flags: to switch it on
} row;

static const row rows[] = {
#define OPTION(name, read, any_time)                                                               \
    {QNN_HTP_GRAPH_CONFIG_OPTION_##name, #name, read, any_time, 0, false, 0},
#define FLAG(name, field, inverted, arch)                                                          \
    {QNN_HTP_GRAPH_CONFIG_OPTION_##name,     #name,    NULL, false,                                \
     offsetof(qrn_htp_graph_options, field), inverted, arch},
    // clang-format off
    OPTION(OPTIMIZATION, read_optimization, true)
    OPTION(PRECISION, read_precision, false)
    OPTION(VTCM_SIZE_IN_MB, read_vtcm_mb, false)
    FLAG(FOLD_RELU_ACTIVATION_INTO_CONV_OFF, fold_relu_off, false, 0)
    FLAG(SHORT_DEPTH_CONV_ON_HMX_OFF, short_depth_conv_off, false, 0)
    OPTION(NUM_HVX_THREADS, read_hvx, true)
    OPTION(FINALIZE_CONFIG, read_finalize, false)
    OPTION(NUM_CORES, read_cores, false)
    OPTION(PARALLEL_GRAPH_EXECUTION_CONFIG, read_parallel, false)
    OPTION(VTCM_SIZE_IN_BYTES, read_vtcm_bytes, false)
    OPTION(HMX_BOUNDING, read_bounding, false)
    FLAG(WEIGHTS_PACKING, weights_packing, false, 0)
    FLAG(ASSUME_SAME_QUANT, assume_same_quant, false, 0)
    FLAG(SHARE_IO_BUFFER, share_io_buffer, false, 0)
    FLAG(ADVANCED_ACTIVATION_FUSION, no_activation_fusion, true, 0)
    FLAG(HIGH_PRECISION_SIGMOID, precise_sigmoid, false, 0)
    FLAG(MONOLITHIC_LSTM, monolithic_lstm, false, 0)
    FLAG(PRECISION_COMPENSATION, precision_compensation, false, 81)
    FLAG(ENABLE_PREDICATION, predication, false, 0)
    FLAG(FP16_CLAMP_OVERFLOW, fp16_clamp, false, 0)
// clang-format on
#undef OPTION
#undef FLAG
};

static qrn_status read_flag(reading *r, const row *f, const QnnHtpGraph_CustomConfig_t *x) {
    unsigned char raw; // whatever byte a client sends is a truth value
    memcpy(&raw, &x->weightsPacking, 1);
    if (raw)
        QRN_TRY(need_arch(r, f->name, f->min_arch));
    *(bool *)((char *)&r->o + f->field) = (raw != 0) != f->inverted;
    return QRN_OK;
}

static qrn_status read_option(reading *r, const QnnHtpGraph_CustomConfig_t *x) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].option != x->option)
            continue;
        if (r->final && !rows[i].any_time)
            return refuse_final(r, rows[i].name);
        return rows[i].read ? rows[i].read(r, x) : read_flag(r, &rows[i], x);
    }
    ignore(r, "custom option", (long long)x->option);
    return QRN_OK;
}

qrn_status qrn_htp_graph_config(qrn_api_graph *g, qrn_config_phase phase, const void *const *custom,
                                size_t n) {
    reading r = {.g = g,
                 .soc = &qrn_htp_device_of(g->context)->soc,
                 .final = phase == QRN_CONFIG_SET_FINAL,
                 .o = qrn_htp_graph_of(g)->options};
    for (size_t i = 0; i < n; i++)
        QRN_TRY(read_option(&r, custom[i]));
    QRN_TRY(qrn_htp_graph_check(g, &r.o));
    if (n) // without options of its own the graph may be running
        qrn_htp_graph_of(g)->options = r.o;
    return QRN_OK;
}
