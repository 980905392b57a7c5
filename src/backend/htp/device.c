// SPDX-License-Identifier: MIT
//
// Devices: which chip is modelled.
#include "backend/htp/htp.h"

#include "base/mem.h"

static qrn_htp_device default_device(void) {
    return (qrn_htp_device){.soc = *qrn_soc_by_id(QRN_SOC_DEFAULT)};
}

const qrn_htp_device *qrn_htp_device_of(const qrn_api_context *c) {
    static qrn_htp_device fallback; // never differs from default_device(): no race to speak of
    if (c && c->device && c->device->impl)
        return c->device->impl;
    if (!fallback.soc.id)
        fallback = default_device();
    return &fallback;
}

qrn_status qrn_htp_device_create(qrn_api_device *d) {
    qrn_htp_device *impl = qrn_calloc(sizeof *impl);
    if (!impl)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a device");
    *impl = default_device();
    d->impl = impl;
    return QRN_OK;
}

qrn_status qrn_htp_device_free(qrn_api_device *d) {
    qrn_free(d->impl);
    d->impl = NULL;
    return QRN_OK;
}

qrn_status qrn_htp_device_config(qrn_api_device *d, const void *custom) {
    (void)d;
    (void)custom;
    return QRN_FAIL(QRN_E_UNSUPPORTED, "device options are not supported");
}
