// SPDX-License-Identifier: MIT
//
// What a graph was prepared with on a device: constants as its kernels read them, and measured
// choices. Nothing of it has to fit the graph: whoever binds looks for a name with the bytes it
// needs, and does without where there is none.
#include "binary/read.h"
#include "binary/write.h"

#define FORM_BYTES 16u
#define CHOICE_BYTES 16u

qrn_status qrn_bin_put_prepared(const qrn_bin_graph *g, uint32_t index, qrn_constants *c,
                                qrn_out *o) {
    const qrn_bin_prepared *p = g->prepared;
    qrn_out_text(o, p->device_key);
    qrn_out_text(o, p->device_name);
    qrn_out_u32(o, p->n_forms);
    qrn_out_u32(o, p->n_choices);
    for (uint32_t i = 0; i < p->n_forms; i++) {
        const qrn_bin_form *f = &p->forms[i];
        uint32_t constant = QRN_BIN_NONE;
        QRN_TRY(qrn_constants_add(c, index, f->data, f->size_bytes, false, &constant));
        qrn_out_u32(o, f->step);
        qrn_out_u32(o, f->value);
        qrn_out_u32(o, f->packing);
        qrn_out_u32(o, constant);
    }
    for (uint32_t i = 0; i < p->n_choices; i++) {
        qrn_out_text(o, p->choices[i].key);
        qrn_out_text(o, p->choices[i].winner);
    }
    return o->failed ? QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for its binary", g->name)
                     : QRN_OK;
}

static void get_form(qrn_in *in, qrn_bin_reading *r, qrn_bin_form *f) {
    f->step = qrn_in_u32(in);
    f->value = qrn_in_u32(in);
    f->packing = qrn_in_u32(in);
    const qrn_bin_constant *k = qrn_bin_find_constant(in, r, qrn_in_u32(in));
    if (k) {
        f->data = k->data;
        f->size_bytes = k->size_bytes;
    }
}

qrn_status qrn_bin_get_prepared(qrn_in *in, qrn_bin_reading *r, qrn_bin_graph *g) {
    qrn_bin_prepared *p = qrn_in_array(in, 1, sizeof *p);
    const char *key = qrn_in_text(in), *name = qrn_in_text(in);
    uint32_t n_forms = qrn_in_count(in, FORM_BYTES), n_choices = qrn_in_count(in, CHOICE_BYTES);
    qrn_bin_form *forms = qrn_in_array(in, n_forms, sizeof *forms);
    qrn_bin_choice *choices = qrn_in_array(in, n_choices, sizeof *choices);
    for (uint32_t i = 0; in->status == QRN_OK && i < n_forms; i++) {
        get_form(in, r, &forms[i]);
        if (i && qrn_bin_form_order(&forms[i - 1], &forms[i]) >= 0)
            qrn_in_fail(in, "prepared constants are not in order");
    }
    for (uint32_t i = 0; in->status == QRN_OK && i < n_choices; i++) {
        choices[i].key = qrn_in_text(in);
        choices[i].winner = qrn_in_text(in);
    }
    if (in->status == QRN_OK && in->at != in->n)
        qrn_in_fail(in, "graph '%s': bytes behind the last record", g->name);
    if (in->status == QRN_OK) {
        *p = (qrn_bin_prepared){key, name, forms, n_forms, choices, n_choices};
        g->prepared = p;
    }
    return in->status;
}
