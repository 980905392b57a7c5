// SPDX-License-Identifier: MIT
//
// qnn_executor_runner: runs a method of an ExecuTorch program on the QNN libraries that its
// delegates name. Flags, files and log lines are those that ExecuTorch's own scripts and tests
// expect of the program of this name. Exit status 0 or 1.
#include "base/outfile.h"
#include "base/report_text.h"
#include "frontend/executorch/method.h"
#include "tools/executor_runner/runner_flags.h"
#include "tools/executor_runner/runner_list.h"
#include "tools/quern/heap.h"
#include "tools/quern/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct shapes {
    runner_lines lines;
    bool given;
} shapes;

typedef struct runner {
    const runner_flags *flags;
    et_program *program;
    et_method *method;
    uint8_t **inputs; // buffers of the largest shapes
    shapes in, out;
    et_trace *trace; // NULL: no etdump is wanted
    double total_ms; // timed
} runner;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static double started_ms;

// Names in a line come from files: they must not steer the terminal.
__attribute__((format(printf, 1, 0))) static void put_line(const char *fmt, va_list args) {
    char raw[4096], text[4096];
    qrn_log_line(raw, sizeof raw, fmt, args);
    qrn_shown_text(text, sizeof text, raw);
    fprintf(stderr, "%s\n", text);
}

static void say(char level, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void say(char level, int line, const char *fmt, ...) {
    uint64_t us = (uint64_t)((now_ms() - started_ms) * 1e3), s = us / 1000000;
    va_list args;
    fprintf(stderr, "%c %02u:%02u:%02u.%06u executorch:executor_runner.c:%d] ", level,
            (unsigned)(s / 3600), (unsigned)(s / 60 % 60), (unsigned)(s % 60),
            (unsigned)(us % 1000000), line);
    if (level == 'E' && qt_out_of_memory())
        fputs("out of memory: ", stderr);
    va_start(args, fmt);
    put_line(fmt, args);
    va_end(args);
}
#define INFO(...) say('I', __LINE__, __VA_ARGS__)
#define ERROR(...) say('E', __LINE__, __VA_ARGS__)

static void qnn_log(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    const char *word = level == QNN_LOG_LEVEL_ERROR  ? "ERROR"
                       : level == QNN_LOG_LEVEL_WARN ? "WARNING"
                                                     : "INFO";
    const char *mark = level == QNN_LOG_LEVEL_ERROR  ? "<E>"
                       : level == QNN_LOG_LEVEL_WARN ? "<W>"
                       : level == QNN_LOG_LEVEL_INFO ? "<I>"
                                                     : "<V>";
    (void)timestamp;
    fprintf(stderr, "[%s] [Qnn ExecuTorch]:  %s ", word, mark);
    put_line(fmt, args);
}

// --- Loading

static bool load(runner *r, int argc, char **argv) {
    const runner_flags *f = r->flags;
    if (et_program_open(f->model_path, &r->program) != QRN_OK) {
        ERROR("Loading of %s failed: %s", f->model_path, qrn_message());
        return false;
    }
    INFO("Model file %s is loaded.", f->model_path);
    if (f->method_index >= r->program->n_methods) {
        ERROR("--method_index %lld: the program has %u methods", (long long)f->method_index,
              r->program->n_methods);
        return false;
    }
    const et_method_def *d = &r->program->methods[f->method_index];
    INFO("Using method %s", d->name);
    for (uint32_t i = 0; i < d->n_buffers; i++)
        INFO("Setting up planned buffer %u, size %llu.", i, (unsigned long long)d->buffers[i]);
    et_options opt = {
        .log = qnn_log,
        .trace = r->trace,
        .set_profile = runner_flag_given("profile_level", argc, argv),
        .set_performance = runner_flag_given("htp_performance_mode", argc, argv),
        .profile_level = (int)f->profile_level,
        .performance_mode = (int)f->htp_performance_mode,
    };
    if (runner_flag_given("log_level", argc, argv)) {
        opt.log_level = (int)f->log_level;
        opt.log = f->log_level ? qnn_log : NULL;
    }
    if (et_method_load(r->program, (uint32_t)f->method_index, &opt, &r->method) != QRN_OK) {
        ERROR("Loading of method %s failed: %s", d->name, qrn_message());
        return false;
    }
    INFO("Method loaded.");
    return true;
}

// Room for the inputs, filled with ones.
static bool prepare_inputs(runner *r) {
    const et_method_def *d = r->method->def;
    r->inputs = calloc(d->n_inputs + 1, sizeof *r->inputs);
    if (!r->inputs) {
        ERROR("out of memory");
        return false;
    }
    for (uint32_t i = 0; i < d->n_inputs; i++) {
        const et_item *v = et_method_input(r->method, i);
        if (v->kind != ET_KIND_TENSOR) {
            ERROR("Input %u is not a tensor; only tensors can be given", i);
            return false;
        }
        const et_tensor_def *t = v->tensor->def;
        size_t bytes = t->bytes, each = et_type_bytes(t->type);
        r->inputs[i] = calloc(bytes + 1, 1);
        if (!r->inputs[i]) {
            ERROR("out of memory for input %u of %zu bytes", i, bytes);
            return false;
        }
        const float one = 1;
        const double one_d = 1;
        const uint16_t half = t->type == ET_BFLOAT16 ? 0x3f80 : t->type == ET_HALF ? 0x3c00 : 1;
        const uint64_t integer = 1; // little-endian: its first bytes are a one of any size
        const void *from = t->type == ET_FLOAT    ? (const void *)&one
                           : t->type == ET_DOUBLE ? (const void *)&one_d
                           : each == 2            ? (const void *)&half
                                                  : (const void *)&integer;
        for (size_t k = 0; k + each <= bytes; k += each)
            memcpy(r->inputs[i] + k, from, each);
    }
    INFO("Inputs prepared.");
    INFO("Number of inputs: %u", d->n_inputs);
    return true;
}

static bool read_shapes(const char *path, shapes *s) {
    s->given = path[0];
    if (!s->given || runner_lines_read(path, &s->lines))
        return true;
    ERROR("Shapes cannot be read from %s", path);
    return false;
}

// --- Running

static bool give_input(runner *r, uint32_t i) {
    const et_tensor_def *t = et_method_input(r->method, i)->tensor->def;
    int64_t dims[ET_MAX_RANK];
    size_t n = 0;
    if (r->in.given &&
        (i >= r->in.lines.n || !runner_shape(r->in.lines.lines[i], dims, ET_MAX_RANK, &n) ||
         n != t->rank)) {
        ERROR("%s has no shape of rank %u for input %u", r->flags->input_shape_path, t->rank, i);
        return false;
    }
    if (et_method_set_input(r->method, i, r->inputs[i], t->bytes, r->in.given ? dims : NULL) ==
        QRN_OK)
        return true;
    ERROR("%s", qrn_message());
    return false;
}

static bool give_inputs(runner *r) {
    for (uint32_t i = 0; i < r->method->def->n_inputs; i++)
        if (!give_input(r, i))
            return false;
    return true;
}

static bool execute(runner *r, int64_t times, double *ms) {
    double t0 = now_ms();
    for (int64_t i = 0; i < times; i++) {
        if (et_method_execute(r->method) != QRN_OK) {
            ERROR("Execution of method %s failed: %s", r->method->def->name, qrn_message());
            return false;
        }
    }
    *ms = now_ms() - t0;
    return true;
}

static bool write_file(const char *path, const void *bytes, size_t n) {
    qrn_outfile f;
    qrn_status s = qrn_outfile_begin_unsynced(&f, AT_FDCWD, path);
    if (s == QRN_OK) {
        qrn_outfile_write(&f, bytes, n);
        s = qrn_outfile_commit(&f);
    }
    if (s != QRN_OK)
        ERROR("%s%s", qrn_message(), f.error == ENOENT ? "; the folder must exist" : "");
    return s == QRN_OK;
}

static bool write_output(const runner *r, size_t inference, uint32_t i) {
    const et_item *v = et_method_output(r->method, i);
    if (v->kind != ET_KIND_TENSOR) {
        ERROR("Output %u is not a tensor; only tensors can be written", i);
        return false;
    }
    size_t bytes = et_tensor_bytes(v->tensor), n = 0;
    int64_t dims[ET_MAX_RANK];
    if (r->out.given) {
        if (i >= r->out.lines.n || !runner_shape(r->out.lines.lines[i], dims, ET_MAX_RANK, &n)) {
            ERROR("%s has no shape for output %u", r->flags->output_shape_path, i);
            return false;
        }
        double want = (double)et_type_bytes(v->tensor->def->type);
        for (size_t d = 0; d < n; d++)
            want *= (double)dims[d];
        if (want > (double)bytes) {
            ERROR("%s: output %u has %zu bytes, the shape needs %.0f", r->flags->output_shape_path,
                  i, bytes, want);
            return false;
        }
        bytes = (size_t)want;
    }
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/output_%zu_%u.raw", r->flags->output_folder_path,
                       inference, i);
    if (len < 0 || (size_t)len >= sizeof path) {
        ERROR("The path of output %u is too long", i);
        return false;
    }
    return write_file(path, v->tensor->data, bytes);
}

// Reads the files of a line into the inputs.
static bool read_line(runner *r, char *line, size_t inference) {
    uint32_t n = r->method->def->n_inputs;
    char **parts = calloc(n + 1, sizeof *parts);
    size_t found = parts ? runner_split(line, parts, n) : 0;
    bool ok = parts && found == n;
    if (!parts)
        ERROR("inference %zu", inference);
    else if (!ok)
        ERROR("Line %zu of the input list names %zu files, the method has %u inputs", inference,
              found, n);
    for (uint32_t i = 0; i < n && ok; i++)
        ok = runner_read(parts[i], r->inputs[i], et_method_input(r->method, i)->tensor->def->bytes,
                         r->in.given);
    free(parts);
    return ok;
}

static bool run_line(runner *r, char *line, size_t inference) {
    const runner_flags *f = r->flags;
    double ms = 0;
    if (!read_line(r, line, inference) || !give_inputs(r))
        return false;
    if (f->warm_up) {
        INFO("Perform %lld inference for warming up", (long long)f->warm_up);
        if (!execute(r, f->warm_up, &ms))
            return false;
    }
    INFO("Start inference (%zu)", inference);
    if (!execute(r, f->iteration, &ms))
        return false;
    r->total_ms += ms;
    INFO("%lld inference took %f ms, avg %f ms", (long long)f->iteration, ms,
         ms / (double)f->iteration);
    for (uint32_t i = 0; i < r->method->def->n_outputs; i++)
        if (!write_output(r, inference, i))
            return false;
    return true;
}

static bool write_speed(const runner *r, double ms) {
    char text[64];
    int n = snprintf(text, sizeof text, "%f", ms);
    return write_file(r->flags->performance_output_path, text, (size_t)n);
}

static bool run_lines(runner *r, const runner_lines *l) {
    for (size_t i = 0; i < l->n; i++)
        if (!run_line(r, l->lines[i], i))
            return false;
    if (l->n == 0)
        return true;
    INFO("Total %zu inference took %f ms, avg %f ms", l->n, r->total_ms,
         r->total_ms / (double)l->n);
    return write_speed(r, r->total_ms / (double)l->n);
}

// Without a list the inputs are ones, and nothing is written.
static bool run_ones(runner *r) {
    double ms = 0;
    INFO("Input list not provided. Inputs prepared with default values set.");
    if (!give_inputs(r) || !execute(r, 1 + r->flags->warm_up, &ms) ||
        !execute(r, r->flags->iteration, &ms))
        return false;
    INFO("%lld inference took %f ms, avg %f ms", (long long)r->flags->iteration, ms,
         ms / (double)r->flags->iteration);
    return true;
}

// --- The trace

static bool make_trace(runner *r) {
    const runner_flags *f = r->flags;
    if (!f->etdump_path[0] && f->dump_intermediate_outputs) {
        ERROR("--dump_intermediate_outputs needs an --etdump_path");
        return false;
    }
    if (!f->etdump_path[0])
        return true;
    r->trace = et_trace_create(f->dump_intermediate_outputs ? (size_t)f->debug_buffer_size : 0);
    if (!r->trace)
        ERROR("out of memory");
    return r->trace;
}

static bool write_trace(const runner *r) {
    const runner_flags *f = r->flags;
    size_t size;
    if (!r->trace)
        return true;
    if (et_trace_write(r->trace, f->etdump_path, &size) != QRN_OK) {
        ERROR("%s", qrn_message());
        return false;
    }
    INFO("Write etdump to %s, Size = %zu", f->etdump_path, size);
    if (!et_trace_wants_tensors(r->trace))
        return true;
    if (et_trace_write_tensors(r->trace, f->debug_output_path, &size) != QRN_OK) {
        ERROR("%s", qrn_message());
        return false;
    }
    INFO("Write debug output binary to %s, Size = %zu", f->debug_output_path, size);
    return true;
}

static bool run(runner *r, int argc, char **argv) {
    const runner_flags *f = r->flags;
    if (!f->input_shape_path[0] != !f->output_shape_path[0]) {
        ERROR("--input_shape_path and --output_shape_path belong together");
        return false;
    }
    if (!read_shapes(f->input_shape_path, &r->in) || !read_shapes(f->output_shape_path, &r->out) ||
        !make_trace(r) || !load(r, argc, argv) || !prepare_inputs(r))
        return false;
    runner_lines list = {0};
    bool given = access(f->input_list_path, F_OK) == 0;
    bool ok = !given || runner_lines_read(f->input_list_path, &list);
    if (!ok)
        ERROR("The input list cannot be read: %s", qrn_message());
    ok = ok && (given ? run_lines(r, &list) : run_ones(r));
    runner_lines_free(&list);
    return ok && write_trace(r);
}

int main(int argc, char **argv) {
    runner_flags flags;
    started_ms = now_ms();
    qt_output_init();
    qt_set_program("qnn_executor_runner");
    qt_watch_files();
    if (!runner_flags_parse(argc, argv, &flags))
        return 1;
    if (flags.help) {
        runner_flags_help();
        return fflush(stdout) == 0 ? 0 : 1;
    }
    if (runner_flag_given("heap_profiling_path", argc, argv))
        say('W', __LINE__, "--heap_profiling_path has no effect in this runner; see --help");
    runner r = {.flags = &flags};
    bool ok = run(&r, argc, argv);
    for (uint32_t i = 0; r.inputs && i < r.method->def->n_inputs; i++)
        free(r.inputs[i]);
    free(r.inputs);
    runner_lines_free(&r.in.lines);
    runner_lines_free(&r.out.lines);
    et_method_free(r.method);
    et_trace_destroy(r.trace);
    et_program_close(r.program);
    if (ok && qt_out_of_memory())
        ERROR("what was written may not be whole");
    return ok && !qt_out_of_memory() ? 0 : 1;
}
