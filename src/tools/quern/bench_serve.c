// SPDX-License-Identifier: MIT
//
// The requests of quern bench --serve. "run N" executes N times and answers with the times; what is
// not understood is answered with an error, and the next line is read. A line that is too long is
// read to its end before it is refused, so that its tail is not taken for a request.
#include "tools/quern/bench_serve.h"

#include "tools/quern/output.h"
#include "tools/quern/report.h"
#include "tools/quern/stats.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LINE 64
#define MAX_RUNS 100000

// One line without its end. False at the end of the input; *bad: too long, or with a zero byte.
static bool read_line(FILE *in, char line[MAX_LINE], bool *bad) {
    size_t n = 0;
    int c;
    *bad = false;
    while ((c = fgetc(in)) != EOF && c != '\n') {
        if (n + 1 == MAX_LINE || c == '\0')
            *bad = true;
        else
            line[n++] = (char)c;
    }
    if (n && line[n - 1] == '\r')
        n--;
    line[n] = '\0';
    return c != EOF || n || *bad;
}

static bool answer(FILE *out, json_t *o) {
    char *text = qt_json_dump(o, JSON_COMPACT);
    bool ok = text && fputs(text, out) != EOF && fputc('\n', out) != EOF;
    free(text);
    return fflush(out) == 0 && ok;
}

static json_t *refusal(const char *text) { return json_pack("{s:o}", "error", qt_json_text(text)); }

// N of "run N", 1 to MAX_RUNS; 0 for anything else.
static size_t runs_of(const char *line) {
    if (strncmp(line, "run ", 4) != 0 || strspn(line + 4, "0123456789") != strlen(line + 4))
        return 0;
    unsigned long n = strlen(line + 4) < 10 ? strtoul(line + 4, NULL, 10) : 0;
    return n <= MAX_RUNS ? n : 0;
}

static json_t *run(qt_session *s, size_t n, double *ms) {
    for (size_t i = 0; i < n; i++) {
        double t = qt_now_ms();
        if (qt_session_execute(s) != QRN_OK)
            return refusal(qrn_message());
        ms[i] = qt_now_ms() - t;
    }
    qt_sort(ms, n);
    return json_pack("{s:I,s:o,s:o,s:o,s:o}", "runs", (json_int_t)n, "min_ms",
                     qt_json_number(ms[0]), "median_ms", qt_json_number(qt_median(ms, n)),
                     "mean_ms", qt_json_number(qt_mean(ms, n)), "peak_rss_mb",
                     qt_json_number(qt_peak_rss_mb()));
}

int qt_bench_serve(qt_session *s, json_t *ready, FILE *in, FILE *out) {
    char line[MAX_LINE];
    bool bad, ok = answer(out, ready);
    double *ms = malloc(MAX_RUNS * sizeof *ms);
    if (!ms) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    while (ok && read_line(in, line, &bad)) {
        size_t n = bad ? 0 : runs_of(line);
        if (!bad && strcmp(line, "quit") == 0)
            break;
        ok = answer(out, n ? run(s, n, ms) : refusal("expected 'run N' (1 to 100000) or 'quit'"));
    }
    free(ms);
    if (!ok)
        qt_error("the answer could not be written");
    return ok ? QT_EXIT_OK : QT_EXIT_FAILURE;
}
