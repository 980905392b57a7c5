// SPDX-License-Identifier: MIT
//
// quern doctor on OpenCL: the library, the drivers that are registered, the devices, which one the
// GPU backend uses and why, and a small graph on it. Who has no GPU has no problem: that OpenCL is
// missing is one only where a variable asks for it.
#include "tools/quern/doctor.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VENDORS "/etc/OpenCL/vendors"
#define INSTALL "install your GPU's OpenCL driver, or PoCL for the CPU (Debian: pocl-opencl-icd)"

static const char *wanted_device(void) {
    const char *v = secure_getenv("QUERN_GPU_DEVICE");
    return v && *v ? v : NULL;
}

static bool wants_none(void) {
    const char *v = wanted_device();
    return v && strcmp(v, "none") == 0;
}

// Names of the files by which drivers register themselves; false: none.
static bool list_drivers(char *out, size_t size) {
    DIR *dir = opendir(VENDORS);
    out[0] = '\0';
    for (struct dirent *e; dir && (e = readdir(dir));) {
        size_t n = strlen(e->d_name), used = strlen(out);
        if (n > 4 && strcmp(e->d_name + n - 4, ".icd") == 0)
            snprintf(out + used, size - used, "%s%.60s", used ? ", " : "", e->d_name);
    }
    if (dir)
        closedir(dir);
    return out[0] != '\0';
}

void qt_check_opencl(const qt_patient *p, qt_finding *f) {
    char drivers[256];
    bool registered = list_drivers(drivers, sizeof drivers);
    bool asked = (wanted_device() && !wants_none()) || secure_getenv("QUERN_GPU_LIBOPENCL");
    if (!*p->gpu.library)
        qt_find(f, asked ? QT_BAD : QT_GOOD, INSTALL, "%.400s", p->gpu.error);
    else if (!p->gpu.n)
        qt_find(f, asked ? QT_BAD : QT_DOUBTFUL, INSTALL, "%s opens but has no device; %s%s",
                p->gpu.library, registered ? "drivers in " VENDORS ": " : "no driver in " VENDORS,
                drivers);
    else
        qt_find(f, QT_GOOD, "", "%s opens%s%s", p->gpu.library,
                registered ? "; drivers in " VENDORS ": " : "", drivers);
}

static const char *kind_of(const qrn_cl_device *d) {
    return d->type & CL_DEVICE_TYPE_GPU           ? "GPU"
           : d->type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator"
           : qrn_cl_is_cpu(d)                     ? "CPU"
                                                  : "device";
}

static const char *why_chosen(const qt_patient *p) {
    const qrn_cl_device *d = &p->gpu.devices[p->gpu.chosen];
    return wanted_device()                ? "chosen by QUERN_GPU_DEVICE"
           : p->gpu.n == 1                ? "chosen: the only one"
           : strstr(d->name, "Adreno")    ? "chosen: an Adreno comes first"
           : d->type & CL_DEVICE_TYPE_GPU ? "chosen: the GPU with most units times clock"
           : qrn_cl_is_cpu(d)             ? "chosen: there is no GPU or accelerator"
                                          : "chosen: there is no GPU";
}

void qt_check_device(const qt_patient *p, qt_finding *f) {
    const qt_gpu *g = &p->gpu;
    if (!g->n || wants_none()) {
        qt_find(f, QT_GOOD, "", "none, so --backend gpu %s",
                wants_none() ? "only compiles where QUERN_GPU_DEVICE is 'none'"
                             : "does not work; QUERN_GPU_DEVICE=none lets it compile");
        return;
    }
    const qrn_cl_device *d = &g->devices[f->index];
    f->more = f->index + 1 < g->n;
    const char *problem = qrn_cl_device_problem(d);
    const char *state = problem                 ? problem
                        : f->index == g->chosen ? why_chosen(p)
                                                : "usable: QUERN_GPU_DEVICE chooses it";
    bool used = f->index == g->chosen;
    qt_find(f, problem && g->chosen >= g->n ? QT_DOUBTFUL : QT_GOOD,
            problem ? "update its driver" : "",
            "%u: %s (%s, %s %s, driver %s, %u units, %llu MiB); %s%s", f->index, d->name,
            d->platform_name, kind_of(d), d->version, d->driver, d->n_units,
            (unsigned long long)(d->memory_bytes >> 20), problem ? "it " : "", state);
    if (!used && !problem && g->chosen >= g->n)
        qt_find(f, QT_BAD, "correct or unset QUERN_GPU_DEVICE", "%.500s", g->error);
}

void qt_check_gpu_result(const qt_patient *p, qt_finding *f) {
    if (p->gpu.chosen >= p->gpu.n)
        qt_find(f, QT_GOOD, "", "not tried: there is no device");
    else
        qt_self_test("gpu", f);
}
