// SPDX-License-Identifier: MIT
//
// Files of built programs.
#include "opencl/store.h"

#include "base/env.h"
#include "base/mem.h"
#include "base/outfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE (256u << 20)

static const char magic[8] = {'Q', 'R', 'N', 'C', 'L', 'P', '0', '1'};
static atomic_uint last_serial;

// Where programs are stored unless somebody says so; "": nowhere.
static void default_folder(char *path, size_t size) {
    const char *set = qrn_env_get(QRN_ENV_GPU_CACHE), *cache = qrn_env_get(QRN_ENV_XDG_CACHE_HOME);
    const char *home = qrn_env_get(QRN_ENV_HOME);
    path[0] = 0;
    if (set)
        snprintf(path, size, "%s", strcmp(set, "0") == 0 ? "" : set);
    else if (cache && cache[0] == '/')
        snprintf(path, size, "%s/quern/gpu", cache);
    else if (home && home[0] == '/')
        snprintf(path, size, "%s/.cache/quern/gpu", home);
}

qrn_status qrn_cl_store_open(qrn_cl_store *s, const char *folder) {
    char path[PATH_MAX];
    default_folder(path, sizeof path);
    const char *chosen = folder ? folder : path;
    s->named = folder != NULL;
    s->serial = atomic_fetch_add(&last_serial, 1) + 1;
    s->folder = *chosen ? qrn_strdup(chosen) : NULL;
    return !*chosen || s->folder ? QRN_OK
                                 : QRN_FAIL(QRN_E_MEM, "out of memory for the name of a folder");
}

void qrn_cl_store_close(qrn_cl_store *s) {
    qrn_free(s->folder);
    s->folder = NULL;
}

static uint64_t get_u64(const uint8_t *p) {
    uint64_t v = 0;
    for (unsigned i = 8; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static void digest_of(const void *data, size_t size, uint8_t digest[QRN_SHA256_BYTES]) {
    qrn_sha256 h;
    qrn_sha256_begin(&h);
    qrn_sha256_add(&h, data, size);
    qrn_sha256_end(&h, digest);
}

bool qrn_cl_store_parse(const void *data, size_t size, const uint8_t key[QRN_SHA256_BYTES],
                        const void **binary, size_t *binary_bytes) {
    const uint8_t *p = data;
    uint8_t digest[QRN_SHA256_BYTES];
    if (size <= QRN_CL_STORE_HEADER || memcmp(p, magic, sizeof magic) != 0 ||
        memcmp(p + 8, key, QRN_SHA256_BYTES) != 0 || get_u64(p + 40) != size - QRN_CL_STORE_HEADER)
        return false;
    digest_of(p + QRN_CL_STORE_HEADER, size - QRN_CL_STORE_HEADER, digest);
    if (memcmp(p + 48, digest, sizeof digest) != 0)
        return false;
    *binary = p + QRN_CL_STORE_HEADER;
    *binary_bytes = size - QRN_CL_STORE_HEADER;
    return true;
}

static void path_of(const qrn_cl_store *s, const uint8_t key[QRN_SHA256_BYTES], char *path,
                    size_t size) {
    char hex[2 * QRN_SHA256_BYTES + 1];
    for (unsigned i = 0; i < QRN_SHA256_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", key[i]);
    snprintf(path, size, "%s/%s.clbin", s->folder, hex);
}

// Bytes of a file that is ours or the system's; copied, since another process may change it.
static void *read_whole(int fd, size_t *size) {
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= QRN_CL_STORE_HEADER ||
        st.st_size > (off_t)MAX_FILE || (st.st_uid != geteuid() && st.st_uid != 0))
        return NULL;
    char *data = qrn_alloc((size_t)st.st_size);
    size_t n = 0;
    while (data && n < (size_t)st.st_size) {
        ssize_t got = read(fd, data + n, (size_t)st.st_size - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    *size = n;
    return data;
}

bool qrn_cl_store_load(const qrn_cl_store *s, const uint8_t key[QRN_SHA256_BYTES], void **data,
                       const void **binary, size_t *binary_bytes) {
    char path[PATH_MAX + 80];
    size_t size = 0;
    *data = NULL;
    if (!s->folder || s->fresh)
        return false;
    path_of(s, key, path, sizeof path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return false;
    *data = read_whole(fd, &size);
    futimens(fd, NULL); // it was used; where that is not allowed, it counts as old
    close(fd);
    if (*data && qrn_cl_store_parse(*data, size, key, binary, binary_bytes))
        return true;
    qrn_free(*data);
    *data = NULL;
    return false;
}

bool qrn_cl_store_has(const qrn_cl_store *s, const uint8_t key[QRN_SHA256_BYTES]) {
    char path[PATH_MAX + 80];
    if (!s->folder)
        return false;
    path_of(s, key, path, sizeof path);
    return access(path, F_OK) == 0;
}

// Makes the folder and those above it; what fails shows when the file is written.
static void make_folder(const char *folder) {
    char path[PATH_MAX];
    if (strlen(folder) >= sizeof path)
        return;
    strcpy(path, folder);
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(path, 0700);
            *p = '/';
        }
    mkdir(path, 0700);
}

// --- room

typedef struct old_file {
    char name[2 * QRN_SHA256_BYTES + 8];
    time_t used; // a load counts
} old_file;

static int by_use(const void *a, const void *b) {
    const old_file *x = a, *y = b;
    return x->used < y->used ? -1 : x->used > y->used;
}

static bool is_ours(const char *name) {
    size_t n = strspn(name, "0123456789abcdef");
    return n == 2 * (size_t)QRN_SHA256_BYTES && strcmp(name + n, ".clbin") == 0;
}

// Lists the files of a folder; fewer when memory is short.
static size_t list_files(DIR *d, old_file **out) {
    size_t n = 0, cap = 0;
    const struct dirent *e;
    struct stat st;
    *out = NULL;
    while ((e = readdir(d))) {
        if (!is_ours(e->d_name) || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (n == cap) {
            size_t more = cap ? 2 * cap : 1024;
            old_file *grown = qrn_realloc(*out, n * sizeof **out, more * sizeof **out);
            if (!grown)
                break;
            *out = grown;
            cap = more;
        }
        snprintf((*out)[n].name, sizeof(*out)[n].name, "%.70s", e->d_name);
        (*out)[n++].used = st.st_mtime;
    }
    return n;
}

// A folder that nobody looks after must not grow for ever: of too many files the half that was not
// used for the longest time goes.
static void make_room(const qrn_cl_store *s) {
    DIR *d = s->named ? NULL : opendir(s->folder);
    old_file *files;
    if (!d)
        return;
    size_t n = list_files(d, &files);
    if (n > QRN_CL_STORE_FILES) {
        qsort(files, n, sizeof *files, by_use);
        for (size_t i = 0; i < n - QRN_CL_STORE_FILES / 2; i++)
            unlinkat(dirfd(d), files[i].name, 0);
    }
    qrn_free(files);
    closedir(d);
}

static qrn_status write_file(const char *path, const uint8_t *header, const void *binary,
                             size_t binary_bytes) {
    qrn_outfile f;
    QRN_TRY(qrn_outfile_begin_unsynced(&f, AT_FDCWD, path));
    qrn_outfile_write(&f, header, QRN_CL_STORE_HEADER);
    qrn_outfile_write(&f, binary, binary_bytes);
    return qrn_outfile_commit(&f);
}

void qrn_cl_store_save(qrn_cl_store *s, const uint8_t key[QRN_SHA256_BYTES], const void *binary,
                       size_t binary_bytes) {
    char path[PATH_MAX + 80], line[QRN_MESSAGE_MAX + 128];
    uint8_t header[QRN_CL_STORE_HEADER];
    if (!s->folder || atomic_load(&s->failed))
        return;
    memcpy(header, magic, sizeof magic);
    memcpy(header + 8, key, QRN_SHA256_BYTES);
    for (unsigned i = 0; i < 8; i++)
        header[40 + i] = (uint8_t)((uint64_t)binary_bytes >> 8 * i);
    digest_of(binary, binary_bytes, header + 48);
    make_folder(s->folder);
    if (!atomic_exchange(&s->looked, true))
        make_room(s);
    path_of(s, key, path, sizeof path);
    if (write_file(path, header, binary, binary_bytes) == QRN_OK)
        return;
    if (!atomic_exchange(&s->failed, true) && s->say) {
        snprintf(line, sizeof line,
                 "built GPU programs are not kept: %s; name another folder with QUERN_GPU_CACHE",
                 qrn_message());
        s->say(s->ctx, true, line);
    }
    qrn_message_clear();
}
