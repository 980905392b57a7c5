// SPDX-License-Identifier: MIT
//
// The plugin's two entry points and the factory: what the host learns about the provider and the
// devices it offers.
#include "frontend/ort/ep.h"

#include "frontend/ort/custom_ops.h"
#include "frontend/ort/memory.h"

#include "base/mem.h"

#define VENDOR_ID 0x4d4f4351u // "QCOM", as the public provider has it

#define EXPORT __attribute__((visibility("default")))
EXPORT OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base,
                                    const OrtLogger *logger, OrtEpFactory **out, size_t max,
                                    size_t *n);
EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *f);

static const char *get_name(const OrtEpFactory *f) { return ((const qe_factory *)f)->name; }

static const char *get_vendor(const OrtEpFactory *f) {
    (void)f;
    return "Quern";
}

static uint32_t get_vendor_id(const OrtEpFactory *f) {
    (void)f;
    return VENDOR_ID;
}

static const char *get_version(const OrtEpFactory *f) {
    (void)f;
    return QUERN_VERSION;
}

static qrn_status add_device(OrtEpFactory *f, const OrtHardwareDevice *d, OrtEpDevice **devices,
                             size_t max, size_t *n) {
    if (*n == max)
        return QRN_OK;
    QE_TRY(CreateEpDevice, f, d, NULL, NULL, &devices[*n]);
    OrtEpDevice *made = devices[(*n)++];
    if (ORT(HardwareDevice_Type)(d) != ORT_GPU) // an HTP may be driven through both others
        QE_TRY(EpDevice_AddAllocatorInfo, made, ((qe_factory *)f)->shared);
    return QRN_OK;
}

// A device that the host does not see: the processor stands for it.
static qrn_status add_virtual(OrtEpFactory *f, OrtHardwareDeviceType type, OrtEpDevice **devices,
                              size_t max, size_t *n) {
    OrtHardwareDevice *d = NULL;
    OrtKeyValuePairs *about = NULL;
    qe_factory *factory = (qe_factory *)f;
    if (*n == max || factory->made[type])
        return QRN_OK;
    ORT(CreateKeyValuePairs)(&about);
    ORT(AddKeyValuePair)(about, "is_virtual", "1");
    qrn_status s =
        qe_heard(ORT(CreateHardwareDevice)(type, VENDOR_ID, (uint32_t)type, "Quern", about, &d),
                 "CreateHardwareDevice");
    ORT(ReleaseKeyValuePairs)(about);
    QRN_TRY(s);
    factory->made[type] = d;
    return add_device(f, d, devices, max, n);
}

static qrn_status list_devices(OrtEpFactory *f, const OrtHardwareDevice *const *seen, size_t n_seen,
                               OrtEpDevice **devices, size_t max, size_t *n) {
    bool gpu = false, npu = false;
    for (size_t i = 0; i < n_seen; i++) {
        OrtHardwareDeviceType type = ORT(HardwareDevice_Type)(seen[i]);
        bool ours = ORT(HardwareDevice_VendorId)(seen[i]) == VENDOR_ID;
        if (type != ORT_CPU && !ours)
            continue;
        gpu |= type == ORT_GPU;
        npu |= type == ORT_NPU;
        QRN_TRY(add_device(f, seen[i], devices, max, n));
    }
    if (!npu && qe_library_there(QE_BACKEND_HTP))
        QRN_TRY(add_virtual(f, ORT_NPU, devices, max, n));
    if (!gpu && qe_library_there(QE_BACKEND_GPU))
        QRN_TRY(add_virtual(f, ORT_GPU, devices, max, n));
    return QRN_OK;
}

static OrtStatus *get_devices(OrtEpFactory *f, const OrtHardwareDevice *const *seen, size_t n_seen,
                              OrtEpDevice **devices, size_t max, size_t *n) {
    *n = 0;
    return qe_status(list_devices(f, seen, n_seen, devices, max, n));
}

static OrtStatus *create_ep(OrtEpFactory *f, const OrtHardwareDevice *const *devices,
                            const OrtKeyValuePairs *const *metadata, size_t n,
                            const OrtSessionOptions *options, const OrtLogger *log, OrtEp **out) {
    qe_ep *ep = NULL;
    (void)metadata;
    *out = NULL;
    qrn_status s = qe_ep_create((qe_factory *)f, devices, n, options, log, &ep);
    if (s == QRN_OK)
        *out = &ep->base;
    return qe_status(s);
}

static void release_ep(OrtEpFactory *f, OrtEp *ep) {
    (void)f;
    qe_ep_free((qe_ep *)ep);
}

static OrtStatus *create_transfer(OrtEpFactory *f, OrtDataTransferImpl **out) {
    (void)f;
    *out = NULL;
    return NULL;
}

static OrtStatus *create_allocator(OrtEpFactory *f, const OrtMemoryInfo *info,
                                   const OrtKeyValuePairs *options, OrtAllocator **out) {
    (void)info, (void)options; // there is one kind
    return qe_memory_allocator(((qe_factory *)f)->shared, out);
}

static void release_allocator(OrtEpFactory *f, OrtAllocator *a) {
    (void)f;
    qe_memory_allocator_free(a);
}

static bool is_stream_aware(const OrtEpFactory *f) {
    (void)f;
    return false;
}

static OrtStatus *n_domains(OrtEpFactory *f, size_t *n) {
    *n = qe_custom_ops_domains(((qe_factory *)f)->ops, NULL, 0);
    return NULL;
}

static OrtStatus *get_domains(OrtEpFactory *f, OrtCustomOpDomain **out, size_t n) {
    qe_custom_ops_domains(((qe_factory *)f)->ops, out, n);
    return NULL;
}

static const OrtEpFactory callbacks = {
    .version = ORT_API_WANTED,
    .GetName = get_name,
    .GetVendor = get_vendor,
    .GetVendorId = get_vendor_id,
    .GetVersion = get_version,
    .GetSupportedDevices = get_devices,
    .CreateEp = create_ep,
    .ReleaseEp = release_ep,
    .ValidateCompiledModelCompatibilityInfo = qe_compat_check,
    .GetHardwareDeviceIncompatibilityDetails = qe_device_check,
    .CreateAllocator = create_allocator,
    .ReleaseAllocator = release_allocator,
    .CreateDataTransfer = create_transfer,
    .IsStreamAware = is_stream_aware,
    .GetNumCustomOpDomains = n_domains,
    .GetCustomOpDomains = get_domains,
};

// What was made for a factory; a half-made one is fine.
static void free_factory(qe_factory *f) {
    for (size_t i = 0; f && i < sizeof f->made / sizeof f->made[0]; i++)
        if (f->made[i])
            ORT(ReleaseHardwareDevice)(f->made[i]);
    if (f) {
        qe_custom_ops_free(f->ops);
        if (f->shared)
            ORT(ReleaseMemoryInfo)(f->shared);
        qrn_free(f->name);
    }
    qrn_free(f);
}

static qrn_status make_factory(const char *name, qe_factory **out) {
    qe_factory *f = qrn_calloc(sizeof *f);
    if (f)
        f->name = qrn_strdup(name);
    qrn_status s = f && f->name ? qe_memory_describe(&f->shared)
                                : QRN_FAIL(QRN_E_MEM, "provider '%s': no memory", name);
    if (s == QRN_OK)
        s = qe_custom_ops_make(f->name, &f->ops);
    if (s != QRN_OK) {
        free_factory(f);
        return s;
    }
    *out = f;
    return QRN_OK;
}

OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                             OrtEpFactory **out, size_t max, size_t *n) {
    *n = 0;
    OrtStatus *old = qe_host_take(base, logger);
    if (old || !qe_the_host.api)
        return old;
    if (max < 1)
        return qe_status(QRN_FAIL(QRN_E_ARGUMENT, "there is no room for a factory"));
    qe_factory *f = NULL;
    qrn_status s = make_factory(name, &f);
    if (s != QRN_OK)
        return qe_status(s);
    f->base = callbacks;
    out[0] = &f->base;
    *n = 1;
    return NULL;
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *factory) {
    qe_share_end();
    free_factory((qe_factory *)factory);
    return NULL;
}
