// SPDX-License-Identifier: MIT
//
// Devices: which OpenCL devices there are, device handles, and what clients get to know about them.
#include "backend/gpu/gpu.h"

#include "base/env.h"
#include "base/mem.h"

#include "GPU/QnnGpuDevice.h"
#include "QnnDevice.h"

#include <string.h>

// QUERN_GPU_DEVICE=none opens nothing: no devices, and no failure.
qrn_status qrn_gpu_list_devices(qrn_cl_device **list, uint32_t *n, uint32_t *chosen) {
    const char *wanted = qrn_env_get(QRN_ENV_GPU_DEVICE);
    *list = NULL;
    *n = *chosen = 0;
    if (wanted && strcmp(wanted, "none") == 0)
        return QRN_OK;
    QRN_TRY(qrn_cl_open());
    QRN_TRY(qrn_cl_devices(list, n));
    qrn_status s = qrn_cl_choose(*list, *n, NULL, chosen);
    if (s != QRN_OK) {
        qrn_free(*list);
        *list = NULL;
    }
    return s;
}

qrn_status qrn_gpu_device_create(qrn_api_device *d) {
    qrn_gpu_hardware *own = qrn_calloc(sizeof *own);
    qrn_cl_device *list;
    uint32_t n;
    if (!own)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a device");
    qrn_status s = qrn_gpu_list_devices(&list, &n, &own->index);
    if (s != QRN_OK) {
        qrn_free(own);
        return s == QRN_E_INIT ? QRN_E_HARDWARE : s;
    }
    qrn_free(list);
    own->is_default = true;
    d->impl = own;
    return QRN_OK;
}

qrn_status qrn_gpu_device_free(qrn_api_device *d) {
    qrn_free(d->impl);
    d->impl = NULL;
    return QRN_OK;
}

// One hardware device may be named: by its number in our answers.
qrn_status qrn_gpu_device_platform(qrn_api_device *d, const void *info) {
    const QnnDevice_PlatformInfoV1_t *p = &((const QnnDevice_PlatformInfo_t *)info)->v1;
    qrn_gpu_hardware *own = d->impl;
    qrn_cl_device *list;
    uint32_t n, chosen;
    if (p->numHwDevices != 1 || !p->hwDevices ||
        p->hwDevices[0].version != QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1)
        return QRN_FAIL(QRN_E_CONFIG,
                        "platform info: %u devices%s, allowed is one of version 1: the GPU backend "
                        "uses one device",
                        p->numHwDevices, p->hwDevices ? "" : " and no list of them");
    QRN_TRY(qrn_gpu_list_devices(&list, &n, &chosen));
    uint32_t id = p->hwDevices[0].v1.deviceId;
    const char *problem = id < n ? qrn_cl_device_problem(&list[id]) : "does not exist";
    qrn_free(list);
    if (problem)
        return QRN_FAIL(QRN_E_HARDWARE, "platform info: device %u %s (there are %u)", id, problem,
                        n);
    own->index = id;
    own->is_default = false;
    return QRN_OK;
}

// An answer: one block of memory with everything that it points to.
typedef struct item {
    QnnDevice_CoreInfo_t core;
    QnnGpuDevice_DeviceInfoExtension_t extension;
    char tier[sizeof(((qrn_cl_device *)0)->name)];
} item;

typedef struct info_block {
    QnnDevice_PlatformInfo_t info; // first: pointers to it are pointers to the block
    const void *before;            // former answer, or NULL
    QnnDevice_HardwareDeviceInfo_t *hardware;
    item *items;
} info_block;

static void fill(info_block *b, uint32_t k, uint32_t index, const qrn_cl_device *d, bool primary) {
    item *i = &b->items[k];
    strcpy(i->tier, strstr(d->name, "Adreno") ? d->tier : d->name);
    i->core = (QnnDevice_CoreInfo_t){.version = QNN_DEVICE_CORE_INFO_VERSION_1};
    i->extension.option = QNN_GPU_DEVICE_INFO_EXTENSION_V1;
    i->extension.deviceInfoV1.adrenoTier = i->tier;
    b->hardware[k] = (QnnDevice_HardwareDeviceInfo_t){
        .version = QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1,
        .v1 = {.deviceId = index,
               .deviceType = primary ? QNN_GPU_DEVICE_PRIMARY_GPU : QNN_GPU_DEVICE_SECONDARY_GPU,
               .numCores = 1,
               .cores = &i->core,
               .deviceInfoExtension = &i->extension}};
}

static bool is_listed(const qrn_api_device *d, const qrn_cl_device *dev, uint32_t i) {
    const qrn_gpu_hardware *own = d ? d->impl : NULL;
    return !qrn_cl_device_problem(dev) && (!own || own->is_default || own->index == i);
}

// Lists each usable device of the machine; of a device handle that names one, that one.
qrn_status qrn_gpu_platform_info(qrn_api_device *d, const void **info) {
    qrn_cl_device *list;
    uint32_t n, chosen, listed = 0;
    qrn_status s = qrn_gpu_list_devices(&list, &n, &chosen);
    if (s != QRN_OK)
        return s == QRN_E_INIT ? QRN_E_HARDWARE : s;
    info_block *b = qrn_calloc(sizeof *b);
    if (b) {
        b->hardware = qrn_calloc((n + 1u) * sizeof *b->hardware);
        b->items = qrn_calloc((n + 1u) * sizeof *b->items);
        b->before = NULL;
    }
    if (!b || !b->hardware || !b->items) {
        qrn_free(list);
        qrn_gpu_platform_info_free(b);
        return QRN_FAIL(QRN_E_MEM, "out of memory for a platform info");
    }
    for (uint32_t i = 0; i < n; i++)
        if (is_listed(d, &list[i], i))
            fill(b, listed++, i, &list[i], i == chosen);
    qrn_free(list);
    b->info = (QnnDevice_PlatformInfo_t){.version = QNN_DEVICE_PLATFORM_INFO_VERSION_1,
                                         .v1 = {.numHwDevices = listed, .hwDevices = b->hardware}};
    b->before = *info;
    *info = &b->info;
    return QRN_OK;
}

void qrn_gpu_platform_info_free(const void *info) {
    while (info) {
        info_block *b = (info_block *)info;
        info = b->before;
        qrn_free(b->hardware);
        qrn_free(b->items);
        qrn_free(b);
    }
}
