// SPDX-License-Identifier: MIT
//
// Files mapped read-only. An empty file gets a static byte, since nothing can be mapped.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char empty[1];

qrn_status qrn_file_map(const char *path, qrn_file *out) {
    // Not blocking: a pipe must be refused, not waited for.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return QRN_FAIL(QRN_E_NOT_FOUND, "%s: %s", path, strerror(errno));
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return QRN_FAIL(QRN_E_ARGUMENT, "%s: not a regular file", path);
    }
    void *p = (void *)(size_t)empty;
    if (st.st_size > 0)
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    int error = errno;
    close(fd);
    if (p == MAP_FAILED)
        return QRN_FAIL(QRN_E_MAPPING, "%s: %s", path, strerror(error));
    *out = (qrn_file){p, (size_t)st.st_size};
    return QRN_OK;
}

void qrn_file_unmap(qrn_file *f) {
    if (f->data && f->data != empty)
        munmap((void *)(size_t)f->data, f->size);
    *f = (qrn_file){NULL, 0};
}

// Lines of /proc/self/maps: "from-to perms offset device inode path".
bool qrn_file_holds(const void *address) {
    FILE *f = fopen("/proc/self/maps", "re");
    char line[4096 + 128];
    bool held = false, found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        uintmax_t from, to, inode = 0;
        int path = 0;
        if (sscanf(line, "%" SCNxMAX "-%" SCNxMAX " %*s %*s %*s %" SCNuMAX " %n", &from, &to,
                   &inode, &path) < 3)
            continue;
        found = (uintptr_t)address >= from && (uintptr_t)address < to;
        held = found && inode && line[path] == '/' && strncmp(line + path, "/memfd:", 7) != 0;
    }
    if (f)
        fclose(f);
    return held;
}
