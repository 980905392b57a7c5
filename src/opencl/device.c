// SPDX-License-Identifier: MIT
//
// Listing devices and choosing one.
#include "opencl/device.h"

#include "base/env.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLATFORMS 32
#define MAX_DEVICES 64 // of a platform

static void text(cl_device_id id, cl_uint what, char *dst, size_t size) {
    char all[16384] = ""; // not from the heap: a device is not old because memory is short
    dst[0] = 0;
    if (qrn_cl.clGetDeviceInfo(id, what, sizeof all - 1, all, NULL) == CL_SUCCESS)
        snprintf(dst, size, "%s", all);
}

static uint64_t number(cl_device_id id, cl_uint what, size_t size_bytes) {
    uint64_t v = 0; // little-endian machines only: smaller answers fill its low bytes
    return qrn_cl.clGetDeviceInfo(id, what, size_bytes, &v, NULL) == CL_SUCCESS ? v : 0;
}

static bool lists(cl_device_id id, const char *extension) {
    char all[8192], *p = all;
    size_t n = strlen(extension);
    text(id, CL_DEVICE_EXTENSIONS, all, sizeof all);
    while ((p = strstr(p, extension))) {
        bool starts = p == all || p[-1] == ' ';
        if (starts && (p[n] == ' ' || p[n] == 0))
            return true;
        p += n;
    }
    return false;
}

// "Adreno(TM) 830" is tier "830".
static void set_tier(qrn_cl_device *d) {
    const char *p = strstr(d->name, "Adreno");
    while (p && *p && !isdigit((unsigned char)*p))
        p++;
    snprintf(d->tier, sizeof d->tier, "%.15s", p && *p ? p : d->name);
    for (char *c = d->tier; p && *p && *c; c++)
        if (!isdigit((unsigned char)*c))
            *c = 0;
}

static void describe(qrn_cl_device *d) {
    text(d->id, CL_DEVICE_NAME, d->name, sizeof d->name);
    text(d->id, CL_DEVICE_VENDOR, d->vendor, sizeof d->vendor);
    text(d->id, CL_DEVICE_VERSION, d->version, sizeof d->version);
    text(d->id, CL_DEVICE_OPENCL_C_VERSION, d->c_version, sizeof d->c_version);
    text(d->id, CL_DRIVER_VERSION, d->driver, sizeof d->driver);
    if (sscanf(d->version, "OpenCL %u.%u", &d->major, &d->minor) != 2)
        d->major = d->minor = 0;
    d->type = (uint32_t)number(d->id, CL_DEVICE_TYPE, sizeof(cl_bitfield));
    d->n_units = (uint32_t)number(d->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint));
    d->clock_mhz = (uint32_t)number(d->id, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof(cl_uint));
    d->max_group = (size_t)number(d->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t));
    d->vector_width = (uint32_t)number(d->id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof(cl_uint));
    d->memory_bytes = number(d->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
    d->max_alloc_bytes = number(d->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong));
    d->local_bytes = number(d->id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong));
    d->align_bytes = (uint32_t)number(d->id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(cl_uint)) / 8;
    d->unified_memory = number(d->id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(cl_bool)) != 0;
    d->compiler = number(d->id, CL_DEVICE_COMPILER_AVAILABLE, sizeof(cl_bool)) != 0;
    d->available = number(d->id, CL_DEVICE_AVAILABLE, sizeof(cl_bool)) != 0;
    d->fp64 = lists(d->id, "cl_khr_fp64");
    d->fp16 = lists(d->id, "cl_khr_fp16");
    d->subgroups = lists(d->id, "cl_khr_subgroups");
    d->perf_hint = lists(d->id, "cl_qcom_perf_hint");
    d->context_priority = lists(d->id, "cl_qcom_priority_hint");
    d->queue_priority = lists(d->id, "cl_khr_priority_hints");
#define X(extension, result, name, params)                                                         \
    if (lists(d->id, extension))                                                                   \
        *(void **)&d->ext.name =                                                                   \
            qrn_cl.clGetExtensionFunctionAddressForPlatform(d->platform, #name);
    QRN_CL_EXTENSION_FUNCTIONS(X)
#undef X
    set_tier(d);
}

static qrn_status add_platform(cl_platform_id platform, qrn_cl_device **list, uint32_t *n) {
    cl_device_id ids[MAX_DEVICES];
    cl_uint count = 0;
    cl_int err = qrn_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &count);
    if (err != CL_SUCCESS) // mostly CL_DEVICE_NOT_FOUND: a platform without devices
        return QRN_OK;
    count = count < MAX_DEVICES ? count : MAX_DEVICES;
    qrn_cl_device *more = qrn_realloc(*list, *n * sizeof **list, (*n + count) * sizeof **list);
    if (!more)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a list of OpenCL devices");
    *list = more;
    for (cl_uint i = 0; i < count; i++) {
        qrn_cl_device *d = &more[(*n)++];
        *d = (qrn_cl_device){.platform = platform, .id = ids[i]};
        qrn_cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof d->platform_name - 1,
                                 d->platform_name, NULL);
        describe(d);
    }
    return QRN_OK;
}

qrn_status qrn_cl_devices(qrn_cl_device **list, uint32_t *n) {
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint count = 0;
    *list = NULL;
    *n = 0;
    cl_int err = qrn_cl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &count);
    if (err != CL_SUCCESS)
        return QRN_OK;
    for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; i++) {
        qrn_status s = add_platform(platforms[i], list, n);
        if (s != QRN_OK) {
            qrn_free(*list);
            *list = NULL;
            *n = 0;
            return s;
        }
    }
    return QRN_OK;
}

const char *qrn_cl_device_problem(const qrn_cl_device *d) {
    if (d->major < 1 || (d->major == 1 && d->minor < 2))
        return "is older than OpenCL 1.2";
    if (!d->available)
        return "is not available";
    if (!d->compiler)
        return "has no compiler";
    return NULL;
}

// Greater is better.
static uint64_t rank(const qrn_cl_device *d) {
    uint64_t power = (uint64_t)d->n_units * (d->clock_mhz ? d->clock_mhz : 1);
    uint64_t class = strstr(d->name, "Adreno")              ? 4
                     : d->type & CL_DEVICE_TYPE_GPU         ? 3
                     : d->type & CL_DEVICE_TYPE_ACCELERATOR ? 2
                                                            : 1;
    return (class << 48) + (power < (1ull << 48) ? power : (1ull << 48) - 1);
}

static bool contains(const char *text_, const char *part) {
    size_t n = strlen(part);
    for (; *text_; text_++)
        if (strncasecmp(text_, part, n) == 0)
            return true;
    return false;
}

static bool is_wanted(const qrn_cl_device *d, uint32_t i, const char *wanted) {
    char *end;
    unsigned long at = strtoul(wanted, &end, 10);
    return *end == 0 ? at == i : contains(d->name, wanted) || contains(d->platform_name, wanted);
}

qrn_status qrn_cl_choose(const qrn_cl_device *list, uint32_t n, const char *wanted,
                         uint32_t *index) {
    wanted = wanted ? wanted : qrn_env_get(QRN_ENV_GPU_DEVICE);
    uint32_t best = UINT32_MAX, bad = UINT32_MAX, seen = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (wanted && !is_wanted(&list[i], i, wanted))
            continue;
        seen++;
        if (qrn_cl_device_problem(&list[i]))
            bad = i;
        else if (best == UINT32_MAX || rank(&list[i]) > rank(&list[best]))
            best = i;
    }
    *index = best;
    if (best != UINT32_MAX)
        return QRN_OK;
    if (bad != UINT32_MAX)
        return QRN_FAIL(QRN_E_PLATFORM,
                        "OpenCL device '%s' (%s, driver %s) %s: needed are OpenCL "
                        "1.2 and its compiler; update the driver or choose another device with "
                        "QUERN_GPU_DEVICE",
                        list[bad].name, list[bad].version, list[bad].driver,
                        qrn_cl_device_problem(&list[bad]));
    if (wanted && n)
        return QRN_FAIL(QRN_E_INIT,
                        "none of the %u OpenCL devices is QUERN_GPU_DEVICE='%s': the "
                        "first is '%s' (`quern doctor` lists them)",
                        n, wanted, list[0].name);
    return QRN_FAIL(QRN_E_INIT,
                    "OpenCL (%s) has no device: no driver is registered; install one "
                    "for your GPU, or PoCL for the CPU (Debian: pocl-opencl-icd)",
                    qrn_cl_path());
}
