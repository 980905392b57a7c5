// SPDX-License-Identifier: MIT
//
// Opening OpenCL.
#include "opencl/loader.h"

#include "base/env.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

qrn_cl_api qrn_cl;

// State of the process: written under the lock until `opened`.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool opened;
static char path[512];

#define FUNCTIONS_MISSING "lacks a function of OpenCL 1.2"

static bool look_up(void *lib) {
#define X(result, name, params)                                                                    \
    *(void **)&qrn_cl.name = dlsym(lib, #name);                                                    \
    if (!qrn_cl.name)                                                                              \
        return false;
    QRN_CL_FUNCTIONS(X)
#undef X
#define X(result, name, params) *(void **)&qrn_cl.name = dlsym(lib, #name);
    QRN_CL_OPTIONAL_FUNCTIONS(X)
#undef X
    return true;
}

// Tries one file; `why` collects what went wrong.
static bool try_open(const char *name, char *why, size_t size) {
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (lib && look_up(lib)) {
        snprintf(path, sizeof path, "%s", name);
        return true;
    }
    size_t used = strlen(why);
    const char *reason = lib ? name : dlerror();
    snprintf(why + used, size - used, "%s%.200s%s", used ? "; " : "", reason,
             lib ? " " FUNCTIONS_MISSING : "");
    return false; // a library that lacks functions stays open: closing it may not be safe
}

static bool try_list(const char *list, char *why, size_t size) {
    char name[512];
    while (list && *list) {
        size_t n = strcspn(list, ":");
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), list);
        if (n && try_open(name, why, size))
            return true;
        list += n + (list[n] == ':');
    }
    return false;
}

qrn_status qrn_cl_open(void) {
    char why[700] = "";
    pthread_mutex_lock(&lock);
    opened = opened || try_open("libOpenCL.so.1", why, sizeof why) ||
             try_open("libOpenCL.so", why, sizeof why) ||
             try_list(qrn_env_get(QRN_ENV_GPU_LIBOPENCL), why, sizeof why);
    bool ok = opened;
    pthread_mutex_unlock(&lock);
    return ok ? QRN_OK
              : QRN_FAIL(QRN_E_INIT,
                         "no OpenCL library can be opened (%s): install an OpenCL driver or PoCL "
                         "(Debian: pocl-opencl-icd), or name the library in QUERN_GPU_LIBOPENCL",
                         why);
}

const char *qrn_cl_path(void) { return path; }

const char *qrn_cl_error(cl_int error) {
    static _Thread_local char number[32];
    switch (error) {
#define X(name, value)                                                                             \
    case value:                                                                                    \
        return #name;
        QRN_CL_ERRORS(X)
#undef X
    default:
        snprintf(number, sizeof number, "OpenCL error %d", error);
        return number;
    }
}

_Bool qrn_cl_is_lost(cl_int error) {
    return error == CL_OUT_OF_RESOURCES || error == CL_DEVICE_NOT_AVAILABLE ||
           error == CL_INVALID_COMMAND_QUEUE ||
           error == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}
