// SPDX-License-Identifier: MIT
//
// What a search found: the front as a table, everything as JSON, and as a page that draws it.
#include "tools/quern/commands.h"
#include "tools/quern/page_data.h"
#include "tools/quern/quantize_mixed.h"
#include "tools/quern/report.h"

#include "page_texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LAYERS 10 // in the table

static uint32_t count(const qt_mixed *x, const qt_mixed_point *p, uint32_t option) {
    uint32_t n = 0;
    for (uint32_t g = 0; g < x->n_groups; g++)
        n += p->choice[g] == option;
    return n;
}

static const qt_mixed_point *next_point(const qt_mixed *x, const qt_mixed_point *last) {
    const qt_mixed_point *next = NULL;
    for (uint32_t i = 0; i < x->n_points; i++) {
        const qt_mixed_point *p = &x->points[i];
        if (p->on_front && (!last || p->ms > last->ms) && (!next || p->ms < next->ms))
            next = p;
    }
    return next;
}

// What a layer loses most by any option that is faster than the finest.
static double loss_of(const qt_mixed *x, uint32_t g) {
    double most = 0;
    for (uint32_t i = 0; i < x->n_options; i++) {
        size_t at = (size_t)g * x->n_options + i;
        if (isfinite(x->noise[at]) && x->ms[at] < 0 && x->noise[at] > most)
            most = x->noise[at];
    }
    return most;
}

static void print_layers(const qt_mixed *x) {
    double last = INFINITY;
    qt_print("\nlayers that lose most by being faster\n");
    for (int k = 0; k < MOST_LAYERS; k++) {
        uint32_t best = UINT32_MAX;
        for (uint32_t g = 0; g < x->n_groups; g++)
            if (loss_of(x, g) > 0 && loss_of(x, g) < last &&
                (best == UINT32_MAX || loss_of(x, g) > loss_of(x, best)))
                best = g;
        if (best == UINT32_MAX)
            return;
        last = loss_of(x, best);
        qt_print("  %-32s -> %-6s %6.1f dB of noise by it alone\n", x->groups[best].first->name,
                 x->options[x->points[x->chosen].choice[best]].name, 10 * log10(last));
    }
}

void qt_mixed_print(const qt_mixed *x) {
    bool score = x->task->opt->command != NULL;
    qt_print("%u groups of layers, %u models measured on %u samples%s; ms are estimated for %s\n",
             x->n_groups, x->n_points, x->n_samples,
             x->stopped ? " until the search was stopped" : "", x->task->soc);
    qt_print("        ms  SQNR dB%s", score ? "     score" : "");
    for (uint32_t i = 0; i < x->n_options; i++)
        qt_print("  %6s", x->options[i].name);
    qt_print("\n");
    for (const qt_mixed_point *p = NULL; (p = next_point(x, p));) {
        qt_print("%s %8.3f  %7.1f", p == &x->points[x->chosen] ? ">" : " ", p->ms, p->sqnr);
        if (score)
            qt_print("  %8.4f", p->score);
        for (uint32_t i = 0; i < x->n_options; i++)
            qt_print("  %6u", count(x, p, i));
        qt_print("\n");
    }
    print_layers(x);
}

// --- files

static json_t *json_point(const qt_mixed *x, const qt_mixed_point *p) {
    json_t *choice = json_array();
    for (uint32_t g = 0; g < x->n_groups; g++)
        json_array_append_new(choice, json_integer(p->choice[g]));
    return json_pack("{s:f,s:o,s:o,s:b,s:b,s:o}", "ms", p->ms, "sqnr_db", qt_json_number(p->sqnr),
                     "score", qt_json_number(p->score), "front", p->on_front, "chosen",
                     p == &x->points[x->chosen], "choice", choice);
}

static json_t *json_layer(const qt_mixed *x, uint32_t g) {
    json_t *noise = json_array(), *ms = json_array();
    for (uint32_t i = 0; i < x->n_options; i++) {
        size_t at = (size_t)g * x->n_options + i;
        json_array_append_new(noise, qt_json_number(x->noise[at]));
        json_array_append_new(ms, qt_json_number(x->ms[at]));
    }
    return json_pack("{s:o,s:o,s:o}", "tensor", qt_json_text(x->groups[g].first->name), "noise",
                     noise, "ms", ms);
}

static json_t *json_all(const qt_mixed *x) {
    json_t *options = json_array(), *points = json_array(), *layers = json_array();
    for (uint32_t i = 0; i < x->n_options; i++)
        json_array_append_new(options, json_string(x->options[i].name));
    for (uint32_t i = 0; i < x->n_points; i++)
        json_array_append_new(points, json_point(x, &x->points[i]));
    for (uint32_t g = 0; g < x->n_groups; g++)
        json_array_append_new(layers, json_layer(x, g));
    return json_pack("{s:o,s:o,s:I,s:b,s:s,s:o,s:o,s:o}", "model", qt_json_text(x->task->path),
                     "soc", qt_json_text(x->task->soc), "samples", (json_int_t)x->n_samples,
                     "stopped", x->stopped, "finest", x->options[x->finest].name, "schemes",
                     options, "points", points, "layers", layers);
}

int qt_mixed_save(const qt_mixed *x) {
    const char *path = x->task->opt->front;
    size_t n = strlen(path);
    if (n > 5 && strcmp(path + n - 5, ".html") == 0)
        return qt_page_write(qt_page_mixed_page, "Mixed precision", x->task->path, json_all(x),
                             path)
                   ? QT_EXIT_OK
                   : QT_EXIT_FAILURE;
    char *text = qt_json_dump(json_all(x), JSON_INDENT(1));
    const qt_part parts[] = {{text, text ? strlen(text) : 0}, {"\n", 1}};
    int code = text && qt_write_file(path, parts, 2) ? QT_EXIT_OK : QT_EXIT_FAILURE;
    free(text);
    return code;
}
