// SPDX-License-Identifier: MIT
//
// Platform infos: what the library answers about a device, and what a client may say about the one
// it wants. An answer is one block of memory that holds everything it points to.
#include "backend/htp/device/device.h"

#include "base/mem.h"

#include "HTP/QnnHtpDevice.h"

// One hardware device, number 0, with all its cores.
typedef struct info_block {
    QnnDevice_PlatformInfo_t info; // first: pointers to it are pointers to the block
    QnnDevice_HardwareDeviceInfo_t device;
    QnnHtpDevice_DeviceInfoExtension_t extension;
    const void *before; // former description of the device, or NULL
    QnnDevice_CoreInfo_t cores[];
} info_block;

// Without a device: the newest one, which is what a client that has just made one wants to know of.
qrn_status qrn_htp_platform_info(qrn_api_device *d, const void **info) {
    qrn_htp_device newest;
    const qrn_htp_device *facts = d ? d->impl : &newest;
    if (!d)
        qrn_log_release(qrn_htp_newest_device(&newest));
    uint32_t n_cores = facts->soc.cores;
    info_block *b = qrn_calloc(sizeof *b + n_cores * sizeof b->cores[0]);
    if (!b)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a platform info");
    for (uint32_t i = 0; i < n_cores; i++)
        b->cores[i] = (QnnDevice_CoreInfo_t){
            .version = QNN_DEVICE_CORE_INFO_VERSION_1,
            .v1 = {.coreId = i,
                   .coreType = facts->hpass ? QNN_HTP_CORE_TYPE_HPASS : QNN_HTP_CORE_TYPE_NSP}};
    b->extension.devType = QNN_HTP_DEVICE_TYPE_ON_CHIP;
    b->extension.onChipDevice = (QnnHtpDevice_OnChipDeviceInfoExtension_t){
        .vtcmSize = facts->soc.vtcm_mb,
        .socModel = facts->soc.id,
        .signedPdSupport = facts->soc.signed_pd,
        .dlbcSupport = facts->soc.dlbc,
        .arch = (QnnHtpDevice_Arch_t)facts->soc.arch,
    };
    b->device =
        (QnnDevice_HardwareDeviceInfo_t){.version = QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1,
                                         .v1 = {.deviceType = QNN_HTP_DEVICE_TYPE_ON_CHIP,
                                                .numCores = n_cores,
                                                .cores = b->cores,
                                                .deviceInfoExtension = &b->extension}};
    b->info = (QnnDevice_PlatformInfo_t){.version = QNN_DEVICE_PLATFORM_INFO_VERSION_1,
                                         .v1 = {.numHwDevices = 1, .hwDevices = &b->device}};
    b->before = *info;
    *info = &b->info;
    return QRN_OK;
}

void qrn_htp_platform_info_free(const void *info) {
    while (info) {
        info_block *b = (info_block *)info;
        info = b->before;
        qrn_free(b);
    }
}

static qrn_status read_cores(qrn_htp_wish *w, const QnnDevice_HardwareDeviceInfoV1_t *device) {
    uint32_t n = device->numCores, n_nsp = 0, seen = 0;
    if (!n || n > QRN_HTP_CORES_MAX || !device->cores)
        return QRN_FAIL(QRN_E_CONFIG, "platform info: device 0 has %u cores%s, allowed 1 to %u", n,
                        device->cores ? "" : " and no list of them", QRN_HTP_CORES_MAX);
    for (uint32_t i = 0; i < n; i++) {
        const QnnDevice_CoreInfo_t *core = &device->cores[i];
        if (core->version != QNN_DEVICE_CORE_INFO_VERSION_1)
            return QRN_FAIL(QRN_E_CONFIG, "platform info: core %u is not of version 1", i);
        if (core->v1.coreType >= QNN_HTP_CORE_TYPE_MAX)
            return QRN_FAIL(QRN_E_CONFIG,
                            "platform info: core %u is of type %u, allowed NSP=0 and "
                            "HPASS=1",
                            core->v1.coreId, core->v1.coreType);
        if (core->v1.coreId >= QRN_HTP_CORES_MAX || (seen & 1u << core->v1.coreId))
            return QRN_FAIL(QRN_E_CONFIG,
                            "platform info: core number %u is too large or given "
                            "twice",
                            core->v1.coreId);
        seen |= 1u << core->v1.coreId;
        n_nsp += core->v1.coreType == QNN_HTP_CORE_TYPE_NSP;
    }
    w->hpass = n_nsp == 0; // graphs run on NSP cores when there are any
    w->n_cores = n_nsp ? n_nsp : n;
    return QRN_OK;
}

static qrn_status read_extension(qrn_htp_wish *w,
                                 const QnnHtpDevice_DeviceInfoExtension_t *extension) {
    w->described = extension != NULL;
    if (!extension)
        return QRN_OK;
    if (extension->devType != QNN_HTP_DEVICE_TYPE_ON_CHIP)
        return QRN_FAIL(QRN_E_HARDWARE,
                        "platform info: device type %u is not here, only ON_CHIP=0 is",
                        (unsigned)extension->devType);
    const QnnHtpDevice_OnChipDeviceInfoExtension_t *e = &extension->onChipDevice;
    if (e->vtcmSize > 64)
        return QRN_FAIL(QRN_E_CONFIG,
                        "platform info: %zu MB of VTCM, allowed 1 to 64, or 0 for "
                        "what the SoC has",
                        e->vtcmSize);
    if (e->arch != QNN_HTP_DEVICE_ARCH_NONE && !qrn_soc_of_arch((uint32_t)e->arch))
        return QRN_FAIL(QRN_E_CONFIG, "platform info: unknown architecture %u", (unsigned)e->arch);
    w->info_soc = e->socModel;
    w->info_arch = (uint32_t)e->arch;
    w->info_vtcm_mb = (uint32_t)e->vtcmSize;
    w->info_signed_pd = e->signedPdSupport;
    w->info_dlbc = e->dlbcSupport;
    return QRN_OK;
}

qrn_status qrn_htp_wish_platform(qrn_htp_wish *w, const void *info) {
    const QnnDevice_PlatformInfoV1_t *p = &((const QnnDevice_PlatformInfo_t *)info)->v1;
    if (p->numHwDevices != 1 || !p->hwDevices)
        return QRN_FAIL(QRN_E_CONFIG, "platform info: %u devices%s, there is one", p->numHwDevices,
                        p->hwDevices ? "" : " and no list of them");
    const QnnDevice_HardwareDeviceInfo_t *device = &p->hwDevices[0];
    if (device->version != QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1)
        return QRN_FAIL(QRN_E_CONFIG, "platform info: the device is not of version 1");
    if (device->v1.deviceId != 0)
        return QRN_FAIL(QRN_E_CONFIG, "platform info: device number %u, there is only 0",
                        device->v1.deviceId);
    QRN_TRY(read_cores(w, &device->v1));
    return read_extension(w, device->v1.deviceInfoExtension);
}
