// SPDX-License-Identifier: MIT
#include "tools/sdk/extension_library.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <dlfcn.h>
#include <string.h>

static int take_interface(const char *library, qs_extension *e) {
    QuernNetRunExtensions_GetInterfaceFn_t get = NULL;
    void *symbol = dlsym(e->lib, "QuernNetRunExtensions_getInterface");
    memcpy(&get, &symbol, sizeof get);
    if (!get) {
        qt_error("%s has no QuernNetRunExtensions_getInterface: not an extension library of Quern "
                 "(" QS_DEFAULT_EXTENSIONS ")",
                 library);
        return QT_EXIT_REFUSED;
    }
    e->fn = get();
    if (e->fn->version == QUERN_NET_RUN_EXTENSIONS_VERSION)
        return QT_EXIT_OK;
    qt_error("%s: interface of version %u, expected %u", library, e->fn->version,
             QUERN_NET_RUN_EXTENSIONS_VERSION);
    return QT_EXIT_REFUSED;
}

int qs_extension_open(const char *library, const char *file, const char *perf_profile,
                      qs_extension *out) {
    qs_extension e = {0};
    *out = e;
    if (!library && !perf_profile)
        return QT_EXIT_OK;
    if (!library)
        library = QS_DEFAULT_EXTENSIONS;
    char path[1024];
    // Beside this program first, as backends are found.
    e.lib = strchr(library, '/') ? dlopen(library, RTLD_NOW | RTLD_LOCAL)
                                 : qc_library_open(library, path, sizeof path);
    if (!e.lib) {
        qt_error("extension library %s: %s", library, dlerror());
        return QT_EXIT_FAILURE;
    }
    int code = take_interface(library, &e);
    const QuernExtension_Options_t options = {file, perf_profile};
    if (code == QT_EXIT_OK && e.fn->create(&options, &e.handle) != QNN_SUCCESS) {
        qt_error("%s", e.fn->message());
        code = QT_EXIT_INPUT;
    }
    if (code == QT_EXIT_OK) {
        e.fn->getFacts(e.handle, &e.facts);
        *out = e;
    } else {
        qs_extension_close(&e);
    }
    return code;
}

void qs_extension_close(qs_extension *e) {
    if (e->handle)
        e->fn->free(e->handle);
    if (e->lib)
        dlclose(e->lib);
    *e = (qs_extension){0};
}

int qs_extension_attach(qs_extension *e, const qc_client *c) {
    if (!e->handle || e->fn->attach(e->handle, &c->qnn) == QNN_SUCCESS)
        return QT_EXIT_OK;
    qt_error("%s: %s", c->path, e->fn->message());
    return QT_EXIT_REFUSED;
}

void qs_extension_begin(const qs_extension *e, QuernExtension_Phase_t phase) {
    if (e->handle && e->fn->begin(e->handle, phase) != QNN_SUCCESS)
        qt_warn("%s", e->fn->message());
}

void qs_extension_end(const qs_extension *e, QuernExtension_Phase_t phase) {
    if (e->handle && e->fn->end(e->handle, phase) != QNN_SUCCESS)
        qt_warn("%s", e->fn->message());
}
