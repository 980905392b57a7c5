// SPDX-License-Identifier: MIT
//
// What quern bench measured, as text, JSON and a page.
#include "tools/quern/bench.h"
#include "tools/quern/gpu.h"
#include "tools/quern/page_data.h"
#include "tools/quern/report.h"
#include "tools/quern/stats.h"

#include "page_texts.h"

#include <string.h>

#define TABLE_ROWS 15

double qt_bench_load_ms(const qt_bench_run *b) { return b->subject.load_ms + b->s.load_ms; }

static json_t *json_shares(const qt_share *rows, size_t n, double total) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *o = json_pack("{s:o,s:f,s:f,s:I}", rows[i].type ? "name" : "type",
                              qt_json_text(rows[i].name), "us", rows[i].us, "share",
                              total > 0 ? rows[i].us / total : 0, "count", (json_int_t)rows[i].n);
        if (o && rows[i].type)
            json_object_set_new(o, "type", qt_json_text(rows[i].type));
        json_array_append_new(list, o);
    }
    return list;
}

static double total_us(const qt_bench_run *b) {
    double sum = 0;
    for (size_t i = 0; i < b->n_types; i++)
        sum += b->types[i].us;
    return sum;
}

const char *qt_bench_precision(const qt_bench_run *b) {
    return qt_precision(&b->opt->backend, b->subject.graph);
}

static json_t *json_points(const qt_bench_run *b) {
    json_t *list = json_array();
    for (size_t i = 0; i < b->n_points; i++)
        json_array_append_new(list, json_pack("{s:I,s:f,s:f}", "streams",
                                              (json_int_t)b->points[i].streams, "throughput",
                                              b->points[i].runs_per_second, "latency_ms",
                                              b->points[i].latency_ms));
    return list;
}

static json_t *report_json(qt_bench_run *b) {
    size_t nodes = b->opt->nodes < b->n_nodes ? (size_t)b->opt->nodes : b->n_nodes;
    const struct {
        const char *name;
        double value;
    } times[] = {
        {"min_ms", b->ms[0]},
        {"median_ms", qt_median(b->ms, b->n_runs)},
        {"mean_ms", qt_mean(b->ms, b->n_runs)},
        {"p95_ms", qt_quantile(b->ms, b->n_runs, 0.95)},
        {"throughput", b->throughput},
        {"load_ms", qt_bench_load_ms(b)},
        {"import_ms", b->s.import_ms},
        {"finalize_ms", b->s.finalize_ms},
        {"peak_rss_mb", b->peak_rss_mb},
    };
    json_t *o = json_pack(
        "{s:o,s:o,s:I,s:I,s:I}", "model", qt_json_text(b->path), "backend",
        qt_json_text(b->s.client->path), "threads", (json_int_t)b->opt->backend.threads, "streams",
        (json_int_t)(b->opt->streams > 1 ? b->opt->streams : 1), "runs", (json_int_t)b->n_runs);
    for (size_t i = 0; o && i < sizeof times / sizeof times[0]; i++)
        json_object_set_new(o, times[i].name, qt_json_number(times[i].value));
    qt_gpu_json(b->s.client, qt_bench_precision(b), o);
    if (o) {
        json_object_set_new(o, "ops", json_shares(b->types, b->n_types, total_us(b)));
        if (b->n_points)
            json_object_set_new(o, "by_streams", json_points(b));
        if (nodes)
            json_object_set_new(o, "nodes", json_shares(b->nodes, nodes, total_us(b)));
        if (b->opt->per_op && !b->interrupted)
            json_object_set_new(o, "per_op",
                                qt_json_ops(&b->ops, &b->peaks, (size_t)b->opt->nodes));
    }
    if (o && b->interrupted)
        json_object_set_new(o, "interrupted", json_true());
    return o;
}

static bool write_page(qt_bench_run *b) {
    json_t *o = report_json(b);
    if (o) {
        json_object_set(o, "times_ms", b->drawn);
        json_object_set_new(o, "times_step", json_integer((json_int_t)b->drawn_step));
        json_object_set_new(o, "version", json_string(QUERN_VERSION));
    }
    return qt_page_write(qt_page_bench_page, "Benchmark", b->path, o, b->opt->html);
}

static void print_shares(const char *title, const qt_share *rows, size_t n, size_t max,
                         double total) {
    qt_print("\n%s%-44s %6s %10s %7s%s\n", qt_style_on(QT_BOLD), title, "nodes", "ms", "share",
             qt_style_off());
    double rest = 0;
    size_t rest_n = 0;
    for (size_t i = 0; i < n; i++) {
        if (i >= max) {
            rest += rows[i].us;
            rest_n += rows[i].n;
            continue;
        }
        char label[128], cell[QT_CELL];
        bool typed = rows[i].type && strcmp(rows[i].type, "?") != 0;
        snprintf(label, sizeof label, typed ? "%s (%.20s)" : "%s",
                 qt_cell_name(rows[i].name, typed ? 28 : 44, cell), rows[i].type);
        qt_print("%-44s %6zu %10.3f %6.1f%%\n", label, rows[i].n, rows[i].us / 1e3,
                 total > 0 ? 100 * rows[i].us / total : 0);
    }
    if (rest_n)
        qt_print("%-44s %6zu %10.3f %6.1f%%\n", "others", rest_n, rest / 1e3,
                 total > 0 ? 100 * rest / total : 0);
}

int qt_bench_report(qt_bench_run *b) {
    if (b->opt->html && !write_page(b))
        return QT_EXIT_FAILURE;
    if (b->opt->json)
        return qt_print_json(report_json(b));
    const char *bold = qt_style_on(QT_BOLD), *off = qt_style_off();
    char device[256];
    qt_gpu_name(b->s.client, device, sizeof device);
    qt_print("%s%s%s on %s\n", bold, b->path, off, b->s.client->path);
    if (device[0])
        qt_print("device %s   precision %s\n", device, qt_bench_precision(b));
    qt_print("median %s%.3f ms%s   min %.3f   p95 %.3f   mean %.3f   (%zu runs)\n", bold,
             qt_median(b->ms, b->n_runs), off, b->ms[0], qt_quantile(b->ms, b->n_runs, 0.95),
             qt_mean(b->ms, b->n_runs), b->n_runs);
    qt_print("throughput %.1f runs/s   load %.1f ms   import %.1f ms   finalize %.1f ms   "
             "peak memory %.0f MiB\n",
             b->throughput, qt_bench_load_ms(b), b->s.import_ms, b->s.finalize_ms, b->peak_rss_mb);
    if (b->n_points)
        qt_print("\n%s%-10s %12s %12s%s\n", bold, "streams", "runs/s", "latency, ms", off);
    for (size_t i = 0; i < b->n_points; i++)
        qt_print("%-10u %12.1f %12.3f\n", b->points[i].streams, b->points[i].runs_per_second,
                 b->points[i].latency_ms);
    double total = total_us(b);
    bool typed = !b->subject.graph; // a binary does not have the types of its nodes
    if (b->n_types && typed)
        print_shares("op", b->types, b->n_types, TABLE_ROWS, total);
    else if (b->n_nodes && !b->opt->nodes)
        print_shares("node", b->nodes, b->n_nodes, TABLE_ROWS, total);
    if (b->opt->nodes && b->n_nodes)
        print_shares("slowest nodes", b->nodes,
                     b->opt->nodes < b->n_nodes ? (size_t)b->opt->nodes : b->n_nodes,
                     (size_t)b->opt->nodes, total);
    if (b->interrupted)
        qt_print("interrupted: the table of ops and further measurements are left out\n");
    if (b->opt->per_op && !b->opt->html && !b->interrupted)
        qt_print_ops(&b->ops, &b->peaks, (size_t)b->opt->nodes);
    return qt_close_stdout();
}
