// SPDX-License-Identifier: MIT
#include "tools/quern/rpcmem.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define HEAP_SYSTEM 25 // the heap that every client of the library names
#define FLAGS 1u

static void take(void *lib, const char *name, void *out) {
    void *symbol = dlsym(lib, name);
    memcpy(out, &symbol, sizeof symbol);
}

static void *open_library(const qc_client *c) {
    char path[1100];
    const char *slash = strrchr(c->path, '/');
    snprintf(path, sizeof path, "%.*s" QT_RPCMEM_LIBRARY, slash ? (int)(slash + 1 - c->path) : 0,
             c->path);
    errno = 0;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return lib || errno == ENOMEM ? lib : dlopen(QT_RPCMEM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

qrn_status qt_rpcmem_open(const qc_client *c, qt_rpcmem *out) {
    *out = (qt_rpcmem){.lib = open_library(c)};
    if (!out->lib && errno == ENOMEM)
        return QRN_FAIL(QRN_E_MEM, "no memory to open " QT_RPCMEM_LIBRARY);
    if (!out->lib)
        return QRN_OK;
    take(out->lib, "rpcmem_alloc", &out->alloc);
    take(out->lib, "rpcmem_free", &out->free);
    take(out->lib, "rpcmem_to_fd", &out->to_fd);
    if (!out->alloc || !out->free || !out->to_fd)
        qt_rpcmem_close(out);
    return QRN_OK;
}

void qt_rpcmem_close(qt_rpcmem *m) {
    if (m->lib)
        dlclose(m->lib);
    *m = (qt_rpcmem){0};
}

void *qt_rpcmem_alloc(const qt_rpcmem *m, size_t bytes) {
    return bytes && bytes <= INT_MAX ? m->alloc(HEAP_SYSTEM, FLAGS, (int)bytes) : NULL;
}
