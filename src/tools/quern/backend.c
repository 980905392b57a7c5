// SPDX-License-Identifier: MIT
//
// Opening the backend that the flags name: its log, the SoC or the device it is for, and options
// that do not go with it.
#include "tools/quern/session.h"

#include "base/report_text.h"
#include "base/suggest.h"
#include "tools/quern/gpu.h"
#include "tools/quern/output.h"
#include "tools/quern/soc.h"

#include "GPU/QnnGpuCommon.h"
#include "HTP/QnnHtpCommon.h"
#include "HTP/QnnHtpDevice.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 256 // QUERN_BACKEND_OPTION_THREADS

const qt_flag qt_backend_flags[] = {
    {"backend", 'b', QT_TEXT, "NAME", offsetof(qt_backend_options, backend), NULL,
     "cpu, htp (default with --soc), gpu, saver, ir or path"},
    {"soc", 0, QT_TEXT, "SOC", offsetof(qt_backend_options, soc), NULL,
     "target SoC, e.g. SM8650 or 57, or none (htp, saver)"},
    {"precision", 0, QT_CHOICE, "P", offsetof(qt_backend_options, precision), QT_GPU_PRECISIONS,
     "float precision (gpu, compile)"},
    {"threads", 't', QT_COUNT, "N", offsetof(qt_backend_options, threads), NULL,
     "number of threads (default: all available CPUs)"},
    {"allow-fp16", 0, QT_BOOL, NULL, offsetof(qt_backend_options, allow_fp16), NULL,
     "run ops without a 16-bit integer form in fp16 (warns)"},
    {"log", 0, QT_CHOICE, "LEVEL", offsetof(qt_backend_options, log),
     "error|warn|info|verbose|debug", "backend log level"},
    {0},
};

const char *qt_precision(const qt_backend_options *opt, bool loaded) {
    return loaded ? "as compiled" : opt->precision ? opt->precision : "user";
}

const char *qt_backend_name(const qt_backend_options *opt) {
    return opt->backend ? opt->backend : opt->soc ? "htp" : "cpu";
}

// Does a backend's name or the path of its library stand for this kind?
static bool is_named(const char *name, const char *kind) {
    const char *slash = strrchr(name, '/');
    return strcasestr(slash ? slash + 1 : name, kind);
}

int qt_backend_of_binary(const char *path, uint32_t id, qt_backend_options *opt) {
    if (!opt->backend && id != QNN_BACKEND_ID_HTP && id != QNN_BACKEND_ID_GPU) {
        qt_error("%s: compiled for backend %u; pass its library with --backend", path, id);
        return QT_EXIT_USAGE;
    }
    if (!opt->backend)
        opt->backend = id == QNN_BACKEND_ID_GPU ? "gpu" : "htp";
    bool gpu = id == QNN_BACKEND_ID_GPU, htp = id == QNN_BACKEND_ID_HTP;
    if ((gpu || htp) &&
        (is_named(opt->backend, "cpu") || is_named(opt->backend, gpu ? "htp" : "gpu"))) {
        qt_error("%s: compiled for the %s; --backend %s cannot run it", path, gpu ? "GPU" : "HTP",
                 opt->backend);
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

static void print_log(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    static const char *const words[] = {"", "error", "warn", "info", "verbose", "debug"};
    (void)timestamp;
    char raw[2048], line[2048];
    qrn_log_line(raw, sizeof raw, fmt, args);
    qrn_shown_text(line, sizeof line, raw); // another library may not have done it
    fprintf(stderr, "[%s] %s\n", level >= 1 && level <= 5 ? words[level] : "log", line);
}

// Without --log: warnings, which say that results may not be what is expected. Errors are reported
// by whoever meets them, and while nodes are tried they are none.
static void print_warning(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    char line[2048];
    (void)timestamp;
    if (level != QNN_LOG_LEVEL_WARN || qt_is_quiet())
        return;
    qrn_log_line(line, sizeof line, fmt, args);
    qt_warn("%s", line);
}

// The API's callback has no context, so the backend that is watched is known to the process.
static struct {
    const qt_watch *watch;
    QnnLog_Level_t print; // lines up to this level are printed too; 0: warnings alone
} log_sink;

static void on_log(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    char line[2048];
    va_list copy;
    va_copy(copy, args);
    qrn_log_line(line, sizeof line, fmt, copy);
    va_end(copy);
    log_sink.watch->line(log_sink.watch->ctx, line);
    if (!log_sink.print)
        print_warning(fmt, level, timestamp, args);
    else if (level <= log_sink.print)
        print_log(fmt, level, timestamp, args);
}

bool qt_ask_verbose(const char *word) {
    char list[1024];
    const char *now = secure_getenv("QUERN_VERBOSE");
    int n = snprintf(list, sizeof list, "%s%s%s", now ? now : "", now && *now ? "," : "", word);
    return n > 0 && (size_t)n < sizeof list && setenv("QUERN_VERBOSE", list, 1) == 0;
}

static void print_nothing(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    (void)fmt, (void)level, (void)timestamp, (void)args;
}

static QnnLog_Level_t log_level(const char *word) {
    static const struct {
        const char *word;
        QnnLog_Level_t level;
    } levels[] = {{"error", QNN_LOG_LEVEL_ERROR},
                  {"warn", QNN_LOG_LEVEL_WARN},
                  {"info", QNN_LOG_LEVEL_INFO},
                  {"verbose", QNN_LOG_LEVEL_VERBOSE}};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (strcmp(word, levels[i].word) == 0)
            return levels[i].level;
    return QNN_LOG_LEVEL_DEBUG;
}

static bool is_ir(const char *name) { return strcmp(name, "ir") == 0 || is_named(name, "QnnIr"); }

// The target SoC: what --soc says, what a binary was made for, or the default. 0: none.
static int choose_soc(const qt_backend_options *opt, const char *name,
                      const qt_backend_extras *extras, uint32_t *out) {
    static bool warned;
    *out = extras->soc;
    if (opt->soc && strcasecmp(opt->soc, "none") == 0)
        *out = 0;
    else if (opt->soc && !qt_soc_find(opt->soc, out))
        return qt_soc_unknown("--soc", opt->soc);
    if (opt->soc || extras->soc || extras->no_context || !is_named(name, "htp"))
        return QT_EXIT_OK;
    (void)qt_soc_find(QT_DEFAULT_SOC, out);
    if (!warned)
        qt_inform("target SoC: " QT_DEFAULT_SOC " (default; choose with --soc)");
    warned = true;
    return QT_EXIT_OK;
}

// Names the device that computes, once.
static void inform_device(const qt_backend_options *opt, const qt_backend_extras *extras,
                          const qc_client *c) {
    static bool informed;
    char device[256];
    qt_gpu_name(c, device, sizeof device);
    if (!informed && device[0])
        qt_inform("device: %s; precision: %s", device, qt_precision(opt, extras->no_context));
    informed = true;
}

// Options that do not go with the library; closes it where they are mistakes.
static int check_opened(const qt_backend_options *opt, const qt_backend_extras *extras,
                        qc_client **c) {
    const char *name = qt_backend_name(opt);
    if (opt->precision && !qt_is_gpu(*c) && !extras->precisions) {
        qt_error("--precision is for --backend gpu, not for '%s'%s", name,
                 is_named(name, "htp") ? ": the SoC decides how floats are computed (--soc none: "
                                         "in float32)"
                                       : "");
        qc_close(*c);
        *c = NULL;
        return QT_EXIT_USAGE;
    }
    if (opt->soc && strcasecmp(opt->soc, "none") != 0 && !(*c)->is_htp)
        qt_warn("--soc has no effect on backend '%s'", name);
    if (opt->precision && extras->no_context && qt_is_gpu(*c))
        qt_warn("--precision has no effect on a context binary: it has that of its compilation");
    if (qt_is_gpu(*c))
        inform_device(opt, extras, *c);
    return QT_EXIT_OK;
}

// Other words for a backend, and what they mean.
static const struct {
    const char *word, *name;
} other_words[] = {{"npu", "htp"},       {"dsp", "htp"},    {"hexagon", "htp"}, {"hta", "htp"},
                   {"qnn", "htp"},       {"nsp", "htp"},    {"adreno", "gpu"},  {"opencl", "gpu"},
                   {"QnnHtp", "htp"},    {"QnnCpu", "cpu"}, {"QnnGpu", "gpu"},  {"x86", "cpu"},
                   {"QnnSaver", "saver"}};
static const char *const backends[] = {"cpu", "htp", "gpu", "saver", "ir"};
#define N_BACKENDS (sizeof backends / sizeof backends[0])

// A word that is neither a backend nor the path of a library.
static int check_name(const char *name) {
    const char *near = NULL;
    if (strchr(name, '/') || strstr(name, ".so") || strstr(name, ".dll"))
        return QT_EXIT_OK;
    for (size_t i = 0; i < N_BACKENDS; i++)
        if (strcmp(name, backends[i]) == 0)
            return QT_EXIT_OK;
        else if (strcasecmp(name, backends[i]) == 0)
            near = backends[i];
    for (size_t i = 0; !near && i < sizeof other_words / sizeof other_words[0]; i++)
        if (strcasecmp(name, other_words[i].word) == 0)
            near = other_words[i].name;
    near = near ? near : qrn_suggest(name, backends, N_BACKENDS);
    if (near)
        qt_error("--backend '%s': unknown backend; did you mean '%s'?", name, near);
    else
        qt_error("--backend '%s': unknown backend; expected cpu, htp, gpu, saver, ir or the path "
                 "of a library",
                 name);
    return QT_EXIT_USAGE;
}

// Before the library rejects it by the number of an error.
static int check_threads(const qt_backend_options *opt) {
    if (opt->threads <= MOST_THREADS)
        return QT_EXIT_OK;
    qt_error("--threads %llu: expected at most %d", (unsigned long long)opt->threads, MOST_THREADS);
    return QT_EXIT_USAGE;
}

int qt_open_backend(const qt_backend_options *opt, const qt_backend_extras *extras,
                    qc_client **out) {
    static const qt_backend_extras none;
    if (!extras)
        extras = &none;
    const char *name = qt_backend_name(opt);
    qc_options o = {.n_threads = (uint32_t)opt->threads,
                    .no_context = extras->no_context,
                    .context_configs = extras->context_configs,
                    .log = opt->silent ? print_nothing : print_warning,
                    .log_level = QNN_LOG_LEVEL_WARN};
    if (opt->log) {
        o.log = print_log;
        o.log_level = log_level(opt->log);
    }
    if (opt->watch) {
        log_sink.watch = opt->watch;
        log_sink.print = opt->log ? o.log_level : (QnnLog_Level_t)0;
        o.log = on_log;
        o.log_level = o.log_level > QNN_LOG_LEVEL_INFO ? o.log_level : QNN_LOG_LEVEL_INFO;
        o.node = opt->watch->node;
        o.node_ctx = opt->watch->ctx;
    }
    int code = check_name(name);
    if (code == QT_EXIT_OK)
        code = check_threads(opt);
    if (code == QT_EXIT_OK)
        code = choose_soc(opt, name, extras, &o.soc);
    if (code != QT_EXIT_OK)
        return code;
    if (o.soc && (is_named(name, "saver") || is_ir(name)))
        o.stands_for = QNN_BACKEND_ID_HTP;
    if (qc_open(name, &o, out) == QRN_OK)
        return check_opened(opt, extras, out);
    qt_error("%s", qrn_message());
    qt_hint("'quern doctor' looks for the usual causes");
    return QT_EXIT_FAILURE;
}
