// SPDX-License-Identifier: MIT
//
// quern compare --html: the report as one page that needs nothing from elsewhere. The numbers go
// into it as JSON (page/compare_page.html.in draws them); names reach the page as text only.
#include "tools/quern/commands.h"
#include "tools/quern/compare.h"
#include "tools/quern/page_data.h"
#include "tools/quern/report.h"

#include "page_texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *json_counts(const qt_histogram *h, int side) {
    json_t *list = json_array();
    for (size_t i = 0; i < h->n; i++)
        json_array_append_new(list, json_integer((json_int_t)h->counts[side][i]));
    return list;
}

static json_t *json_range(const qt_histogram *h, int side) {
    return json_pack("[o,o]", qt_json_number(h->min[side]), qt_json_number(h->max[side]));
}

static json_t *json_histogram(const qt_histogram *h) {
    return json_pack("{s:f,s:f,s:o,s:o}", "low", h->low, "width", h->width, "first",
                     json_counts(h, 0), "second", json_counts(h, 1));
}

static json_t *json_layer(const qt_match *m, size_t i) {
    const qt_layer *l = &m->layers[i];
    qt_histogram h;
    if (qt_layer_histogram(m, l, &h) != QRN_OK)
        return NULL;
    json_t *o = qt_layer_json(l);
    json_object_set_new(o, "order", json_integer((json_int_t)i + 1));
    json_object_set_new(o, "role", qt_json_text(l->pair.b->role));
    json_object_set_new(o, "shape", qt_json_shape(l->pair.b->rank, l->pair.b->dims));
    json_object_set_new(o, "type", l->pair.b->type ? qt_json_text(l->pair.b->type) : json_null());
    json_object_set_new(o, "step", qt_json_number(qt_dump_step(l->pair.b)));
    json_object_set_new(o, "first_range", json_range(&h, 0));
    json_object_set_new(o, "second_range", json_range(&h, 1));
    json_object_set_new(o, "clipped",
                        h.has_range && h.n_values
                            ? json_real((double)h.n_clipped / (double)h.n_values)
                            : json_null());
    json_object_set_new(o, "histogram", h.n ? json_histogram(&h) : json_null());
    return o;
}

static json_t *json_graph(const qt_match *m) {
    json_t *layers = json_array(), *pictures = qt_compare_pictures(m);
    bool good = pictures != NULL;
    for (size_t i = 0; i < m->n && good; i++) {
        json_t *o = json_layer(m, i);
        good = o && json_array_append_new(layers, o) == 0;
        qt_progress("histograms", i + 1, m->n);
    }
    qt_progress("histograms", 0, 0);
    if (!good) {
        json_decref(layers);
        json_decref(pictures);
        return NULL;
    }
    return json_pack("{s:o,s:o,s:o,s:o,s:I,s:I,s:o,s:o}", "graph", qt_json_text(m->b->graph),
                     "reference", qt_json_text(m->a->graph), "first_backend",
                     qt_json_text(m->a->backend), "second_backend", qt_json_text(m->b->backend),
                     "executions", (json_int_t)m->n_runs, "tensors", (json_int_t)m->b->n, "layers",
                     layers, "pictures", pictures);
}

int qt_compare_page_write(const qt_compare_page *p, const char *path) {
    json_t *graphs = json_array();
    for (size_t i = 0; i < p->n; i++) {
        json_t *o = json_graph(&p->matches[i]);
        if (!o) {
            qt_error("%s", qrn_message());
            json_decref(graphs);
            return QT_EXIT_INPUT;
        }
        json_array_append_new(graphs, o);
    }
    json_t *all = json_pack("{s:s,s:o,s:o,s:f,s:o}", "version", QUERN_VERSION, "first",
                            qt_json_text(p->first), "second", qt_json_text(p->second), "limit_db",
                            p->limit_db, "graphs", graphs);
    return qt_page_write(qt_page_compare_page, "Accuracy report", p->second, all, path)
               ? QT_EXIT_OK
               : QT_EXIT_FAILURE;
}
