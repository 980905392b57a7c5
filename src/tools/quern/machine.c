// SPDX-License-Identifier: MIT
//
// Reading facts about the machine from the kernel's files and about libraries by opening them.
#include "tools/quern/machine.h"

#include "base/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The value of "key : value" in a file; false when it is not there.
static bool read_field(const char *file, const char *key, char *out, size_t size) {
    FILE *f = fopen(file, "r");
    char line[512];
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, key, strlen(key)) != 0)
            continue;
        char *value = colon + 1 + strspn(colon + 1, " \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, size, "%s", value);
        found = true;
    }
    if (f)
        fclose(f);
    return found;
}

static double read_quota(void) {
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "r");
    char line[128], *end = NULL;
    bool read = f && fgets(line, sizeof line, f);
    if (f)
        fclose(f);
    double quota = read ? strtod(line, &end) : 0; // "max" is no number
    double period = read && end != line ? strtod(end, NULL) : 0;
    return period > 0 ? quota / period : 0;
}

void qt_machine_read(qt_machine *m) {
    *m = (qt_machine){0};
    if (!read_field("/proc/cpuinfo", "model name", m->cpu, sizeof m->cpu) &&
        !read_field("/proc/cpuinfo", "CPU part", m->cpu, sizeof m->cpu))
        snprintf(m->cpu, sizeof m->cpu, "unknown");
    qrn_cpu_isa_text(qrn_cpu_isa(), m->isa, sizeof m->isa);
    cpu_set_t set;
    m->cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
    m->quota = read_quota();
    char kb[64];
    if (read_field("/proc/meminfo", "MemAvailable", kb, sizeof kb))
        m->memory_free = 1024 * strtod(kb, NULL);
}

static void read_devices(const qc_client *c, qt_library *l) {
    const QnnDevice_PlatformInfo_t *info = NULL;
    if (!c->qnn.deviceGetPlatformInfo ||
        qc_check(c, c->qnn.deviceGetPlatformInfo(c->log, &info), "deviceGetPlatformInfo") !=
            QRN_OK ||
        !info)
        return;
    l->n_devices = info->v1.numHwDevices;
    if (c->qnn.deviceFreePlatformInfo)
        c->qnn.deviceFreePlatformInfo(c->log, info);
}

static void read_library(qt_library *l) {
    qc_client *c = NULL;
    // A recorder writes files as soon as it has a backend.
    const qc_options options = {.no_backend = strcmp(l->name, "saver") == 0};
    const qc_options table = {.no_backend = true};
    if (qc_open(l->name, &options, &c) != QRN_OK) {
        snprintf(l->error, sizeof l->error, "%.500s", qrn_message());
        if (qc_open(l->name, &table, &c) != QRN_OK)
            return; // else it is there: it has no device
    }
    l->found = true;
    l->version = c->version;
    snprintf(l->path, sizeof l->path, "%s", c->path);
    snprintf(l->provider, sizeof l->provider, "%s", c->provider ? c->provider : "");
    const char *id = NULL;
    if (c->qnn.backendGetBuildId &&
        qc_check(c, c->qnn.backendGetBuildId(&id), "backendGetBuildId") == QRN_OK && id)
        snprintf(l->build, sizeof l->build, "%s", id);
    l->is_quern = strstr(l->build, "quern") != NULL;
    const QnnBackend_OperationName_t *ops = NULL;
    if (c->backend && c->qnn.backendGetSupportedOperations)
        (void)qc_check(c, c->qnn.backendGetSupportedOperations(c->backend, &l->n_ops, &ops),
                       "backendGetSupportedOperations");
    if (c->backend && strcmp(l->name, "cpu") != 0) // which has none, and would log an error
        read_devices(c, l);
    qc_close(c);
}

static void read_system(qt_library *l) {
    qc_system *s = NULL;
    if (qc_system_open(NULL, &s) != QRN_OK) {
        snprintf(l->error, sizeof l->error, "%.500s", qrn_message());
        return;
    }
    l->found = true;
    l->version.backendApiVersion = s->version;
    snprintf(l->path, sizeof l->path, "%s", s->path);
    snprintf(l->provider, sizeof l->provider, "%s", s->provider ? s->provider : "");
    qc_system_close(s);
}

void qt_libraries_read(qt_library libs[QT_N_LIBRARIES]) {
    static const char *const names[QT_N_LIBRARIES][2] = {{"cpu", "libQnnCpu.so"},
                                                         {"htp", "libQnnHtp.so"},
                                                         {"gpu", "libQnnGpu.so"},
                                                         {"saver", "libQnnSaver.so"},
                                                         {"system", "libQnnSystem.so"}};
    for (size_t i = 0; i < QT_N_LIBRARIES; i++) {
        libs[i] = (qt_library){.name = names[i][0], .file = names[i][1]};
        if (i == QT_N_LIBRARIES - 1)
            read_system(&libs[i]);
        else
            read_library(&libs[i]);
    }
}
