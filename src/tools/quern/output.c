// SPDX-License-Identifier: MIT
//
// Messages, colours, progress and files.
#include "tools/quern/output.h"

#include "base/file.h"
#include "base/outfile.h"
#include "base/report_text.h"
#include "tools/quern/flags.h"
#include "tools/quern/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *program = "quern";
static bool quiet;

// The file being written, for the signal handler. One thread writes files.
static qrn_outfile file;
static volatile sig_atomic_t is_unfinished;
static const int ending[] = {SIGINT, SIGTERM, SIGHUP}; // signals that end the program

static void on_signal(int sig) {
    if (is_unfinished)
        qrn_outfile_unlink_temp(&file);
    signal(sig, SIG_DFL);
    raise(sig);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig) {
    (void)sig;
    interrupted = 1;
}

void qt_hold_interrupt(void) {
    static bool held;
    struct sigaction act = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    if (!held)
        sigaction(SIGINT, &act, NULL);
    held = true;
}

bool qt_was_interrupted(void) { return interrupted; }

static void put(const char *text) {
    ssize_t done = write(STDERR_FILENO, text, strlen(text));
    (void)done;
}

// A mapped file was cut short, or its disk failed.
static void on_lost_page(int sig, siginfo_t *info, void *context) {
    (void)context;
    const char *path = qrn_file_at(info->si_addr);
    if (!path) {
        signal(sig, SIG_DFL); // not ours: as if there were no handler
        return;
    }
    if (is_unfinished)
        qrn_outfile_unlink_temp(&file);
    put(program);
    put(": error: ");
    put(path);
    put(" was changed while it was read: replace files by renaming\n");
    _exit(QT_EXIT_FAILURE);
}

void qt_watch_files(void) {
    struct sigaction act = {.sa_sigaction = on_lost_page, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &act, NULL);
}

void qt_output_init(void) {
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        sigaction(ending[i], &act, NULL);
    qt_watch_files();
    signal(SIGPIPE, SIG_IGN); // a closed pipe shows up as a write error, and so does
    signal(SIGXFSZ, SIG_IGN); // a file beyond the limit (ulimit -f)
}

void qt_set_program(const char *name) { program = name; }

void qt_set_quiet(bool on) { quiet = on; }
bool qt_is_quiet(void) { return quiet; }

static bool colour_on(int fd) {
    const char *no = secure_getenv("NO_COLOR"), *term = secure_getenv("TERM");
    return !(no && *no) && isatty(fd) && !(term && strcmp(term, "dumb") == 0);
}

#define ERROR_WORD "error: "
#define NO_MEMORY "out of memory"
static bool said_no_memory;

#define MESSAGE_BYTES 2048

// Formats a line. Of one that is too long the middle is left out: names stand in front, and what is
// wrong with them behind.
__attribute__((format(printf, 2, 0))) static void format(char raw[MESSAGE_BYTES], const char *fmt,
                                                         va_list ap) {
    static const char gap[] = " [...] ";
    const size_t head = MESSAGE_BYTES / 2, tail = MESSAGE_BYTES / 4;
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(raw, MESSAGE_BYTES, fmt, ap);
    char *all = n >= MESSAGE_BYTES ? malloc((size_t)n + 1) : NULL;
    if (all) {
        vsnprintf(all, (size_t)n + 1, fmt, again);
        memcpy(raw + head, gap, sizeof gap - 1);
        memcpy(raw + head + sizeof gap - 1, all + (size_t)n - tail, tail + 1);
        free(all);
    }
    va_end(again);
}

static void say(const char *word, const char *colour, const char *fmt, va_list ap) {
    qt_progress(NULL, 0, 0);
    bool on = colour_on(STDERR_FILENO);
    char raw[MESSAGE_BYTES], text[4 * MESSAGE_BYTES];
    format(raw, fmt, ap);
    qrn_shown_text(text, sizeof text, raw); // names in it come from files
    const char *cause = "";
    if (strcmp(word, ERROR_WORD) == 0 && qt_out_of_memory()) { // whatever was then found wrong
        cause = strstr(text, NO_MEMORY) ? "" : NO_MEMORY ": ";
        said_no_memory = true;
    }
    fprintf(stderr, "%s: %s%s%s%s%s\n", program, on ? colour : "", word, on ? "\033[0m" : "", cause,
            text);
}

#define SAY(word, colour)                                                                          \
    do {                                                                                           \
        va_list ap;                                                                                \
        va_start(ap, fmt);                                                                         \
        say(word, colour, fmt, ap);                                                                \
        va_end(ap);                                                                                \
    } while (0)

void qt_error(const char *fmt, ...) { SAY(ERROR_WORD, "\033[1;31m"); }

void qt_warn(const char *fmt, ...) { SAY("warning: ", "\033[1;33m"); }

void qt_hint(const char *fmt, ...) { SAY("", ""); }

void qt_inform(const char *fmt, ...) {
    if (!quiet)
        SAY("", "");
}

void qt_note(const char *fmt, ...) {
    if (!quiet && isatty(STDERR_FILENO))
        SAY("", "");
}

static const char *const styles[] = {"\033[0m",  "\033[1m",  "\033[2m",
                                     "\033[31m", "\033[32m", "\033[33m"};

const char *qt_style_on(qt_style s) {
    return s != QT_PLAIN && colour_on(STDOUT_FILENO) ? styles[s] : "";
}

const char *qt_style_off(void) { return colour_on(STDOUT_FILENO) ? styles[QT_PLAIN] : ""; }

bool qt_is_style(const char *word) {
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++)
        if (word == styles[i])
            return true;
    return false;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void qt_progress(const char *what, size_t done, size_t total) {
    static double started, shown;
    static size_t before;
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
    if (started == 0) {
        started = now;
        before = done;
    }
    if (now - started < 0.5 || now - shown < 0.1)
        return;
    shown = now;
    visible = true;
    int width = (int)(30 * done / total);
    fprintf(stderr, "\r\033[K%s [%.*s%*s] %zu/%zu", what, width, "##############################",
            30 - width, "", done, total);
    if (done > before) {
        double left = (now - started) / (double)(done - before) * (double)(total - done);
        fprintf(stderr, ", %.0f:%02.0f left", floor(left / 60), floor(fmod(left, 60)));
    }
}

int qt_finish(int code) {
    if (interrupted)
        raise(SIGINT); // the shell is to know; the handler is gone since the first one
    if (!qt_out_of_memory())
        return code;
    if (!said_no_memory)
        qt_error(NO_MEMORY);
    return QT_EXIT_FAILURE;
}

int qt_close_stdout(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return QT_EXIT_OK;
    int why = errno;
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (poll(&out, 1, 0) == 1 && (out.revents & POLLERR)) { // 'quern ... | head' has enough
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    qt_error("stdout: %s", strerror(why));
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

// JSON allows U+007F to U+009F and marks of direction as they are; a terminal obeys them. They
// stand in strings only, so that an escape of six bytes may take their place.
static char *escape_steering(char *text) {
    size_t n = 0, found = 0;
    char mark[QRN_JSON_MARK];
    for (unsigned used; text[n]; n += used)
        found += (used = qrn_json_mark(text + n, mark)) > 0 && mark[0];
    char *out = found ? malloc(n + 5 * found + 1) : NULL;
    if (!found)
        return text;
    for (char *s = text, *to = out; out; s += n) {
        n = qrn_json_mark(s, mark);
        size_t put = mark[0] ? strlen(mark) : n;
        memcpy(to, mark[0] ? mark : s, put);
        to += put;
        if (!*s) {
            *to = '\0';
            break;
        }
    }
    free(text);
    return out;
}

char *qt_json_dump(json_t *object, size_t how) {
    char *text = object && !qt_out_of_memory() ? json_dumps(object, how) : NULL;
    json_decref(object);
    text = text ? escape_steering(text) : NULL;
    if (!text)
        qt_error("out of memory");
    return text;
}

int qt_print_json(json_t *object) {
    char *text = qt_json_dump(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    if (!text)
        return QT_EXIT_FAILURE;
    fputs(text, stdout);
    free(text);
    putchar('\n');
    return qt_close_stdout();
}

// Signals wait while the file's name changes, so that the handler always knows it.
static void hold_signals(bool on) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        sigaddset(&set, ending[i]);
    pthread_sigmask(on ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static bool begin_file(const char *path, bool sync) {
    if (qt_out_of_memory()) { // a part may be less than whole
        qt_error("%s: not written", path);
        return false;
    }
    hold_signals(true);
    qrn_status s =
        sync ? qrn_outfile_begin(&file, path) : qrn_outfile_begin_unsynced(&file, AT_FDCWD, path);
    is_unfinished = s == QRN_OK;
    hold_signals(false);
    if (s != QRN_OK)
        qt_error("%s", qrn_message());
    return s == QRN_OK;
}

static bool end_file(void) {
    qrn_status s = qrn_outfile_commit(&file); // empties the name when it is done
    is_unfinished = 0;
    if (s != QRN_OK)
        qt_error("%s", qrn_message());
    return s == QRN_OK;
}

static bool write_parts(const char *path, const qt_part *parts, size_t n, bool sync) {
    if (!begin_file(path, sync))
        return false;
    for (size_t i = 0; i < n; i++)
        qrn_outfile_write(&file, parts[i].data, parts[i].bytes);
    return end_file();
}

static const char *const *inputs;
static size_t n_inputs;

void qt_set_inputs(const char *const *paths, size_t n) {
    inputs = paths;
    n_inputs = n;
}

// The argument that is this very file, by whatever name; NULL: none.
static const char *input_at(const char *path) {
    struct stat out, in;
    if (stat(path, &out) != 0 || !S_ISREG(out.st_mode))
        return NULL;
    for (size_t i = 0; i < n_inputs; i++) {
        const char *eq = strrchr(inputs[i], '=');
        if ((stat(inputs[i], &in) == 0 || (eq && stat(eq + 1, &in) == 0)) &&
            in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return inputs[i];
    }
    return NULL;
}

static bool may_write(const char *path) {
    const char *input = input_at(path);
    if (input)
        qt_error("%s: an input of this command (%s); name another file for the output", path,
                 input);
    else if (strcmp(path, "-") == 0)
        qt_error("'-' is not accepted here; use /dev/stdout, or ./- for a file of this name");
    return !input && strcmp(path, "-") != 0;
}

bool qt_write_file(const char *path, const qt_part *parts, size_t n) {
    return may_write(path) && write_parts(path, parts, n, true);
}

bool qt_file_begin(const char *path) { return may_write(path) && begin_file(path, true); }

bool qt_file_put(const void *data, size_t n) {
    qrn_outfile_write(&file, data, n);
    return !file.error;
}

bool qt_file_end(bool keep) {
    if (keep && !qt_out_of_memory())
        return end_file();
    qrn_outfile_abort(&file);
    is_unfinished = 0;
    return !keep;
}

bool qt_write_result(const char *path, const qt_part *parts, size_t n) {
    return write_parts(path, parts, n, false);
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
            qt_error("cannot make folder '%s': %s", part,
                     errno == EEXIST ? "a file has this name; name another folder"
                                     : strerror(errno));
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

const char *qt_cell_name(const char *name, size_t most, char buf[QT_CELL]) {
    size_t n = strlen(name);
    if (n <= most)
        return name;
    const char *tail = name + n - (most - 3);
    while (((unsigned char)*tail & 0xC0) == 0x80) // never inside of a character
        tail++;
    snprintf(buf, QT_CELL, "...%s", tail);
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
