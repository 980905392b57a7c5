// SPDX-License-Identifier: MIT
//
// Messages, colours, progress and files.
#include "tools/quern/output.h"

#include "base/report_text.h"
#include "tools/quern/flags.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool quiet;

// The file being written, for the signal handler: set before the file exists, cleared after it is
// renamed or removed. One thread writes files.
static char unfinished[PATH_MAX];
static volatile sig_atomic_t is_unfinished;

static void on_signal(int sig) {
    if (is_unfinished)
        unlink(unfinished);
    signal(sig, SIG_DFL);
    raise(sig);
}

void qt_output_init(void) {
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaction(signals[i], &act, NULL);
    signal(SIGPIPE, SIG_IGN); // a closed pipe shows up as a write error
}

static const char *program = "quern";
void qt_set_program(const char *name) { program = name; }

void qt_set_quiet(bool on) { quiet = on; }

static bool colour_on(int fd) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && isatty(fd) && !(term && strcmp(term, "dumb") == 0);
}

// Names come from files: they must not steer the terminal or break the line.
static void tame(char *text) {
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
}

static void say(const char *word, const char *colour, const char *fmt, va_list ap) {
    qt_progress(NULL, 0, 0);
    bool on = colour_on(STDERR_FILENO);
    char text[4096];
    vsnprintf(text, sizeof text, fmt, ap);
    tame(text);
    fprintf(stderr, "%s: %s%s%s%s\n", program, on ? colour : "", word, on ? "\033[0m" : "", text);
}

#define SAY(word, colour)                                                                          \
    do {                                                                                           \
        va_list ap;                                                                                \
        va_start(ap, fmt);                                                                         \
        say(word, colour, fmt, ap);                                                                \
        va_end(ap);                                                                                \
    } while (0)

void qt_error(const char *fmt, ...) { SAY("error: ", "\033[1;31m"); }

void qt_warn(const char *fmt, ...) { SAY("warning: ", "\033[1;33m"); }

void qt_hint(const char *fmt, ...) { SAY("", ""); }

void qt_note(const char *fmt, ...) {
    if (!quiet && isatty(STDERR_FILENO))
        SAY("", "");
}

const char *qt_style_on(qt_style s) {
    static const char *const codes[] = {"",         "\033[1m",  "\033[2m",
                                        "\033[31m", "\033[32m", "\033[33m"};
    return s != QT_PLAIN && colour_on(STDOUT_FILENO) ? codes[s] : "";
}

const char *qt_style_off(void) { return colour_on(STDOUT_FILENO) ? "\033[0m" : ""; }

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void qt_progress(const char *what, size_t done, size_t total) {
    static double started, shown;
    static bool visible;
    if (!total || done >= total) {
        if (visible)
            fputs("\r\033[K", stderr);
        visible = false;
        started = 0;
        return;
    }
    if (quiet || !isatty(STDERR_FILENO))
        return;
    double now = seconds();
    if (started == 0)
        started = now;
    if (now - started < 0.5 || now - shown < 0.1)
        return;
    shown = now;
    visible = true;
    int width = (int)(30 * done / total);
    fprintf(stderr, "\r\033[K%s [%.*s%*s] %zu/%zu", what, width, "##############################",
            30 - width, "", done, total);
}

void qt_print_line(const char *fmt, ...) {
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    tame(text);
    puts(text);
    free(text);
}

int qt_close_stdout(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return QT_EXIT_OK;
    qt_error("stdout: %s", strerror(errno));
    return QT_EXIT_FAILURE;
}

json_t *qt_json_text(const char *text) {
    json_t *s = json_string(text);
    if (s)
        return s;
    char *plain = strdup(text);
    for (char *p = plain; p && *p;) {
        unsigned n = qrn_utf8_length(p);
        if (!n)
            *p = '?';
        p += n ? n : 1;
    }
    s = plain ? json_string(plain) : NULL;
    free(plain);
    return s;
}

int qt_print_json(json_t *object) {
    if (!object) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(object);
    putchar('\n');
    return qt_close_stdout();
}

static bool write_all(int fd, const void *data, size_t n) {
    const char *at = data;
    while (n) {
        ssize_t done = write(fd, at, n < (1u << 30) ? n : 1u << 30);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static bool file_failed(const char *path, const char *what) {
    int saved = errno;
    if (is_unfinished)
        unlink(unfinished);
    is_unfinished = 0;
    qt_error("%s: cannot %s: %s", path, what, strerror(saved));
    return false;
}

// Writes all parts and closes the file; errno is that of what failed first.
static bool write_parts(int fd, const qt_part *parts, size_t n) {
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = write_all(fd, parts[i].data, parts[i].bytes);
    int saved = errno;
    if (close(fd) != 0 && ok) {
        saved = errno;
        ok = false;
    }
    errno = saved;
    return ok;
}

// A device, a pipe or a folder: nothing that another file may take the place of.
static bool is_special(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static bool write_special(const char *path, const qt_part *parts, size_t n) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return file_failed(path, "open");
    return write_parts(fd, parts, n) || file_failed(path, "write");
}

bool qt_write_file(const char *path, const qt_part *parts, size_t n) {
    char target[PATH_MAX];
    if (is_special(path))
        return write_special(path, parts, n);
    const char *file = realpath(path, target) ? target : path; // links stay links
    int len = snprintf(unfinished, sizeof unfinished, "%s.part%ld", file, (long)getpid());
    if (len < 0 || (size_t)len >= sizeof unfinished) {
        errno = ENAMETOOLONG;
        return file_failed(path, "write");
    }
    is_unfinished = 1;
    int fd = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return file_failed(path, "create");
    if (!write_parts(fd, parts, n))
        return file_failed(path, "write");
    if (rename(unfinished, file) != 0)
        return file_failed(path, "rename");
    is_unfinished = 0;
    return true;
}

bool qt_make_dir(const char *path) {
    char part[PATH_MAX];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part) {
        qt_error("folder '%s': the name is %s", path, n ? "too long" : "empty");
        return false;
    }
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        part[i] = '\0';
        struct stat st;
        if (mkdir(part, 0777) != 0 &&
            !(errno == EEXIST && stat(part, &st) == 0 && S_ISDIR(st.st_mode))) {
            qt_error("cannot make folder '%s': %s", part, strerror(errno));
            return false;
        }
        part[i] = path[i];
    }
    return true;
}

static const char *scaled(double v, double step, const char *const *units, char *buf, size_t size) {
    size_t i = 0;
    while (v >= step && units[i + 1]) {
        v /= step;
        i++;
    }
    snprintf(buf, size, i && v < 100 ? "%.1f%s" : "%.0f%s", v, units[i]);
    return buf;
}

const char *qt_bytes_text(double bytes, char *buf, size_t size) {
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", NULL};
    return scaled(bytes, 1024, units, buf, size);
}

const char *qt_count_text(double count, char *buf, size_t size) {
    static const char *const units[] = {"", " k", " M", " G", " T", NULL};
    return scaled(count, 1000, units, buf, size);
}

const char *qt_shape_text(unsigned rank, const uint64_t *dims, char *buf, size_t size) {
    size_t at = (size_t)snprintf(buf, size, "[");
    for (unsigned i = 0; i < rank && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%llu", i ? ", " : "",
                               (unsigned long long)dims[i]);
    if (at < size)
        snprintf(buf + at, size - at, "]");
    return buf;
}
