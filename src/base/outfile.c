// SPDX-License-Identifier: MIT
//
// Files that appear whole or not at all. Everything goes through a descriptor of the target's
// folder: names above it may change while the file is written.
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define MAX_LINKS 40 // as many as Linux follows
#define MAX_TRIES 100
#define RANDOM_LETTERS 12
#define PROC_MAGIC 0x9fa0 // of statfs

static void note(qrn_outfile *f, int error) {
    if (!f->error)
        f->error = error ? error : EIO;
}

static qrn_status report(const qrn_outfile *f) {
    return QRN_FAIL(f->error == ENOMEM ? QRN_E_MEM : QRN_E_NOT_PERMITTED,
                    "%.800s cannot be written: %s", f->path, strerror(f->error));
}

static void close_all(qrn_outfile *f) {
    if (f->stream)
        fclose(f->stream); // writes nothing: it is flushed, or its file has an error
    if (f->fd >= 0)
        close(f->fd);
    if (f->folder >= 0)
        close(f->folder);
    f->stream = NULL;
    f->fd = f->folder = -1;
    f->temp[0] = '\0';
}

// --- finding the target

// Opens the folder of a path and keeps the last part of the path as the name. `path` is cut.
static int enter_folder(qrn_outfile *f, int at, char *path) {
    char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path, *folder = slash ? path : ".";
    if (!path[0])
        return ENOENT;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return EISDIR;
    if (strlen(name) > NAME_MAX)
        return ENAMETOOLONG;
    strcpy(f->name, name);
    if (slash)
        *slash = '\0';
    int fd = openat(at, *folder ? folder : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    if (f->folder >= 0)
        close(f->folder);
    f->folder = fd;
    return fd < 0 ? error : 0;
}

// Did another user place this in a folder where everybody may place things?
static bool is_planted(const qrn_outfile *f, const struct stat *st) {
    struct stat folder;
    return fstat(f->folder, &folder) == 0 && (folder.st_mode & S_ISVTX) &&
           (folder.st_mode & S_IWOTH) && st->st_uid != geteuid() && st->st_uid != folder.st_uid;
}

// A link of /proc leads to an open file, whatever its text says.
static bool is_of_proc(const qrn_outfile *f) {
    struct statfs fs;
    return fstatfs(f->folder, &fs) == 0 && fs.f_type == PROC_MAGIC;
}

// Follows the links of the last part of the path. st->st_mode is 0 when there is no such file and
// that of a link when it is one of /proc. Returns an errno.
static int find_target(qrn_outfile *f, int at, struct stat *st) {
    char path[PATH_MAX];
    strcpy(path, f->path);
    for (int i = 0; i < MAX_LINKS; i++) {
        int error = enter_folder(f, i ? f->folder : at, path);
        if (error)
            return error;
        if (fstatat(f->folder, f->name, st, AT_SYMLINK_NOFOLLOW) != 0) {
            st->st_mode = 0;
            return errno == ENOENT ? 0 : errno;
        }
        if (is_planted(f, st))
            return EACCES;
        if (!S_ISLNK(st->st_mode) || is_of_proc(f))
            return 0;
        ssize_t n = readlinkat(f->folder, f->name, path, sizeof path - 1);
        if (n < 0)
            return errno;
        path[n] = '\0';
    }
    return ELOOP;
}

// --- opening

static void random_letters(char *out) {
    static const char letters[] = "0123456789abcdefghijklmnopqrstuv";
    unsigned char bytes[RANDOM_LETTERS];
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != sizeof bytes) {
        // Guessable; O_EXCL keeps it safe.
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t x = (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32;
        for (int i = 0; i < RANDOM_LETTERS; i++, x = x * 6364136223846793005u + 1)
            bytes[i] = (unsigned char)(x >> 33);
    }
    for (int i = 0; i < RANDOM_LETTERS; i++)
        out[i] = letters[bytes[i] % 32];
    out[RANDOM_LETTERS] = '\0';
}

static int make_temp(qrn_outfile *f, mode_t mode) {
    char letters[RANDOM_LETTERS + 1];
    // A long name loses its end, so that the temporary one fits.
    const int room = NAME_MAX - RANDOM_LETTERS - (int)strlen("..part");
    for (int i = 0; i < MAX_TRIES; i++) {
        random_letters(letters);
        snprintf(f->temp, sizeof f->temp, "%.*s.%s.part", room, f->name, letters);
        f->fd = openat(f->folder, f->temp,
                       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode);
        if (f->fd >= 0)
            return 0;
        int error = errno;
        f->temp[0] = '\0';
        if (error != EEXIST)
            return error;
    }
    return EEXIST;
}

// Gives the new file what the old one had. A group that cannot be kept gets no more than others.
static int keep_owner_and_mode(int fd, const struct stat *old) {
    struct stat now;
    mode_t mode = old->st_mode & 0777;
    if (fstat(fd, &now) != 0)
        return errno;
    bool group_kept = now.st_gid == old->st_gid || fchown(fd, (uid_t)-1, old->st_gid) == 0;
    if (now.st_uid != old->st_uid && fchown(fd, old->st_uid, (gid_t)-1) != 0 && errno != EPERM)
        return errno;
    if (!group_kept)
        mode &= ~(mode_t)070 | (mode & 007) << 3;
    return fchmod(fd, mode) == 0 ? 0 : errno;
}

static int open_target(qrn_outfile *f, const struct stat *st) {
    bool is_there = st->st_mode != 0;
    if (is_there && !S_ISREG(st->st_mode)) {
        // What is open already may have bytes in front: they stay.
        int how = S_ISLNK(st->st_mode) ? O_APPEND : O_NOFOLLOW;
        f->in_place = true;
        f->fd = openat(f->folder, f->name, O_WRONLY | O_CLOEXEC | O_NOCTTY | how);
        return f->fd < 0 ? errno : 0;
    }
    if (is_there && faccessat(f->folder, f->name, W_OK, AT_EACCESS) != 0)
        return errno;
    int error = make_temp(f, is_there ? 0600 : 0666);
    if (!error && is_there)
        error = keep_owner_and_mode(f->fd, st);
    return error;
}

qrn_status qrn_outfile_begin_unsynced(qrn_outfile *f, int at, const char *path) {
    struct stat st = {0};
    size_t n = strlen(path);
    *f = (qrn_outfile){.fd = -1, .folder = -1, .unsynced = true};
    memcpy(f->path, path, n < sizeof f->path ? n : sizeof f->path - 1);
    int error = n < sizeof f->path ? find_target(f, at, &st) : ENAMETOOLONG;
    if (!error)
        error = open_target(f, &st);
    if (!error)
        return QRN_OK;
    note(f, error);
    qrn_outfile_abort(f);
    return report(f);
}

qrn_status qrn_outfile_begin(qrn_outfile *f, const char *path) {
    qrn_status s = qrn_outfile_begin_unsynced(f, AT_FDCWD, path);
    f->unsynced = false;
    return s;
}

// --- writing

int qrn_outfile_append(int fd, const void *bytes, size_t n) {
    const char *at = bytes;
    while (n) {
        ssize_t done = write(fd, at, n < (1u << 30) ? n : 1u << 30);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : ENOSPC;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

void qrn_outfile_write(qrn_outfile *f, const void *bytes, size_t n) {
    if (!f->error)
        f->error = qrn_outfile_append(f->fd, bytes, n);
}

void qrn_outfile_extend(qrn_outfile *f, size_t bytes) {
    if (!f->error && ftruncate(f->fd, (off_t)bytes) != 0)
        note(f, errno);
}

// stdio forgets why a write failed; the file does not.
static ssize_t stream_write(void *file, const char *bytes, size_t n) {
    qrn_outfile *f = file;
    qrn_outfile_write(f, bytes, n);
    return f->error ? 0 : (ssize_t)n;
}

FILE *qrn_outfile_stream(qrn_outfile *f) {
    if (!f->stream)
        f->stream = fopencookie(f, "w", (cookie_io_functions_t){.write = stream_write});
    if (!f->stream)
        note(f, ENOMEM);
    return f->stream;
}

// --- ending

// The entry in the folder, where the system lets us read the folder; the file is complete anyway.
static void sync_folder(const qrn_outfile *f) {
    int fd = openat(f->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

static void flush(qrn_outfile *f) {
    if (f->stream && (fflush(f->stream) != 0 || ferror(f->stream)))
        note(f, errno);
    if (!f->error && !f->in_place && !f->unsynced && fsync(f->fd) != 0)
        note(f, errno);
}

static void give_name(qrn_outfile *f) {
    if (f->error || f->in_place)
        return;
    if (renameat(f->folder, f->temp, f->folder, f->name) != 0) {
        note(f, errno);
        return;
    }
    f->temp[0] = '\0';
    if (!f->unsynced)
        sync_folder(f);
}

static qrn_status end(qrn_outfile *f) {
    bool done = !f->error;
    qrn_outfile_abort(f);
    return done ? QRN_OK : report(f);
}

qrn_status qrn_outfile_commit(qrn_outfile *f) {
    flush(f);
    // A file system of a network may say only here that it is full.
    if (close(f->fd) != 0 && errno != EINTR)
        note(f, errno);
    f->fd = -1;
    give_name(f);
    return end(f);
}

qrn_status qrn_outfile_publish(qrn_outfile *f, int *fd) {
    flush(f);
    give_name(f);
    if (!f->error) {
        *fd = f->fd;
        f->fd = -1;
    }
    return end(f);
}

void qrn_outfile_unlink_temp(const qrn_outfile *f) {
    if (f->temp[0])
        unlinkat(f->folder, f->temp, 0);
}

void qrn_outfile_abort(qrn_outfile *f) {
    qrn_outfile_unlink_temp(f);
    note(f, ECANCELED); // so that a stream that is closed now writes nothing
    close_all(f);
}

qrn_status qrn_outfile_save(const char *path, const void *bytes, size_t n) {
    qrn_outfile f;
    QRN_TRY(qrn_outfile_begin(&f, path));
    qrn_outfile_write(&f, bytes, n);
    return qrn_outfile_commit(&f);
}

// Regular files are opened for reading too, where we may: their writers look at what is there.
static int open_to_append(const qrn_outfile *f, const struct stat *st) {
    const int how = O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    if (st->st_mode && !S_ISREG(st->st_mode))
        return openat(f->folder, f->name, O_WRONLY | how | (S_ISLNK(st->st_mode) ? 0 : O_NOFOLLOW));
    int fd = openat(f->folder, f->name, O_RDWR | O_CREAT | O_NOFOLLOW | how, 0666);
    return fd < 0 && errno == EACCES ? openat(f->folder, f->name, O_WRONLY | O_NOFOLLOW | how) : fd;
}

int qrn_outfile_open_append(const char *path) {
    qrn_outfile f = {.fd = -1, .folder = -1};
    struct stat st = {0};
    size_t n = strlen(path);
    int fd = -1, error = ENAMETOOLONG;
    if (n < sizeof f.path) {
        memcpy(f.path, path, n);
        error = find_target(&f, AT_FDCWD, &st);
    }
    if (!error) {
        fd = open_to_append(&f, &st);
        error = errno;
    }
    close_all(&f);
    if (fd >= 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    errno = error;
    return fd;
}
