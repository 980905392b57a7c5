// SPDX-License-Identifier: MIT
//
// What quern estimate prints as JSON.
#include "tools/quern/estimate.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

static json_t *json_doubts(const qt_estimate *r) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->n_doubts; i++)
        json_array_append_new(list, json_pack("{s:s,s:o}", "word", r->doubts[i].word, "text",
                                              qt_json_text(r->doubts[i].text)));
    return list;
}

static json_t *json_classes(const qd_steps *steps, const qt_estimate *r) {
    qt_totals t = qt_add_up(steps, r->precision);
    double us[QD_CLASSES];
    json_t *all = json_object();
    qt_class_us(steps, &r->e, us);
    for (int k = 0; k < QD_CLASSES; k++)
        json_object_set_new(all, qd_class_names[k],
                            json_pack("{s:i,s:f}", "steps", (int)t.steps[k], "ms", us[k] / 1e3));
    return all;
}

static json_t *json_row(const qt_estimate *r) {
    const qd_steps *steps = &r->net->steps;
    const qd_estimate *e = &r->e;
    json_t *o = json_pack("{s:s,s:i,s:i,s:s,s:b}", "chip", r->at.chip->name, "soc",
                          (int)r->at.chip->soc, "arch", (int)r->at.chip->arch, "precision",
                          qd_precision_names[r->precision], "fitted", !r->at.lent_to);
    json_object_set_new(o, "ms", r->known ? qt_json_number(e->us / 1e3) : json_null());
    if (!r->known)
        return o;
    json_t *parts = json_pack("{s:f,s:f,s:f,s:f,s:f}", "start", e->start / 1e3, "matrix",
                              e->sum.matrix / 1e3, "vector", e->sum.vector / 1e3, "overhead",
                              e->sum.overhead / 1e3, "memory", e->memory / 1e3);
    json_object_set_new(o, "low_ms", qt_json_number(e->us / 1e3 * QT_LOW(r->n_doubts)));
    json_object_set_new(o, "high_ms", qt_json_number(e->us / 1e3 * QT_HIGH(r->n_doubts)));
    json_object_set_new(o, "parts_ms", parts);
    json_object_set_new(o, "partitions", json_integer(r->net->n_parts));
    json_object_set_new(o, "core_ms", qt_json_number(e->core / 1e3));
    json_object_set_new(o, "classes", json_classes(steps, r));
    json_object_set_new(o, "bound", json_string(qd_bound_names[qd_bound(&e->sum)]));
    json_object_set_new(o, "effective_tops", qt_json_number(qt_tops(steps, e)));
    json_object_set_new(o, "uncalibrated", json_doubts(r));
    json_object_set_new(o, "weight_bytes", qt_json_number(e->sum.weight_bytes));
    json_object_set_new(o, "spill_bytes", qt_json_number(e->sum.spill_bytes));
    json_object_set_new(o, "cache_bytes", qt_json_number(e->sum.cache_bytes));
    if (qd_is_decoding(steps))
        json_object_set_new(o, "tokens_per_s", qt_json_number(1e6 / e->us));
    json_object_set_new(o, "peak_vtcm_bytes", json_integer(r->peak_vtcm));
    return o;
}

static json_t *json_totals(const qd_steps *steps, qd_precision p) {
    qt_totals t = qt_add_up(steps, p);
    return json_pack("{s:s,s:i,s:i,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "precision",
                     qd_precision_names[p], "matrix_steps", (int)t.matrix, "vector_steps",
                     (int)t.vector, "macs", t.macs, "padded_macs", t.padded, "weight_bytes",
                     t.weights, "light_bytes", t.bytes[QD_LIGHT], "heavy_bytes", t.bytes[QD_HEAVY],
                     "move_bytes", t.bytes[QD_MOVE], "depthwise_bytes", t.bytes[QD_DEPTHWISE]);
}

// --- advice and steps

static json_t *json_gain(const qd_advice *a, double us) {
    return a->unknown ? json_null() : qt_json_number(us / 1e3);
}

static json_t *json_advice(const qt_estimates *all) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < all->advice.n; i++) {
        const qd_advice *a = &all->advice.list[i];
        json_t *hits = json_array();
        for (uint32_t k = 0; k < a->n; k++)
            json_array_append_new(
                hits, json_pack("{s:o,s:o,s:o}", "step",
                                qt_json_text(all->net->steps.list[a->hits[k].step].op->name),
                                "gain_ms", json_gain(a, a->hits[k].gain), "detail",
                                qt_json_text(a->hits[k].detail)));
        json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:o,s:b,s:o}", "rule", a->rule,
                                              "source", a->source, "change", a->change, "gain_ms",
                                              json_gain(a, a->gain), "at_most", a->at_most, "steps",
                                              hits));
    }
    return list;
}

static json_t *json_hints(const qt_hints *hints, uint32_t step) {
    json_t *list = json_array();
    for (uint32_t i = hints->at[step]; i < hints->at[step + 1]; i++)
        json_array_append_new(list, json_string(hints->rules[i]));
    return list;
}

static json_t *json_step(const qt_estimates *all, uint32_t i) {
    const qt_estimate *r = &all->rows[0];
    const qd_step *s = &all->net->steps.list[i];
    const qd_time *t = &r->e.steps[i];
    double a = r->precision == QD_W8A8 ? 1 : 2;
    json_t *o =
        json_pack("{s:o,s:s,s:s,s:i,s:i,s:s}", "name", qt_json_text(s->op->name), "op", s->op->type,
                  "class", qd_class_names[s->kind], "ops", (int)s->n_ops, "passes",
                  (int)qd_passes(s, r->precision), "bound", qd_bound_names[qd_bound(t)]);
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"us", qd_core(t)},
        {"share", qt_share(qd_core(t), &r->e) / 100},
        {"passes_fp16", qd_costs(s, QD_FP16)},
        {"matrix_us", t->matrix},
        {"vector_us", t->vector},
        {"overhead_us", t->overhead},
        {"memory_us", t->memory},
        {"macs", s->macs},
        {"padded_macs", s->padded},
        {"padding", s->kind == QD_MATRIX && s->macs > 0 ? s->padded / s->macs : 1},
        {"in_bytes", s->in * a},
        {"out_bytes", s->out * a},
        {"work_bytes", s->kind == QD_MATRIX ? 0 : qd_work(s) * a},
        {"weight_bytes", t->weight_bytes},
        {"spill_bytes", t->spill_bytes},
        {"padded_results", s->results},
        {"groups", s->kind == QD_MATRIX ? s->size.groups : 0},
        {"joins", s->joins},
    };
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        json_object_set_new(o, numbers[k].key, qt_json_number(numbers[k].value));
    json_object_set_new(o, "members", json_array()); // filled by the caller
    json_object_set_new(o, "hints", json_hints(&all->hints, i));
    return o;
}

static json_t *json_steps(const qt_estimates *all) {
    const qt_network *net = all->net;
    json_t *list = json_array();
    for (uint32_t i = 0; i < net->steps.n; i++)
        json_array_append_new(list, json_step(all, i));
    for (uint32_t i = 0; i < net->graph.n_ops; i++)
        if (net->steps.step_of[i] != QD_NO_STEP)
            json_array_append_new(
                json_object_get(json_array_get(list, net->steps.step_of[i]), "members"),
                qt_json_text(net->graph.ops[i].name));
    return list;
}

// --- the report

int qt_estimate_json(const qt_estimates *r) {
    const qt_network *net = r->net;
    json_t *list = json_array(), *refused = json_array();
    for (uint32_t i = 0; i < r->n; i++)
        json_array_append_new(list, json_row(&r->rows[i]));
    for (uint32_t i = 0; i < net->n_refused; i++)
        json_array_append_new(refused,
                              json_pack("{s:o,s:o,s:o}", "node", qt_json_text(net->refused[i].node),
                                        "op", qt_json_text(net->refused[i].op), "reason",
                                        qt_json_text(net->refused[i].why)));
    json_t *all = json_pack("{s:o,s:o,s:o,s:o}", "model", qt_json_text(r->path), "network",
                            json_totals(&net->steps, r->rows[0].precision), "estimates", list,
                            "refused", refused);
    json_object_set_new(all, "constants", json_string(qd_constants));
    json_object_set_new(all, "interval", json_real(1 - QT_LOW(r->rows[0].n_doubts)));
    json_object_set_new(all, "ms",
                        r->rows[0].known ? qt_json_number(r->rows[0].e.us / 1e3) : json_null());
    if (r->rows[0].known)
        json_object_set_new(all, "schedule", qt_schedule_json(&r->plan, r->steps));
    if (r->steps && r->rows[0].known) {
        json_object_set_new(all, "steps", json_steps(r));
        json_object_set_new(all, "advice", json_advice(r));
    }
    return qt_print_json(all);
}
