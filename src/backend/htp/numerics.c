// SPDX-License-Identifier: MIT
//
// The rule of the HTP's numbers: which formats a graph computes in. docs/numerics.md explains it.
//   no SoC and no architecture asked for   floats stay single precision (HTP-NUM-07)
//   v69 to v75                             halves without infinities and NaNs (HTP-NUM-08)
//   v79 and later                          IEEE halves; clamped when the graph asks for it
// Quantized numbers do not depend on the device.
#include "backend/htp/htp.h"

void qrn_htp_numerics(const qrn_api_graph *g, qrn_compile_options *opt) {
    const qrn_htp_device *d = qrn_htp_device_of(g->context);
    const qrn_htp_graph_options *o = &qrn_htp_graph_of(g)->options;
    opt->fold_relu = !o->fold_relu_off;
    opt->half_away = true; // HTP-NUM-02
    opt->pack4 = o->weights_packing;
    if (!d->chosen)
        opt->half = QRN_HALF_OFF;
    else if (d->soc.arch < 79)
        opt->half = QRN_HALF_WIDE;
    else
        opt->half = o->fp16_clamp ? QRN_HALF_CLAMP : QRN_HALF_IEEE;
}
