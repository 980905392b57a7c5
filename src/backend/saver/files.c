// SPDX-License-Identifier: MIT
//
// The two files of a recording. After every call the source is complete: the end of the program is
// written behind the call and overwritten by the next one, so a process that dies leaves a
// recording that compiles. Calls made before the first backend are kept until the files are there,
// since the options may still come.
#include "backend/saver/saver.h"

#include "base/crc32.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/outfile.h"

#include "CPU/QnnCpuCommon.h"
#include "GPU/QnnGpuCommon.h"
#include "HTP/QnnHtpCommon.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_FOLDER "saver_output"
#define DEFAULT_SOURCE "saver_output.c"
#define DEFAULT_DATA "params.bin"
#define DATA_ALIGN 64
#define CALLS_PER_PART 64 // functions of a bearable size

// Bytes in the data file.
typedef struct piece {
    uint64_t n, offset;
    uint32_t crc;
} piece;

static struct {
    qrn_saver_options opt;
    bool has_options; // of the environment at least
    bool open;
    int source_fd, data_fd;
    char source[PATH_MAX], data[PATH_MAX]; // paths
    uint64_t source_at;                    // where the next call goes
    uint64_t data_at;
    uint32_t n_parts, n_in_part;
    qrn_saver_text waiting; // before the files are open
    piece *pieces;          // in the data file
    size_t n_pieces, cap_pieces;
    char failure[QRN_MESSAGE_MAX]; // why nothing can be recorded any more, or ""
} files;

void qrn_saver_options_default(qrn_saver_options *o) {
    static const struct {
        const char *name;
        uint32_t id;
    } ids[] = {
        {"cpu", QNN_BACKEND_ID_CPU}, {"gpu", QNN_BACKEND_ID_GPU}, {"htp", QNN_BACKEND_ID_HTP}};
    const char *folder = qrn_env_get(QRN_ENV_SAVER_DIR);
    const char *backend = qrn_env_get(QRN_ENV_SAVER_BACKEND);
    *o = (qrn_saver_options){.folder = folder ? qrn_strdup(folder) : NULL};
    for (size_t i = 0; backend && i < sizeof ids / sizeof ids[0]; i++)
        if (strcmp(backend, ids[i].name) == 0)
            o->backend_id = ids[i].id;
}

qrn_saver_options *qrn_saver_options_now(void) {
    if (!files.has_options)
        qrn_saver_options_default(&files.opt);
    files.has_options = true;
    return &files.opt;
}

void qrn_saver_options_clear(qrn_saver_options *o) {
    qrn_free(o->folder);
    qrn_free(o->source);
    qrn_free(o->data);
    *o = (qrn_saver_options){0};
}

static qrn_status fail(qrn_status s, const char *path, const char *what, int error) {
    snprintf(files.failure, sizeof files.failure, "saver: '%.800s' %s: %s", path, what,
             strerror(error));
    return QRN_FAIL(s, "%s", files.failure);
}

qrn_status qrn_saver_check(void) {
    return files.failure[0] ? QRN_FAIL(QRN_E_GENERAL, "%s", files.failure) : QRN_OK;
}

bool qrn_saver_is_open(void) { return files.open; }

// Makes the folder with all that lead to it.
static int make_folder(char *path) {
    for (char *p = path + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        int bad = mkdir(path, 0777) != 0 && errno != EEXIST;
        *p = '/';
        if (bad)
            return errno;
    }
    if (mkdir(path, 0777) == 0)
        return 0;
    struct stat st;
    int error = errno;
    if (error == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return error == EEXIST ? ENOTDIR : error;
}

// The folder of a recording, with the time when that is wished.
static bool folder_name(char *out, size_t size) {
    const char *base = files.opt.folder ? files.opt.folder : DEFAULT_FOLDER;
    size_t n = strlen(base);
    while (n > 1 && base[n - 1] == '/')
        n--;
    int len = snprintf(out, size, "%.*s", (int)n, base);
    if (files.opt.timestamp && len > 0 && (size_t)len < size) {
        struct timespec now;
        struct tm parts;
        clock_gettime(CLOCK_REALTIME, &now);
        localtime_r(&now.tv_sec, &parts);
        char stamp[64];
        strftime(stamp, sizeof stamp, "_%Y-%m-%d_%H-%M-%S", &parts);
        len += snprintf(out + len, size - (size_t)len, "%s_%06ld", stamp, now.tv_nsec / 1000);
    }
    return len > 0 && (size_t)len < size;
}

// A file of its own, whatever another recorder still writes under that name.
static qrn_status begin_file(const char *folder, const char *name, char *path, qrn_outfile *f) {
    int len = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    if (len < 0 || len >= PATH_MAX)
        return fail(QRN_E_INIT, folder, "cannot be used", ENAMETOOLONG);
    return qrn_outfile_begin(f, path) == QRN_OK
               ? QRN_OK
               : fail(QRN_E_INIT, path, "cannot be made", f->error);
}

static qrn_status publish_file(const char *path, qrn_outfile *f, int *fd) {
    return qrn_outfile_publish(f, fd) == QRN_OK
               ? QRN_OK
               : fail(QRN_E_GENERAL, path, "cannot be written", f->error);
}

static qrn_status write_all(int fd, const char *path, const void *bytes, uint64_t n, uint64_t at) {
    const char *p = bytes;
    while (n) {
        ssize_t done = pwrite(fd, p, n > (1u << 30) ? 1u << 30 : (size_t)n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return fail(QRN_E_GENERAL, path, "cannot be written", done < 0 ? errno : ENOSPC);
        p += done;
        at += (uint64_t)done;
        n -= (uint64_t)done;
    }
    return QRN_OK;
}

static void put_footer(qrn_saver_text *t) {
    qrn_saver_put(t, "}\n");
    if (files.opt.no_footer)
        return;
    qrn_saver_put(t, "\nstatic void (*const parts[])(void) = {");
    for (uint32_t i = 0; i < files.n_parts; i++)
        qrn_saver_put(t, "%spart_%u,", i % 8 ? " " : "\n    ", i);
    qrn_saver_put(t, "\n};\n\nint main(int argc, char **argv) {\n"
                     "    return replay(argc, argv, parts, sizeof parts / sizeof parts[0]);\n}\n");
}

// Writes calls and, behind them, the end of the program.
static qrn_status write_calls(qrn_saver_text *calls) {
    size_t n = calls->n;
    put_footer(calls);
    if (calls->failed)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a recording");
    QRN_TRY(write_all(files.source_fd, files.source, calls->data, calls->n, files.source_at));
    files.source_at += n;
    return QRN_OK;
}

static qrn_status write_header(void) {
    qrn_saver_text t = {0};
    if (!files.opt.no_header) {
        for (size_t i = 0; qrn_saver_prologue[i]; i++)
            qrn_saver_put(&t, "%s", qrn_saver_prologue[i]);
        qrn_saver_put(&t, "\nstatic const char *const data_name = ");
        qrn_saver_put_string(&t, files.opt.data ? files.opt.data : DEFAULT_DATA);
        qrn_saver_put(&t, ";\n\n");
    }
    qrn_status s = t.failed ? QRN_FAIL(QRN_E_MEM, "out of memory for a recording")
                            : write_all(files.source_fd, files.source, t.data, t.n, 0);
    files.source_at = t.n;
    qrn_saver_text_clear(&t);
    return s;
}

// Files get their names when the source is one that compiles.
static qrn_status open_both(const char *folder, const qrn_saver_options *o) {
    qrn_outfile source, data;
    QRN_TRY(begin_file(folder, o->source ? o->source : DEFAULT_SOURCE, files.source, &source));
    qrn_status s = begin_file(folder, o->data ? o->data : DEFAULT_DATA, files.data, &data);
    if (s != QRN_OK) {
        qrn_outfile_abort(&source);
        return s;
    }
    files.source_fd = source.fd;
    s = write_header();
    if (s == QRN_OK && files.n_parts)
        s = write_calls(&files.waiting);
    if (s == QRN_OK)
        s = publish_file(files.data, &data, &files.data_fd);
    else
        qrn_outfile_abort(&data);
    if (s != QRN_OK) {
        qrn_outfile_abort(&source);
        return s;
    }
    s = publish_file(files.source, &source, &files.source_fd);
    if (s != QRN_OK)
        close(files.data_fd);
    return s;
}

qrn_status qrn_saver_open(void) {
    char folder[PATH_MAX];
    const qrn_saver_options *o = qrn_saver_options_now();
    if (files.open)
        return qrn_saver_check();
    files.failure[0] = '\0';
    if (!folder_name(folder, sizeof folder))
        return fail(QRN_E_INIT, o->folder, "cannot be used", ENAMETOOLONG);
    int error = make_folder(folder);
    if (error) {
        qrn_status s = fail(QRN_E_INIT, folder, "cannot be made", error);
        files.failure[0] = '\0'; // nothing was lost: another try may work
        return s;
    }
    size_t n_waiting = files.waiting.n;
    qrn_status s = open_both(folder, o);
    if (s != QRN_OK) {
        files.waiting.n = n_waiting;
        files.failure[0] = '\0';
        return s;
    }
    qrn_saver_text_clear(&files.waiting);
    files.open = true;
    return QRN_OK;
}

void qrn_saver_close(void) {
    if (files.open) {
        close(files.source_fd);
        close(files.data_fd);
    }
    files.open = false;
    files.failure[0] = '\0';
    files.source_at = files.data_at = 0;
    files.n_parts = files.n_in_part = 0;
    qrn_saver_text_clear(&files.waiting);
    qrn_free(files.pieces);
    files.pieces = NULL;
    files.n_pieces = files.cap_pieces = 0;
}

static bool is_written(const piece *p, const void *bytes) {
    char buffer[16384];
    for (uint64_t at = 0; at < p->n;) {
        size_t want = p->n - at < sizeof buffer ? (size_t)(p->n - at) : sizeof buffer;
        ssize_t got = pread(files.data_fd, buffer, want, (off_t)(p->offset + at));
        if (got <= 0 || memcmp(buffer, (const char *)bytes + at, (size_t)got) != 0)
            return false;
        at += (uint64_t)got;
    }
    return true;
}

// Clients bring the same weights again and again: to try ops, to make graphs.
static const piece *find_piece(const void *bytes, uint64_t n, uint32_t crc) {
    for (size_t i = 0; i < files.n_pieces; i++) {
        const piece *p = &files.pieces[i];
        if (p->n == n && p->crc == crc && is_written(p, bytes))
            return p;
    }
    return NULL;
}

static void add_piece(piece p) {
    if (files.n_pieces == files.cap_pieces) {
        size_t cap = files.cap_pieces ? files.cap_pieces * 2 : 64;
        piece *list = qrn_realloc(files.pieces, files.n_pieces * sizeof *list, cap * sizeof *list);
        if (!list)
            return; // it will be written again
        files.pieces = list;
        files.cap_pieces = cap;
    }
    files.pieces[files.n_pieces++] = p;
}

qrn_status qrn_saver_keep(const void *bytes, uint64_t n, uint64_t *offset) {
    QRN_TRY(qrn_saver_check());
    if (!files.open)
        return QRN_FAIL(QRN_E_GENERAL, "saver: bytes before there is a backend");
    uint32_t crc = qrn_crc32(0, bytes, (size_t)n);
    const piece *found = find_piece(bytes, n, crc);
    if (found) {
        *offset = found->offset;
        return QRN_OK;
    }
    uint64_t at = (files.data_at + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN;
    QRN_TRY(write_all(files.data_fd, files.data, bytes, n, at));
    files.data_at = at + n;
    add_piece((piece){n, at, crc});
    *offset = at;
    return QRN_OK;
}

qrn_status qrn_saver_append(const qrn_saver_text *globals, const qrn_saver_text *call) {
    qrn_saver_text own = {0};
    qrn_saver_text *t = files.open ? &own : &files.waiting;
    QRN_TRY(qrn_saver_check());
    if (files.n_parts == 0 || globals->n || files.n_in_part == CALLS_PER_PART) {
        qrn_saver_put(t, files.n_parts ? "}\n\n" : "");
        if (globals->n)
            qrn_saver_put(t, "%s\n", globals->data);
        qrn_saver_put(t, "static void part_%u(void) {\n", files.n_parts++);
        files.n_in_part = 0;
    }
    qrn_saver_put(t, "%s", call->data);
    files.n_in_part++;
    qrn_status s = t->failed ? QRN_FAIL(QRN_E_MEM, "out of memory for a recording") : QRN_OK;
    if (s == QRN_OK && files.open)
        s = write_calls(t);
    if (s != QRN_OK && !files.failure[0]) // the source has a gap
        snprintf(files.failure, sizeof files.failure, "%.900s", qrn_message());
    qrn_saver_text_clear(&own);
    return s;
}

__attribute__((destructor)) static void end_of_library(void) {
    qrn_saver_close();
    qrn_saver_options_clear(&files.opt);
    qrn_saver_forget_all();
}
