// SPDX-License-Identifier: MIT
//
// The entry point of composeGraphs, which takes a whole QnnInterface_t by value. Its length is that
// of the caller's headers: 592 bytes in one client, 640 in another. Where it goes by reference
// (AArch64) that does no harm. On x86-64 it lies on the stack, and the two pointers behind it move
// with its length, which nothing tells. So this entry point reads the words of the stack itself.
#include "system/dlc.h"

#include "base/stack_table.h"

#include <string.h>

static Qnn_ErrorHandle_t compose(QnnSystemDlc_Handle_t dlc, const qrn_compose *how,
                                 QnnSystemContext_GraphInfo_t **graphs, uint32_t *n) {
    QRN_API_CALL;
    const qrn_system_dlc *d = qrn_pin(QRN_KIND_DLC, dlc);
    if (!d)
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "composeGraphs: not a DLC handle"));
    if (!graphs || !n)
        return qrn_dlc_end(QRN_FAIL(QRN_E_ARGUMENT, "composeGraphs: no place for the graphs"));
    if (how->n_configs && !how->configs)
        return qrn_dlc_end(
            QRN_FAIL(QRN_E_ARGUMENT, "composeGraphs: %u options, but no list", how->n_configs));
    if (how->version < QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1 ||
        how->version > QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3)
        return qrn_dlc_end(QRN_FAIL(QRN_E_ARGUMENT,
                                    "composeGraphs: version %d of graph descriptions, allowed 1, "
                                    "2, 3",
                                    (int)how->version));
    if (!d->dlc || d->dlc->n_graphs == 0)
        return qrn_dlc_end(QRN_FAIL(QRN_E_ARGUMENT, "composeGraphs: the DLC file has no graphs"));
    qrn_status s = qrn_file_check(&d->file);
    if (s == QRN_OK)
        s = qrn_dlc_compose(d->dlc, how, graphs, n);
    return qrn_dlc_end(s);
}

#if defined(__x86_64__)

#define WORD 8u
#define HEAD_WORDS (offsetof(QnnInterface_t, QNN_INTERFACE_VER_NAME) / WORD)

// Gathers the struct; what the caller's headers do not have is NULL. False: it has no end.
static bool gather(va_list *args, QnnInterface_t *interface, uint64_t *first) {
    uint64_t words[sizeof *interface / WORD];
    if (!qrn_stack_table(args, HEAD_WORDS, words, sizeof words / WORD, first))
        return false;
    memcpy(interface, words, sizeof *interface);
    return true;
}

// The six arguments that are not on the stack, then those that are.
Qnn_ErrorHandle_t qrn_dlc_compose_any(QnnSystemDlc_Handle_t dlcHandle,
                                      const QnnSystemDlc_GraphConfigInfo_t **graphConfigs,
                                      uint32_t numGraphConfigs, Qnn_BackendHandle_t backend,
                                      Qnn_ContextHandle_t context,
                                      QnnSystemContext_GraphInfoVersion_t graphVersion, ...) {
    QnnInterface_t interface;
    uint64_t graphs = 0, n = 0;
    va_list args;
    va_start(args, graphVersion);
    bool good = gather(&args, &interface, &graphs);
    if (good)
        n = va_arg(args, uint64_t);
    va_end(args);
    if (!good)
        return qrn_dlc_end(
            QRN_FAIL(QRN_E_ARGUMENT, "composeGraphs: the table of the interface has no end"));
    const qrn_compose how = {graphConfigs, numGraphConfigs, backend,
                             context,      &interface,      graphVersion};
    return compose(dlcHandle, &how, (QnnSystemContext_GraphInfo_t **)(uintptr_t)graphs,
                   (uint32_t *)(uintptr_t)n);
}

#else

Qnn_ErrorHandle_t QnnSystemDlc_composeGraphs(
    QnnSystemDlc_Handle_t dlcHandle, const QnnSystemDlc_GraphConfigInfo_t **graphConfigs,
    const uint32_t numGraphConfigs, Qnn_BackendHandle_t backend, Qnn_ContextHandle_t context,
    QnnInterface_t backendInterface, QnnSystemContext_GraphInfoVersion_t graphVersion,
    QnnSystemContext_GraphInfo_t **graphs, uint32_t *numGraphs) {
    const qrn_compose how = {graphConfigs, numGraphConfigs,   backend,
                             context,      &backendInterface, graphVersion};
    return compose(dlcHandle, &how, graphs, numGraphs);
}

#endif
