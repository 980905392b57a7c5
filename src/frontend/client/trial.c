// SPDX-License-Identifier: MIT
//
// Trials: graphs that nobody runs. They are built in a context of their own, for the target of the
// client, so that the library's answers are those it would give to a graph that is kept.
#include "frontend/client/internal.h"

#include "Quern/QuernBackend.h"

// Says to Quern's libraries what the next contexts are for; other libraries do not know.
static bool set_trials(const qc_client *c, bool on) {
    QuernBackend_CustomConfig_t trials = {QUERN_BACKEND_CONFIG_MAGIC, QUERN_BACKEND_OPTION_TRIALS,
                                          on};
    QnnBackend_Config_t custom = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM,
                                  .customConfig = &trials};
    const QnnBackend_Config_t *configs[] = {&custom, NULL};
    return c->is_quern && c->qnn.backendSetConfig &&
           c->qnn.backendSetConfig(c->backend, configs) == QNN_SUCCESS;
}

qrn_status qc_trial_begin(qc_client *c, Qnn_ContextHandle_t *kept) {
    Qnn_ContextHandle_t scratch = NULL;
    bool trial = set_trials(c, true);
    Qnn_ErrorHandle_t code = c->qnn.contextCreate(c->backend, c->device, NULL, &scratch);
    if (trial)
        set_trials(c, false);
    QRN_TRY(qc_check(c, code, "contextCreate"));
    *kept = c->context;
    c->context = scratch;
    c->trial = trial;
    return QRN_OK;
}

void qc_trial_end(qc_client *c, Qnn_ContextHandle_t kept) {
    c->qnn.contextFree(c->context, NULL);
    c->context = kept;
    c->trial = false;
}
