// SPDX-License-Identifier: MIT
//
// Files that are read. An empty file gets a static byte, since nothing can be mapped.
#include "base/file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Up to here a copy is no slower than a mapping: 7 against 12 us at 64 KiB, 146 against 28 us at
// 256 KiB (a virtual machine on Zen 4, where a page fault is dear).
#define COPY_BYTES ((off_t)64 * 1024)
// Two writes within one tick of the clock that stamps files look like one; a tick is 10 ms at most.
#define TICK_NS 20000000

static _Alignas(QRN_ALIGN) const char empty[QRN_ALIGN];

struct qrn_file_guard {
    int fd;
    struct stat was;
    const char *data; // range of our own mapping, or NULL
    size_t size;
    char path[];
};

// --- guards

static bool same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// The time of the last change of the inode moves when the file is renamed, removed or given another
// mode, too. When nothing of that kind shows, somebody has set the file's times back.
static bool is_same(const struct stat *a, const struct stat *b) {
    return a->st_size == b->st_size && same_time(a->st_mtim, b->st_mtim) &&
           (same_time(a->st_ctim, b->st_ctim) || a->st_nlink != b->st_nlink ||
            a->st_mode != b->st_mode || a->st_uid != b->st_uid || a->st_gid != b->st_gid);
}

static qrn_status changed(const char *path, const struct stat *was, const struct stat *now) {
    return QRN_FAIL(QRN_E_BINARY,
                    "%.800s was changed while it was in use (%lld bytes, now %lld): load it again, "
                    "and replace files by renaming",
                    path, (long long)was->st_size, (long long)now->st_size);
}

qrn_status qrn_file_guard_check(const qrn_file_guard *g) {
    struct stat now;
    if (!g)
        return QRN_OK;
    if (fstat(g->fd, &now) != 0)
        return QRN_FAIL(QRN_E_BINARY, "%.800s: %s", g->path, strerror(errno));
    return is_same(&g->was, &now) ? QRN_OK : changed(g->path, &g->was, &now);
}

// Takes the descriptor over.
static qrn_status new_guard(const char *path, int fd, const struct stat *st, qrn_file_guard **out) {
    size_t n = strlen(path) + 1;
    qrn_file_guard *g = qrn_calloc(sizeof *g + n);
    if (!g) {
        close(fd);
        return QRN_FAIL(QRN_E_MEM, "%.800s: out of memory", path);
    }
    g->fd = fd;
    g->was = *st;
    memcpy(g->path, path, n);
    *out = g;
    return QRN_OK;
}

void qrn_file_guard_free(qrn_file_guard *g) {
    if (g)
        close(g->fd);
    qrn_free(g);
}

// --- mappings of this process, for a handler of SIGBUS

#define MAX_LISTED 64
static _Atomic(const qrn_file_guard *) listed[MAX_LISTED];

static void list_replace(const qrn_file_guard *from, const qrn_file_guard *to) {
    for (size_t i = 0; i < MAX_LISTED; i++) {
        const qrn_file_guard *expected = from;
        if (atomic_compare_exchange_strong(&listed[i], &expected, to))
            return;
    }
}

const char *qrn_file_at(const void *address) {
    for (size_t i = 0; i < MAX_LISTED; i++) {
        const qrn_file_guard *g = atomic_load(&listed[i]);
        uintptr_t at = (uintptr_t)address, from = g ? (uintptr_t)g->data : 0;
        if (g && at >= from && at - from < g->size)
            return g->path;
    }
    return NULL;
}

// --- opening

static qrn_status read_all(const char *path, int fd, const struct stat *st, qrn_file *out) {
    size_t size = (size_t)st->st_size, at = 0;
    struct stat now;
    char *copy = qrn_alloc(size);
    if (!copy)
        return QRN_FAIL(QRN_E_MEM, "%.800s: out of memory for %zu bytes", path, size);
    ssize_t n = 1;
    while (at < size && n > 0) {
        n = read(fd, copy + at, size - at);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            at += (size_t)n;
    }
    qrn_status s = QRN_OK;
    if (n < 0 || fstat(fd, &now) != 0)
        s = QRN_FAIL(QRN_E_MAPPING, "%.800s: %s", path, strerror(errno));
    else if (at < size || !is_same(st, &now))
        s = changed(path, st, &now);
    if (s == QRN_OK)
        *out = (qrn_file){copy, size, NULL};
    else
        qrn_free(copy);
    return s;
}

static qrn_status map_all(const char *path, int fd, const struct stat *st, qrn_file *out) {
    qrn_file_guard *g = NULL;
    QRN_TRY(new_guard(path, fd, st, &g));
    void *p = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
        qrn_status s = QRN_FAIL(QRN_E_MAPPING, "%.800s: %s", path, strerror(errno));
        qrn_file_guard_free(g);
        return s;
    }
    g->data = p;
    g->size = (size_t)st->st_size;
    list_replace(NULL, g);
    *out = (qrn_file){p, g->size, g};
    return QRN_OK;
}

// A change in the tick in which the file was last written could not be seen: waits for its end.
// Returns false when the file cannot be asked.
static bool wait_for_tick(int fd, struct stat *st) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age_s = (int64_t)now.tv_sec - st->st_mtim.tv_sec;
    if (age_s < 0 || age_s >= 2)
        return true;
    int64_t left = TICK_NS - (age_s * 1000000000 + now.tv_nsec - st->st_mtim.tv_nsec);
    if (left <= 0 || left > TICK_NS)
        return true;
    nanosleep(&(struct timespec){.tv_nsec = left}, NULL);
    return fstat(fd, st) == 0;
}

qrn_status qrn_file_map(const char *path, qrn_file *out) {
    // Not blocking: a pipe must be refused, not waited for.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0)
        return QRN_FAIL(QRN_E_NOT_FOUND, "%.800s: %s", path, strerror(errno));
    qrn_status s = QRN_OK;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        s = QRN_FAIL(QRN_E_ARGUMENT, "%.800s: %snot a regular file", path,
                     S_ISDIR(st.st_mode) ? "a folder, " : "");
    else if (st.st_size > COPY_BYTES && !wait_for_tick(fd, &st))
        s = QRN_FAIL(QRN_E_MAPPING, "%.800s: %s", path, strerror(errno));
    else if (st.st_size > COPY_BYTES)
        return map_all(path, fd, &st, out);
    else if (st.st_size > 0)
        s = read_all(path, fd, &st, out);
    else
        *out = (qrn_file){empty, 0, NULL};
    close(fd);
    return s;
}

qrn_status qrn_file_check(const qrn_file *f) { return qrn_file_guard_check(f->guard); }

void qrn_file_leave(const qrn_file *f) {
    if (f->guard) // nobody writes to the mapping
        (void)madvise((void *)(uintptr_t)f->data, f->size, MADV_DONTNEED);
}

void qrn_file_unmap(qrn_file *f) {
    if (f->guard) {
        list_replace(f->guard, NULL);
        munmap((void *)(size_t)f->data, f->size);
        qrn_file_guard_free(f->guard);
    } else if (f->data != empty) {
        qrn_free((void *)(size_t)f->data);
    }
    *f = (qrn_file){0};
}

// --- mappings of others

typedef struct place {
    uint64_t inode;
    char path[PATH_MAX + 16]; // "" where there is none
} place;

// Linux 6.11 and later answer for one address (PROCMAP_QUERY of linux/fs.h).
typedef struct map_query {
    uint64_t size, flags, address;
    uint64_t from, to, map_flags, page_bytes, offset, inode;
    uint32_t major, minor, name_bytes, id_bytes;
    uint64_t name, id;
} map_query;
#define QUERY _IOWR('f', 17, map_query)

// Lines of /proc/self/maps: "from-to perms offset device inode path".
static bool scan(FILE *maps, uintptr_t address, place *out) {
    char line[sizeof out->path + 128];
    while (fgets(line, sizeof line, maps)) {
        uintmax_t from, to, inode = 0;
        int path = 0;
        if (sscanf(line, "%" SCNxMAX "-%" SCNxMAX " %*s %*s %*s %" SCNuMAX " %n", &from, &to,
                   &inode, &path) < 3 ||
            address < from || address >= to)
            continue;
        line[strcspn(line, "\n")] = '\0';
        out->inode = inode;
        snprintf(out->path, sizeof out->path, "%s", line + path);
        return true;
    }
    return false;
}

static bool locate(const void *address, place *out) {
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    map_query q = {.size = sizeof q,
                   .address = (uintptr_t)address,
                   .name = (uintptr_t)out->path,
                   .name_bytes = sizeof out->path};
    *out = (place){0};
    if (fd < 0)
        return false;
    if (ioctl(fd, QUERY, &q) == 0) {
        out->inode = q.inode;
        close(fd);
        return true;
    }
    FILE *maps = fdopen(fd, "r");
    bool found = maps && scan(maps, (uintptr_t)address, out);
    if (maps)
        fclose(maps);
    else
        close(fd);
    return found;
}

static bool is_on_disk(const place *p) {
    return p->inode && p->path[0] == '/' && strncmp(p->path, "/memfd:", 7) != 0;
}

bool qrn_file_holds(const void *address) {
    place p;
    return locate(address, &p) && is_on_disk(&p);
}

qrn_status qrn_file_guard_of(const void *address, qrn_file_guard **out) {
    place p;
    struct stat st;
    *out = NULL;
    if (!locate(address, &p) || !is_on_disk(&p))
        return QRN_OK;
    int fd = open(p.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return QRN_OK;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == p.inode)
        return new_guard(p.path, fd, &st, out);
    close(fd);
    return QRN_OK;
}
