// SPDX-License-Identifier: MIT
//
// Quotas of CPU time as Linux shows them: cpu.max ("200000 100000", "max 100000") in version 2 of
// control groups, cpu.cfs_quota_us and cpu.cfs_period_us in version 1. A container often sees its
// own group as the root, while the list names it as the host does: the root counts always.
#include "base/quota.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The first two numbers of a file, of which `max` is none; false: there are less.
static bool read_numbers(const char *folder, const char *name, long *out, int n) {
    char path[PATH_MAX], text[64] = "", *at = text;
    int len = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = len > 0 && (size_t)len < sizeof path ? fopen(path, "re") : NULL;
    if (!f)
        return false;
    bool ok = fgets(text, sizeof text, f) != NULL;
    fclose(f);
    for (int i = 0; i < n && ok; i++) {
        char *end;
        out[i] = strtol(at, &end, 10);
        ok = end != at;
        at = end;
    }
    return ok;
}

// Whole CPUs of one group; 0: no quota.
static uint32_t cpus_of(const char *folder) {
    long n[2] = {0, 0};
    if (!read_numbers(folder, "cpu.max", n, 2) &&
        !(read_numbers(folder, "cpu.cfs_quota_us", &n[0], 1) &&
          read_numbers(folder, "cpu.cfs_period_us", &n[1], 1)))
        return 0;
    if (n[0] <= 0 || n[1] <= 0)
        return 0;
    long cpus = n[0] < n[1] ? 1 : n[0] / n[1];
    return cpus > INT_MAX ? 0 : (uint32_t)cpus;
}

static uint32_t smaller(uint32_t a, uint32_t b) { return !a || (b && b < a) ? b : a; }

// The group `path` below `root`, and those above it.
static uint32_t cpus_up_from(const char *root, const char *path) {
    char folder[PATH_MAX];
    uint32_t least = cpus_of(root);
    size_t base = strlen(root);
    int len = snprintf(folder, sizeof folder, "%s%s", root, path);
    if (path[0] != '/' || strstr(path, "/..") || len < 0 || (size_t)len >= sizeof folder)
        return least; // a group that is not to be seen from here
    for (char *end = folder + len; (size_t)(end - folder) > base; end = strrchr(folder, '/')) {
        *end = '\0';
        least = smaller(least, cpus_of(folder));
    }
    return least;
}

// Is "cpu" in a list like "cpu,cpuacct"?
static bool has_cpu(const char *list) {
    for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
        if (strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || at[3] == '\0'))
            return true;
    return false;
}

// One line of the list, "4:cpu,cpuacct:/group" or "0::/group".
static uint32_t cpus_of_line(const char *mount, char *line) {
    char root[PATH_MAX];
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return 0;
    *path++ = '\0';
    controllers++;
    path[strcspn(path, "\n")] = '\0';
    if (controllers[0] == '\0')
        return cpus_up_from(mount, path);
    if (!has_cpu(controllers))
        return 0;
    const char *const names[] = {controllers, "cpu"}; // the folder has one name, the other links
    uint32_t least = 0;
    for (int i = 0; i < 2; i++) {
        int len = snprintf(root, sizeof root, "%s/%s", mount, names[i]);
        if (len > 0 && (size_t)len < sizeof root)
            least = smaller(least, cpus_up_from(root, path));
    }
    return least;
}

uint32_t qrn_quota_cpus(const char *list, const char *mount) {
    char line[PATH_MAX + 256];
    uint32_t least = cpus_of(mount);
    FILE *f = fopen(list, "re");
    while (f && fgets(line, sizeof line, f))
        least = smaller(least, cpus_of_line(mount, line));
    if (f)
        fclose(f);
    return least;
}
