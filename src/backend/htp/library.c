// SPDX-License-Identifier: MIT
//
// One copy of the HTP library per process (HTP-LIB-02): the accelerator's state is the process's,
// and two copies would each keep their own. The copy that was loaded first works; a later one,
// whatever its file is called, refuses the calls that would start anything. The answer is kept
// until the loader adds or removes an object; that is the state of this file.
#include "backend/htp/htp.h"

#include "base/mem.h"

#include "HTP/QnnHtpCommon.h"

#include "QnnInterface.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

typedef Qnn_ErrorHandle_t (*get_providers)(const QnnInterface_t ***, uint32_t *);

// The loader's counts of objects that came and went.
typedef struct counts {
    unsigned long long adds, subs;
} counts;

// Objects that the loader listed before this one: names in a row, each terminated.
typedef struct census {
    char *names;
    size_t used, cap;
    bool out_of_memory;
} census;

static bool holds(const struct dl_phdr_info *o, const void *address) {
    uintptr_t at = (uintptr_t)address;
    for (int i = 0; i < o->dlpi_phnum; i++) {
        uintptr_t start = (uintptr_t)o->dlpi_addr + o->dlpi_phdr[i].p_vaddr;
        if (o->dlpi_phdr[i].p_type == PT_LOAD && at >= start &&
            at - start < o->dlpi_phdr[i].p_memsz)
            return true;
    }
    return false;
}

static int count_one(struct dl_phdr_info *o, size_t size, void *data) {
    (void)size;
    counts *c = data;
    c->adds = o->dlpi_adds;
    c->subs = o->dlpi_subs;
    return 1;
}

static int enter_one(struct dl_phdr_info *o, size_t size, void *data) {
    (void)size;
    census *c = data;
    if (holds(o, (const void *)(uintptr_t)qrn_htp_library_check))
        return 1;
    size_t n = strlen(o->dlpi_name) + 1;
    if (n == 1) // the program itself
        return 0;
    if (c->used + n > c->cap) {
        size_t cap = 2 * (c->used + n);
        char *grown = qrn_realloc(c->names, c->used, cap);
        if (!grown) {
            c->out_of_memory = true;
            return 1;
        }
        c->names = grown;
        c->cap = cap;
    }
    memcpy(c->names + c->used, o->dlpi_name, n);
    c->used += n;
    return 0;
}

static bool is_htp_library(const char *name) {
    void *object = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (!object)
        return false;
    get_providers get = (get_providers)dlsym(object, "QnnInterface_getProviders");
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    // An object that needs this library finds this library's function.
    bool found = get && get != QnnInterface_getProviders && get(&list, &n) == QNN_SUCCESS && n &&
                 list[0]->backendId == QNN_BACKEND_ID_HTP;
    dlclose(object);
    return found;
}

static qrn_status look_around(char *other, size_t size) {
    census c = {0};
    dl_iterate_phdr(enter_one, &c);
    other[0] = '\0';
    for (size_t i = 0; i < c.used && !other[0]; i += strlen(c.names + i) + 1)
        if (is_htp_library(c.names + i))
            snprintf(other, size, "%s", c.names + i);
    qrn_free(c.names);
    return c.out_of_memory ? QRN_FAIL(QRN_E_MEM, "out of memory for a list of libraries") : QRN_OK;
}

qrn_status qrn_htp_library_check(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static counts last;
    static char other[512];
    counts now = {0};
    dl_iterate_phdr(count_one, &now);
    pthread_mutex_lock(&lock);
    qrn_status s = QRN_OK;
    if (now.adds != last.adds || now.subs != last.subs) {
        s = look_around(other, sizeof other);
        if (s == QRN_OK)
            last = now;
    }
    if (s == QRN_OK && other[0])
        s = QRN_FAIL(QRN_E_LIBRARY,
                     "this process has loaded the HTP library already, from %s: a second copy "
                     "does not work (HTP-LIB-02)",
                     other);
    pthread_mutex_unlock(&lock);
    return s;
}
