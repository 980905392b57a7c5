// SPDX-License-Identifier: MIT
//
// May a context binary run on a device, and does it use the device fully?
//   made by another backend, or for an unknown architecture   5008
//   for another architecture than the one that was chosen     5005 (HTP-API-03)
//   wants more VTCM or cores than there are                   5008
//   STRICT, and all VTCM was asked for on a chip with less    5011 (HTP-VTCM-04)
// A binary that was made without choosing a chip runs on every one, and a device that was not
// chosen becomes the one that the binary was made for.
#include "backend/htp/binary/binary.h"

#include "binary/binary.h"
#include "binary/options.h"

static qrn_status check_maker(const qrn_bin *b) {
    if (b->backend_id != qrn_this_backend.id)
        return QRN_FAIL(QRN_E_BINARY_CONFIG,
                        "context binary made by backend %u, this is backend %u", b->backend_id,
                        qrn_this_backend.id);
    if (b->part != QRN_BIN_WHOLE)
        return QRN_FAIL(QRN_E_BINARY,
                        "a section of a context binary: it is applied to a context, not loaded");
    if (b->n_graphs == 0 || b->n_tensors)
        return QRN_FAIL(QRN_E_BINARY, "context binary of %u graphs and %u context tensors",
                        b->n_graphs, b->n_tensors);
    return QRN_OK;
}

// The chip that a binary was made for; NULL when it is not known here.
static const qrn_soc *soc_of(const qrn_bin *b) {
    const qrn_soc *soc = b->soc_id ? qrn_soc_by_id(b->soc_id) : NULL;
    return soc && soc->arch == b->arch ? soc : qrn_soc_of_arch(b->arch);
}

static qrn_status check_vtcm(const qrn_bin *b, const qrn_soc *to, bool strict) {
    const uint64_t mb = 1u << 20;
    for (uint32_t i = 0; i < b->n_graphs; i++) {
        const qrn_bin_graph *g = &b->graphs[i];
        uint64_t bytes = qrn_bin_option_get(g->options, g->n_options, QRN_BIN_GRAPH_VTCM_BYTES);
        bool all = qrn_bin_option_get(g->options, g->n_options, QRN_BIN_GRAPH_VTCM_MAX) != 0;
        uint64_t used = bytes, there = to->vtcm_mb * mb;
        if (used > there)
            return QRN_FAIL(QRN_E_BINARY_CONFIG,
                            "context binary: graph '%s' was prepared for %llu MB of VTCM, the "
                            "device %s has %u MB: prepare it for this device",
                            g->name, (unsigned long long)(used / mb), to->name, to->vtcm_mb);
        if (strict && all && used < there)
            return QRN_FAIL(QRN_E_BINARY_SUBOPTIMAL,
                            "context binary: graph '%s' was prepared for all %llu MB of VTCM, the "
                            "device %s has %u MB: prepare it again, or load it PERMISSIVE",
                            g->name, (unsigned long long)(used / mb), to->name, to->vtcm_mb);
    }
    return QRN_OK;
}

static qrn_status check_cores(const qrn_bin *b, const qrn_soc *to) {
    for (uint32_t i = 0; i < b->n_graphs; i++) {
        const qrn_bin_graph *g = &b->graphs[i];
        uint64_t cores = qrn_bin_option_get(g->options, g->n_options, QRN_BIN_GRAPH_CORES);
        if (cores > to->cores)
            return QRN_FAIL(QRN_E_BINARY_CONFIG,
                            "context binary: graph '%s' was prepared for %llu cores, the device "
                            "has %u: list them in the platform info of the device",
                            g->name, (unsigned long long)cores, to->cores);
    }
    return QRN_OK;
}

qrn_status qrn_htp_binary_check(const qrn_bin *b, const qrn_htp_device *d, bool strict,
                                qrn_htp_device *made_for) {
    QRN_TRY(check_maker(b));
    *made_for = *d;
    made_for->chosen = b->arch != 0;
    const qrn_soc *from = b->arch ? soc_of(b) : qrn_soc_by_id(QRN_SOC_DEFAULT);
    if (!from)
        return QRN_FAIL(QRN_E_BINARY_CONFIG,
                        "context binary made for architecture v%u, which is unknown here", b->arch);
    if (!d->chosen)
        made_for->soc = *from;
    else if (b->arch && d->soc.arch != b->arch)
        return QRN_FAIL(QRN_E_BINARY,
                        "context binary made for architecture v%u, the device is %s of v%u: "
                        "prepare the model for this device, or choose another one",
                        b->arch, d->soc.name, d->soc.arch);
    if (d->chosen)
        QRN_TRY(check_cores(b, &d->soc));
    return check_vtcm(b, &made_for->soc, strict);
}
