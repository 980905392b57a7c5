// SPDX-License-Identifier: MIT
//
// The provider name "QNN" for applications that link to onnxruntime. Published programs call
// SessionOptionsAppendExecutionProvider("QNN", ...), a name that only an onnxruntime with a QNN
// provider of its own knows; a plugin cannot add it. This library stands in front of onnxruntime
// (linked before it, or preloaded): its OrtGetApiBase hands out a copy of the host's function
// table in which four functions are ours. "QNN" then means our plugin beside this library; all
// else goes to onnxruntime unchanged.
#include "frontend/ort/ort_api.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
EXPORT const OrtApiBase *OrtGetApiBase(void);

#define QNN "QNNExecutionProvider"
#define PLUGIN "libonnxruntime_providers_quern.so"
#define MOST_SLOTS 1024 // far beyond what any version has; clients read what they were built with
#define MOST_OPTIONS 64

// Functions of the host that only this file calls.
typedef OrtStatus *(*append_fn)(OrtSessionOptions *, const char *, const char *const *,
                                const char *const *, size_t);
typedef OrtStatus *(*providers_fn)(char ***, int *);
typedef OrtStatus *(*release_providers_fn)(char **, int);
typedef OrtStatus *(*register_fn)(OrtEnv *, const char *, const char *);
typedef OrtStatus *(*devices_fn)(const OrtEnv *, const OrtEpDevice *const **, size_t *);
typedef OrtStatus *(*append_v2_fn)(OrtSessionOptions *, OrtEnv *, const OrtEpDevice *const *,
                                   size_t, const char *const *, const char *const *, size_t);
typedef const char *(*ep_name_fn)(const OrtEpDevice *);
enum {
    SLOT_PROVIDERS = 125,
    SLOT_RELEASE_PROVIDERS = 126,
    SLOT_APPEND = 216,
    SLOT_REGISTER = 301,
    SLOT_DEVICES = 303,
    SLOT_APPEND_V2 = 304,
    SLOT_EP_NAME = 312
};

static const OrtApiBase *host_base; // onnxruntime's own
static const OrtTable *host;        // its table of functions
static OrtApiBase base;
static union {
    void (*slot[MOST_SLOTS])(void);
    OrtTable table;
} copy;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards all of these
static OrtEnv *held; // a use of the process's environment, until the application ends its own
// Guards held; taken before `lock`, as onnxruntime may ask for the table while it loads the plugin.
static pthread_mutex_t env_lock = PTHREAD_MUTEX_INITIALIZER;

#define HOST(type, at) ((type)host->slot[at])

static OrtStatus *fail(const char *text) {
    return HOST(ort_CreateStatus_fn, ORT_SLOT_CreateStatus)(ORT_FAIL, text);
}

// --- the provider's device

// The first device of the provider, or NULL.
static OrtStatus *find_device(OrtEnv *env, const OrtEpDevice **found) {
    const OrtEpDevice *const *list = NULL;
    size_t n = 0;
    OrtStatus *s = HOST(devices_fn, SLOT_DEVICES)(env, &list, &n);
    *found = NULL;
    for (size_t i = 0; !s && !*found && i < n; i++)
        if (!strcmp(HOST(ep_name_fn, SLOT_EP_NAME)(list[i]), QNN))
            *found = list[i];
    return s;
}

// The plugin in the folder of this library.
static int plugin_path(char *path, size_t size) {
    Dl_info self;
    if (!dladdr((const void *)&host_base, &self) || !self.dli_fname)
        return 0;
    const char *end = strrchr(self.dli_fname, '/');
    int folder = end ? (int)(end + 1 - self.dli_fname) : 0;
    int n = snprintf(path, size, "%.*s%s", folder, self.dli_fname, PLUGIN);
    return n > 0 && (size_t)n < size;
}

static OrtStatus *open_device(const OrtEpDevice **found) {
    char path[4096];
    OrtStatus *s = NULL;
    // There is one environment in a process: this counts a use of it, or makes it where the
    // application has not done so yet.
    if (!held)
        s = HOST(ort_CreateEnv_fn, ORT_SLOT_CreateEnv)(ORT_LOG_WARNING, "quern", &held);
    if (s || (s = find_device(held, found)) || *found)
        return s;
    if (!plugin_path(path, sizeof path))
        return fail("QNN: the path of " PLUGIN " is too long");
    s = HOST(register_fn, SLOT_REGISTER)(held, QNN, path);
    if (!s)
        s = find_device(held, found);
    return s || *found ? s : fail("QNN: " PLUGIN " offers no device");
}

// --- functions of the table

static int is_qnn(const char *name) { return name && (!strcmp(name, "QNN") || !strcmp(name, QNN)); }

static OrtStatus *append(OrtSessionOptions *so, const char *name, const char *const *keys,
                         const char *const *values, size_t n) {
    if (!is_qnn(name))
        return HOST(append_fn, SLOT_APPEND)(so, name, keys, values, n);
    if (n > MOST_OPTIONS)
        return fail("QNN: more than 64 provider options");
    const char *k[MOST_OPTIONS + 1], *v[MOST_OPTIONS + 1];
    int chosen = 0;
    for (size_t i = 0; i < n; i++) {
        k[i] = keys[i], v[i] = values[i];
        chosen |= keys[i] && (!strcmp(keys[i], "backend_path") || !strcmp(keys[i], "backend_type"));
    }
    if (!chosen)
        k[n] = "backend_type", v[n++] = "htp"; // the public provider's default
    pthread_mutex_lock(&env_lock);
    const OrtEpDevice *device = NULL;
    OrtStatus *s = open_device(&device);
    if (!s)
        s = HOST(append_v2_fn, SLOT_APPEND_V2)(so, held, &device, 1, k, v, n);
    pthread_mutex_unlock(&env_lock);
    return s;
}

static void release_env(OrtEnv *env) {
    pthread_mutex_lock(&env_lock);
    OrtEnv *ours = held;
    held = NULL;
    pthread_mutex_unlock(&env_lock);
    if (ours)
        HOST(ort_ReleaseEnv_fn, ORT_SLOT_ReleaseEnv)(ours);
    HOST(ort_ReleaseEnv_fn, ORT_SLOT_ReleaseEnv)(env);
}

static OrtStatus *release_providers(char **names, int n) {
    for (int i = 0; names && i < n; i++)
        free(names[i]);
    free(names);
    return NULL;
}

// The host's list with ours in front, where it is not in it.
static OrtStatus *available(char ***out, int *n_out) {
    char **theirs = NULL;
    int n = 0, at = 0, known = 0;
    OrtStatus *s = HOST(providers_fn, SLOT_PROVIDERS)(&theirs, &n);
    if (s)
        return s;
    for (int i = 0; i < n; i++)
        known |= !strcmp(theirs[i], QNN);
    char **list = calloc((size_t)n + 1, sizeof *list);
    if (list && !known)
        list[at++] = strdup(QNN);
    for (int i = 0; list && i < n; i++)
        list[at++] = strdup(theirs[i]);
    s = HOST(release_providers_fn, SLOT_RELEASE_PROVIDERS)(theirs, n);
    int whole = list != NULL;
    for (int i = 0; list && i < at; i++)
        whole &= list[i] != NULL;
    if (s || !whole) {
        release_providers(list, at);
        return s ? s : fail("out of memory");
    }
    *out = list, *n_out = at;
    return NULL;
}

// --- the table

typedef struct extent {
    uintptr_t at, end;
} extent;

// Sets the end of the loaded segment that the address lies in.
static int find_end(struct dl_phdr_info *info, size_t size, void *out) {
    extent *e = out;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t to = from + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && e->at >= from && e->at < to)
            e->end = to;
    }
    return e->end != 0;
}

// How many functions the host's table has is not said anywhere, and an application reads those of
// the version it was built with. So all is copied that lies behind the table in its segment: what
// is no function any more, nobody calls. 0 where the table is not in a library.
static int copy_table(void) {
    extent e = {(uintptr_t)host, 0};
    dl_iterate_phdr(find_end, &e);
    size_t n = (e.end - e.at) / sizeof host->slot[0];
    if (!e.end || n <= SLOT_EP_NAME)
        return 0;
    memcpy(copy.slot, host->slot, (n < MOST_SLOTS ? n : MOST_SLOTS) * sizeof host->slot[0]);
    copy.slot[ORT_SLOT_ReleaseEnv] = (void (*)(void))release_env;
    copy.slot[SLOT_PROVIDERS] = (void (*)(void))available;
    copy.slot[SLOT_RELEASE_PROVIDERS] = (void (*)(void))release_providers;
    copy.slot[SLOT_APPEND] = (void (*)(void))append;
    return 1;
}

// An onnxruntime before plugins gets no "QNN" from us: its own table, and its own error.
static const OrtTable *get_api(uint32_t version) {
    const OrtTable *table = host_base->GetApi(version);
    pthread_mutex_lock(&lock);
    if (table && !host) {
        const OrtTable *newest = host_base->GetApi(ORT_API_LEAST);
        if (newest == table) {
            host = table;
            if (!copy_table())
                host = NULL;
        }
    }
    int ours = table && table == host;
    pthread_mutex_unlock(&lock);
    return ours ? &copy.table : table;
}

// Without an onnxruntime behind this library there is no API of any version.
static const OrtTable *no_api(uint32_t version) {
    (void)version;
    return NULL;
}
static const char *no_version(void) { return "libonnxruntime.so.1 is not loaded"; }

const OrtApiBase *OrtGetApiBase(void) {
    typedef const OrtApiBase *(*base_fn)(void);
    pthread_mutex_lock(&lock);
    if (!host_base) {
        base_fn next = (base_fn)dlsym(RTLD_NEXT, "OrtGetApiBase");
        void *library = next ? NULL : dlopen("libonnxruntime.so.1", RTLD_NOW);
        if (library)
            next = (base_fn)dlsym(library, "OrtGetApiBase");
        host_base = next ? next() : NULL;
        base = host_base ? (OrtApiBase){get_api, host_base->GetVersionString}
                         : (OrtApiBase){no_api, no_version};
    }
    pthread_mutex_unlock(&lock);
    return &base;
}
