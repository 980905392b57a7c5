// SPDX-License-Identifier: MIT
//
// Sizes of graphs and contexts, and the properties that report them (HTP-CTX-35).
#include "backend/htp/device/properties.h"

#include "backend/htp/options/options.h"
#include "base/mem.h"
#include "binary/binary.h"

#include "HTP/QnnHtpContext.h"

typedef struct life {
    uint32_t first, last; // nodes, counted from 1; 0: unused
} life;

static void touch(life *lives, const uint32_t *values, uint32_t n, uint32_t node) {
    for (uint32_t i = 0; i < n; i++) {
        if (values[i] == UINT32_MAX)
            continue;
        life *l = &lives[values[i]];
        l->first = l->first ? l->first : node;
        l->last = node;
    }
}

// Walks the nodes with the bytes that come to life at one and die after another: tensors as the
// client declared them, whatever memory the compiler makes them share.
static qrn_status live_bytes(const qrn_plan *p, uint64_t *most) {
    int64_t *change = qrn_calloc((p->n_nodes + 2u) * sizeof(*change));
    life *lives = qrn_calloc((p->n_values + 1u) * sizeof(*lives));
    for (uint32_t i = 0; change && lives && i < p->n_nodes; i++) {
        touch(lives, p->nodes[i].in, p->nodes[i].n_in, i + 1);
        touch(lives, p->nodes[i].out, p->nodes[i].n_out, i + 1);
    }
    for (uint32_t i = 0; change && lives && i < p->n_values; i++) {
        const qrn_value *v = &p->values[i];
        if (!lives[i].first || v->storage == QRN_STORE_CONST || v->storage == QRN_STORE_IO)
            continue;
        change[lives[i].first] += (int64_t)v->size_bytes;
        change[lives[i].last + 1] -= (int64_t)v->size_bytes;
    }
    int64_t live = 0, peak = 0;
    for (uint32_t i = 1; change && lives && i <= p->n_nodes; i++) {
        live += change[i];
        peak = live > peak ? live : peak;
    }
    qrn_status s =
        change && lives ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory for the sizes of a graph");
    qrn_free(change);
    qrn_free(lives);
    *most = (uint64_t)peak;
    return s;
}

qrn_status qrn_htp_measure(const qrn_plan *p, qrn_htp_sizes *sizes) {
    qrn_htp_sizes s = {0};
    QRN_TRY(live_bytes(p, &s.live_bytes));
    for (uint32_t i = 0; i < p->n_values; i++) {
        if (p->values[i].storage == QRN_STORE_CONST && p->values[i].view.data &&
            !p->values[i].host_only)
            s.const_bytes += p->values[i].size_bytes;
        else if (p->values[i].storage == QRN_STORE_IO)
            s.io_bytes += p->values[i].size_bytes;
    }
    for (uint32_t i = 0; i < p->n_packings; i++) // not kept beside their packed form
        if (p->packings[i].drops && p->values[p->packings[i].source].view.data)
            s.const_bytes -= p->values[p->packings[i].source].size_bytes;
    *sizes = s;
    return QRN_OK;
}

uint64_t qrn_htp_spill_bytes(const qrn_api_graph *g) {
    uint64_t live = qrn_htp_graph_of(g)->sizes.live_bytes, vtcm = qrn_htp_vtcm_bytes(g);
    return live > vtcm ? live - vtcm : 0;
}

uint64_t qrn_htp_backup_bytes(const qrn_api_context *c) {
    return (uint64_t)qrn_htp_device_of(c)->soc.vtcm_mb << 20;
}

// The largest need of its graphs.
static uint64_t context_spill_bytes(const qrn_api_context *c) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < qrn_context_n_graphs(c); i++) {
        uint64_t need = qrn_htp_spill_bytes(qrn_context_graph(c, i));
        most = need > most ? need : most;
    }
    return most;
}

uint64_t qrn_htp_context_const_bytes(qrn_api_context *c) {
    const qrn_htp_context *impl = qrn_htp_context_of(c);
    uint64_t sum = 0;
    if (impl->bin)
        return impl->bin->weights_bytes + impl->bin->shared_bytes;
    for (uint32_t i = 0; i < qrn_context_n_graphs(c); i++)
        sum += qrn_htp_graph_of(qrn_context_graph(c, i))->sizes.const_bytes;
    return sum;
}

qrn_status qrn_htp_context_property(qrn_api_context *c, void *property) {
    QnnHtpContext_CustomProperty_t *p = ((QnnContext_Property_t *)property)->customProperty;
    if (!p)
        return QRN_FAIL(QRN_E_ARGUMENT, "context property: the custom property is NULL");
    switch (p->option) {
    case QNN_HTP_CONTEXT_GET_PROP_BUFFER_START_ALIGNMENT:
        p->bufferStartAlignment = QRN_HTP_BUFFER_ALIGN;
        return QRN_OK;
    case QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE:
        p->spillfillBufferSize = context_spill_bytes(c);
        return QRN_OK;
    case QNN_HTP_CONTEXT_GET_PROP_WEIGHTS_BUFFER_SIZE:
        p->weightsBufferSize = qrn_htp_context_const_bytes(c);
        return QRN_OK;
    case QNN_HTP_CONTEXT_GET_PROP_MAX_VTCMBACKUP_BUFFER_SIZE:
        p->vtcmBackupBufferSize = qrn_htp_backup_bytes(c);
        return QRN_OK;
    default:
        return QRN_FAIL(QRN_E_ARGUMENT, "context property %d: known are 1, 2, 3 and 6",
                        (int)p->option);
    }
}
