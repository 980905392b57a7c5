// SPDX-License-Identifier: MIT
//
// The library's reference to itself; see library.h. State of the library: that reference, which the
// loader counts.
#include "base/library.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic(void *) self; // the same for every hold

void qrn_library_hold(void) {
    Dl_info info;
    if (dladdr(&self, &info) && info.dli_fname)
        atomic_store(&self, dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD));
}

void qrn_library_release(void) {
    void *library = atomic_load(&self);
    if (library)
        dlclose(library);
}
