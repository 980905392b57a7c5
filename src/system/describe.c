// SPDX-License-Identifier: MIT
//
// What is in a binary, as the API has it: always the third version of the structs, with the HTP's
// facts behind each graph and behind the context. Facts that no option names are those of the chip
// or the defaults.
#include "system/system.h"

#include "base/soc.h"
#include "binary/options.h"
#include "core/describe_tensor.h"

#include "HTP/QnnHtpCommon.h"
#include "HTP/QnnHtpSystemContext.h"
#include "Quern/NativeKv.h"

#include <stddef.h>
#include <string.h>

#define MEGABYTE (1024u * 1024u)
#define DEFAULT_VTCM_MB 4u // where the chip has that much (HTP-VTCM-01)
#define BYTES_PER_OP 40u   // that a schedule takes (HTP-BIN-02)

// Behind graphBlobInfo: a reader of the first struct need not know what follows. The schedule, as
// docs/context-binary.md has it, comes last and with its length.
typedef struct graph_blob {
    QnnHtpSystemContext_GraphBlobInfo_t first;
    QnnHtpSystemContext_GraphBlobInfoV2_t second;
    char schedule[8]; // "QRNSCHED"
    uint64_t schedule_bytes;
} graph_blob;

static qrn_status no_memory(void) {
    return QRN_FAIL(QRN_E_MEM, "out of memory for the description of a binary");
}

// A list of tensors under construction.
typedef struct tensor_list {
    Qnn_Tensor_t *items;
    uint32_t n;
} tensor_list;

static qrn_status list_begin(tensor_list *l, size_t room, qrn_arena *a) {
    *l = (tensor_list){qrn_arena_alloc(a, room * sizeof *l->items), 0};
    return l->items ? QRN_OK : no_memory();
}

static qrn_status list_add(tensor_list *l, const qrn_tensor *t, qrn_arena *a) {
    QRN_TRY(qrn_tensor_describe(t, a, &l->items[l->n]));
    l->n++;
    return QRN_OK;
}

static bool has_id(const uint32_t *ids, uint32_t n, uint32_t id) {
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static bool graph_reads(const qrn_bin_graph *g, uint32_t id) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (has_id(g->nodes[i].in, g->nodes[i].n_in, id))
            return true;
    return false;
}

static bool graph_writes(const qrn_bin_graph *g, uint32_t id) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (has_id(g->nodes[i].out, g->nodes[i].n_out, id))
            return true;
    return false;
}

// The graph's own application tensors in order of creation, then those of the context that its
// nodes use.
static qrn_status graph_tensors(const qrn_bin *b, const qrn_bin_graph *g, qrn_arena *a,
                                QnnSystemContext_GraphInfoV3_t *out) {
    tensor_list in, outs, updates;
    QRN_TRY(list_begin(&in, (size_t)g->n_tensors + b->n_tensors, a));
    QRN_TRY(list_begin(&outs, (size_t)g->n_tensors + b->n_tensors, a));
    QRN_TRY(list_begin(&updates, (size_t)g->n_tensors, a));
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const qrn_tensor *t = g->tensors[i];
        if (t->role == QRN_ROLE_INPUT)
            QRN_TRY(list_add(&in, t, a));
        if (t->role == QRN_ROLE_OUTPUT)
            QRN_TRY(list_add(&outs, t, a));
        if (t->updateable)
            QRN_TRY(list_add(&updates, t, a));
    }
    for (uint32_t i = 0; i < b->n_tensors; i++) {
        const qrn_tensor *t = b->tensors[i];
        if (t->role > QRN_ROLE_INOUT)
            continue;
        if (graph_writes(g, t->id))
            QRN_TRY(list_add(&outs, t, a));
        else if (graph_reads(g, t->id))
            QRN_TRY(list_add(&in, t, a));
    }
    out->graphInputs = in.items;
    out->numGraphInputs = in.n;
    out->graphOutputs = outs.items;
    out->numGraphOutputs = outs.n;
    out->updateableTensors = updates.items;
    out->numUpdateableTensors = updates.n;
    return QRN_OK;
}

static const qrn_soc *chip_of(const qrn_bin *b) {
    const qrn_soc *s = b->soc_id ? qrn_soc_by_id(b->soc_id) : NULL;
    if (!s && b->arch)
        s = qrn_soc_of_arch(b->arch);
    return s ? s : qrn_soc_by_id(QRN_SOC_DEFAULT);
}

// Whether a node updates the native cache `t` along its last dimension (keys) or the one before
// (values); both are unchanged when it does neither.
static void find_native(const qrn_bin_node *n, const qrn_tensor *t, bool *keys, bool *values) {
    if (strcmp(n->type, "ScatterElements") != 0 || n->n_in == 0 || n->in[0] != t->id)
        return;
    for (uint32_t i = 0; i < n->n_params; i++) {
        if (strcmp(n->param_names[i], "axis") != 0 || n->params[i].is_tensor)
            continue;
        bool last = n->params[i].value.u + 1 == t->shape.rank;
        *keys |= last;
        *values |= !last;
    }
}

// Tiles of the graph's native KV caches (HTP-NKV-11); 0 where it has none of the kind.
static void native_tiles(const qrn_bin_graph *g, QnnHtpSystemContext_GraphBlobInfoV2_t *out) {
    bool keys = false, values = false;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const qrn_tensor *t = g->tensors[i];
        if (t->role == QRN_ROLE_INPUT && t->format == QRN_FORMAT_NATIVE_KV)
            for (uint32_t k = 0; k < g->n_nodes; k++)
                find_native(&g->nodes[k], t, &keys, &values);
    }
    out->nativeKChannelSize = keys ? QUERN_NATIVE_K_TILE : 0;
    out->nativeVChannelSize = values ? QUERN_NATIVE_V_TILE : 0;
}

static qrn_status htp_graph(const qrn_bin *b, const qrn_bin_graph *g, qrn_arena *a,
                            QnnSystemContext_GraphInfoV3_t *out) {
    const qrn_soc *chip = chip_of(b);
    size_t bytes =
        g->schedule ? sizeof(graph_blob) + g->schedule_bytes : offsetof(graph_blob, schedule);
    graph_blob *blob = qrn_arena_alloc(a, sizeof *blob + g->schedule_bytes);
    if (!blob)
        return no_memory();
#define OPTION(name) qrn_bin_option_get(g->options, g->n_options, QRN_BIN_GRAPH_##name)
    uint64_t vtcm = OPTION(VTCM_BYTES), threads = OPTION(HVX_THREADS);
    if (!vtcm)
        vtcm = (chip->vtcm_mb < DEFAULT_VTCM_MB ? chip->vtcm_mb : DEFAULT_VTCM_MB) *
               (uint64_t)MEGABYTE;
    uint64_t spill = g->arena_bytes > vtcm ? g->arena_bytes - vtcm : 0;
    blob->first = (QnnHtpSystemContext_GraphBlobInfo_t){
        .version = QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1,
        .contextBinaryGraphBlobInfoV1 = {
            .spillFillBufferSize = spill,
            .vtcmSize = (uint32_t)((vtcm + MEGABYTE - 1) / MEGABYTE),
            .optimizationLevel = (uint32_t)OPTION(LEVEL),
            .htpDlbc = OPTION(DLBC) != 0,
            .numHvxThreads = threads ? threads : chip->hvx,
        }};
    blob->second = (QnnHtpSystemContext_GraphBlobInfoV2_t){
        .version = QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V2,
        .isSafeShareIO = OPTION(SHARE_IO_BUFFER) != 0,
        .ioTensorSize = g->io_bytes,
        .opDataSize = (uint64_t)g->n_nodes * BYTES_PER_OP,
        .constSize = g->const_bytes,
        .ddrTensorSize = spill,
        .sharedWeightsSize = g->shared_bytes,
    };
#undef OPTION
    native_tiles(g, &blob->second);
    out->graphBlobInfo = blob;
    out->graphBlobInfoSize = (uint32_t)bytes;
    if (g->schedule) {
        memcpy(blob->schedule, "QRNSCHED", sizeof blob->schedule);
        blob->schedule_bytes = g->schedule_bytes;
        memcpy(blob + 1, g->schedule_data, g->schedule_bytes);
    }
    return QRN_OK;
}

static qrn_status describe_graph(const qrn_bin *b, const qrn_bin_graph *g, uint32_t first_op,
                                 qrn_arena *a, QnnSystemContext_GraphInfo_t *out) {
    out->version = QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3;
    QnnSystemContext_GraphInfoV3_t *v = &out->graphInfoV3;
    v->graphName = qrn_arena_strdup(a, g->name);
    if (!v->graphName)
        return no_memory();
    v->startOpIndex = first_op;
    v->endOpIndex = first_op + (g->n_nodes ? g->n_nodes - 1 : 0);
    QRN_TRY(graph_tensors(b, g, a, v));
    return b->backend_id == QNN_BACKEND_ID_HTP ? htp_graph(b, g, a, v) : QRN_OK;
}

static qrn_status context_tensors(const qrn_bin *b, qrn_arena *a,
                                  QnnSystemContext_BinaryInfoV3_t *out) {
    tensor_list list;
    QRN_TRY(list_begin(&list, b->n_tensors, a));
    for (uint32_t i = 0; i < b->n_tensors; i++)
        QRN_TRY(list_add(&list, b->tensors[i], a));
    out->contextTensors = list.items;
    out->numContextTensors = list.n;
    return QRN_OK;
}

static qrn_status htp_context(const qrn_bin *b, qrn_arena *a,
                              QnnSystemContext_BinaryInfoV3_t *out) {
    QnnHtpSystemContext_ContextBlobInfo_t *blob = qrn_arena_alloc(a, sizeof *blob);
    if (!blob)
        return no_memory();
    blob->version = QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_VERSION_V1;
    blob->contextBinaryContextBlobInfoV1.dspArch = b->arch;
    out->contextMetadata = blob;
    out->contextMetadataSize = sizeof *blob;
    return QRN_OK;
}

static Qnn_Version_t version_of(const uint32_t v[3]) { return (Qnn_Version_t){v[0], v[1], v[2]}; }

// What the binary was made for: a SoC, or the device that prepared it.
static const char *device_text(const qrn_bin *b) {
    const qrn_soc *chip = b->soc_id ? qrn_soc_by_id(b->soc_id) : NULL;
    const qrn_bin_prepared *p = b->n_graphs ? b->graphs[0].prepared : NULL;
    return chip ? chip->name : p ? p->device_name : "";
}

static qrn_status head(const qrn_bin *b, uint64_t size_bytes, qrn_arena *a,
                       QnnSystemContext_BinaryInfoV3_t *out) {
    out->backendId = b->backend_id;
    out->buildId = qrn_arena_strdup(a, b->build_id);
    out->coreApiVersion = version_of(b->core_api);
    out->backendApiVersion = version_of(b->backend_api);
    // Never NULL: clients print it.
    out->socVersion = qrn_arena_strdup(a, device_text(b));
    out->contextBlobVersion = (Qnn_Version_t){b->version_major, b->version_minor, 0};
    out->contextBlobSize = size_bytes;
    out->socModel = b->soc_id;
    return out->buildId && out->socVersion ? QRN_OK : no_memory();
}

qrn_status qrn_system_describe(const qrn_bin *b, uint64_t size_bytes, qrn_arena *a,
                               QnnSystemContext_BinaryInfo_t **out) {
    QnnSystemContext_BinaryInfo_t *info = qrn_arena_alloc(a, sizeof *info);
    QnnSystemContext_GraphInfo_t *graphs = qrn_arena_alloc(a, b->n_graphs * sizeof *graphs);
    if (!info || !graphs)
        return no_memory();
    info->version = QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3;
    QnnSystemContext_BinaryInfoV3_t *v = &info->contextBinaryInfoV3;
    QRN_TRY(head(b, size_bytes, a, v));
    QRN_TRY(context_tensors(b, a, v));
    if (b->backend_id == QNN_BACKEND_ID_HTP)
        QRN_TRY(htp_context(b, a, v));
    uint32_t first_op = 0;
    for (uint32_t i = 0; i < b->n_graphs; i++) {
        QRN_TRY(describe_graph(b, &b->graphs[i], first_op, a, &graphs[i]));
        first_op += b->graphs[i].n_nodes;
    }
    v->graphs = graphs;
    v->numGraphs = b->n_graphs;
    *out = info;
    return QRN_OK;
}
