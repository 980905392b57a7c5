// SPDX-License-Identifier: MIT
//
// The report of quern bench --per-op: each node's time against what the machine could do. A node's
// limit is the slower of its multiply-adds at the peak of its kind of number and its bytes at the
// speed of the nearest memory that can hold them all. They may lie further away all the same: what
// a node reads was written some time ago.
#include "tools/quern/bench_ops.h"

#include "tools/quern/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// The nearest memory with room for so many bytes, and its speed.
static const char *level_of(double bytes, const qt_peaks *p, double *gbs) {
    bool l2 = bytes <= p->l2_bytes && p->l2_gbs > 0;
    bool l3 = bytes <= p->l3_bytes && p->l3_gbs > 0;
    *gbs = l2 ? p->l2_gbs : l3 ? p->l3_gbs : p->dram_gbs;
    return l2 ? "L2" : l3 ? "L3" : "DRAM";
}

qt_op_rates qt_op_rate(const qt_op_row *r, const qt_peaks *p) {
    double peak = p->gops[r->peak], gbs;
    qt_op_rates y = {NAN, NAN, NAN, NAN, level_of(r->bytes, p, &gbs), NAN};
    double products_us = r->macs >= 0 && peak > 0 ? 2 * r->macs / (1e3 * peak) : NAN;
    double bytes_us = gbs > 0 ? r->bytes / (1e3 * gbs) : NAN;
    y.limit_us = fmax(products_us, bytes_us); // of two, one that is known
    if (r->us <= 0)
        return y;
    y.gbs = r->bytes / (1e3 * r->us);
    y.of_bandwidth = bytes_us / r->us;
    if (r->macs > 0) {
        y.gops = 2 * r->macs / (1e3 * r->us);
        y.of_peak = products_us / r->us;
    }
    return y;
}

qt_op_shares qt_op_share(const qt_op_row *r) {
    double whole = r->threads * r->span_ns;
    if (!(whole > 0))
        return (qt_op_shares){NAN, NAN, NAN};
    return (qt_op_shares){r->busy_ns / whole, r->longest_ns / r->span_ns - r->busy_ns / whole,
                          1 - r->longest_ns / r->span_ns};
}

static int slower_first(const void *a, const void *b) {
    const qt_op_row *x = a, *y = b;
    return x->us > y->us ? -1 : x->us < y->us ? 1 : strcmp(x->name, y->name);
}

// Names of rows are found by index, so sorting ends the collecting.
static double sort_rows(qt_ops *ops) {
    double total = 0;
    qrn_strmap_clear(&ops->names);
    if (ops->n)
        qsort(ops->rows, ops->n, sizeof *ops->rows, slower_first);
    for (size_t i = 0; i < ops->n; i++)
        total += ops->rows[i].us > 0 ? ops->rows[i].us : 0;
    return total;
}

static json_t *json_peaks(const qt_peaks *p) {
    json_t *o = json_pack("{s:I,s:o,s:o,s:o,s:o,s:o}", "threads", (json_int_t)p->threads, "l2_gbs",
                          qt_json_number(p->l2_gbs), "l3_gbs", qt_json_number(p->l3_gbs),
                          "dram_gbs", qt_json_number(p->dram_gbs), "l2_bytes",
                          qt_json_number(p->l2_bytes), "l3_bytes", qt_json_number(p->l3_bytes));
    for (int i = 0; o && i < QT_N_PEAKS; i++) {
        char key[16];
        snprintf(key, sizeof key, "%s_gops", qt_peak_names[i]);
        json_object_set_new(o, key, qt_json_number(p->gops[i]));
    }
    return o;
}

static void print_peaks(const qt_peaks *p) {
    qt_print("peaks of %u thread%s:", p->threads, p->threads == 1 ? "" : "s");
    for (int i = 0; i < QT_N_PEAKS; i++)
        if (p->how[i])
            qt_print("  %s %.0f GOPS (%s)", qt_peak_names[i], p->gops[i], p->how[i]);
    qt_print("  L2 %.0f", p->l2_gbs);
    if (p->l3_gbs > 0)
        qt_print("  L3 %.0f", p->l3_gbs);
    qt_print("  DRAM %.1f GB/s\n", p->dram_gbs);
}

static json_t *json_steps(const qt_op_step *s) {
    json_t *list = json_array();
    for (; s; s = s->next)
        json_array_append_new(
            list, json_pack("{s:o,s:o,s:o,s:o,s:o}", "family", qt_json_text(s->family), "kernel",
                            qt_json_text(s->kernel), "shapes", qt_json_text(s->shapes), "why",
                            qt_json_text(s->why), "bytes", qt_json_number(s->bytes)));
    return list;
}

static json_t *json_row(const qt_op_row *r, const qt_peaks *p, double total) {
    qt_op_rates y = qt_op_rate(r, p);
    qt_op_shares time = qt_op_share(r);
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"us", r->us >= 0 ? r->us : NAN},
        {"share", r->us >= 0 && total > 0 ? r->us / total : NAN},
        {"macs", r->macs >= 0 ? r->macs : NAN},
        {"gops", y.gops},
        {"of_peak", y.of_peak},
        {"bytes", r->bytes},
        {"gbs", y.gbs},
        {"of_bandwidth", y.of_bandwidth},
        {"limit_us", y.limit_us},
        {"tasks", r->tasks ? (double)r->tasks : (double)NAN},
        {"efficiency", time.efficiency},
        {"imbalance", time.imbalance},
        {"barrier", time.barrier},
    };
    json_t *o = json_pack("{s:o,s:o,s:s,s:s}", "node", qt_json_text(r->name), "type",
                          qt_json_text(r->type), "peak", qt_peak_names[r->peak], "level", y.level);
    for (size_t i = 0; o && i < sizeof numbers / sizeof numbers[0]; i++)
        json_object_set_new(o, numbers[i].name, qt_json_number(numbers[i].value));
    if (o)
        json_object_set_new(o, "steps", json_steps(r->steps));
    return o;
}

json_t *qt_json_ops(qt_ops *ops, const qt_peaks *p, size_t max_rows) {
    double total = sort_rows(ops);
    json_t *rows = json_array();
    for (size_t i = 0; i < ops->n && (!max_rows || i < max_rows); i++)
        json_array_append_new(rows, json_row(&ops->rows[i], p, total));
    json_t *memory = ops->bound_bytes > 0
                         ? json_pack("{s:o,s:o}", "arena_bytes", qt_json_number(ops->arena_bytes),
                                     "bound_bytes", qt_json_number(ops->bound_bytes))
                         : json_null();
    return json_pack("{s:o,s:o,s:o}", "peaks", json_peaks(p), "memory", memory, "rows", rows);
}

// A number or a dash, right-aligned.
static void print_cell(int width, int digits, double v, const char *unit) {
    if (isfinite(v))
        qt_print(" %*.*f%s", width, digits, v, unit);
    else
        qt_print(" %*s%*s", width, "-", (int)strlen(unit), "");
}

// Did a node run on several threads?
static bool is_divided(const qt_ops *ops) {
    for (size_t i = 0; i < ops->n; i++)
        if (ops->rows[i].threads > 1)
            return true;
    return false;
}

static void print_threads(const qt_op_row *r) {
    qt_op_shares time = qt_op_share(r);
    print_cell(7, 0, r->tasks ? (double)r->tasks : (double)NAN, "");
    print_cell(5, 0, 100 * time.efficiency, "%");
    print_cell(5, 0, 100 * time.imbalance, "%");
    print_cell(4, 0, 100 * time.barrier, "%");
}

void qt_print_ops(qt_ops *ops, const qt_peaks *p, size_t max_rows) {
    double total = sort_rows(ops);
    qt_print("\n");
    print_peaks(p);
    if (ops->bound_bytes > 0)
        qt_print("intermediate tensors: %.2f MiB, at least %.2f MiB\n", ops->arena_bytes / 0x1p20,
                 ops->bound_bytes / 0x1p20);
    qt_print("%s%-52s %9s %7s %8s %7s %9s %7s %12s%s%s\n", qt_style_on(QT_BOLD), "node (op)", "us",
             "share", "GOPS", "peak", "MB", "GB/s", "of memory",
             is_divided(ops) ? "  tasks   busy uneven waits" : "", qt_style_off());
    for (size_t i = 0; i < ops->n && (!max_rows || i < max_rows); i++) {
        const qt_op_row *r = &ops->rows[i];
        qt_op_rates y = qt_op_rate(r, p);
        char label[128], cell[QT_CELL];
        snprintf(label, sizeof label, "%s (%.19s)", qt_cell_name(r->name, 30, cell), r->type);
        qt_print("%-52s", label);
        print_cell(9, 0, r->us >= 0 ? r->us : NAN, "");
        print_cell(6, 1, r->us >= 0 && total > 0 ? 100 * r->us / total : NAN, "%");
        print_cell(8, 1, y.gops, "");
        print_cell(6, 1, 100 * y.of_peak, "%");
        print_cell(9, 3, r->bytes / 1e6, "");
        print_cell(7, 1, y.gbs, "");
        print_cell(6, 1, 100 * y.of_bandwidth, "%");
        qt_print(" %-4s", y.level);
        if (r->threads > 1)
            print_threads(r);
        qt_print("\n");
        for (const qt_op_step *s = r->steps; s; s = s->next)
            qt_print("    %s  %s%s%s%s%s\n", s->kernel, qt_style_on(QT_DIM), s->shapes,
                     s->why[0] ? "  " : "", s->why, qt_style_off());
    }
}
