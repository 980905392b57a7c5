// SPDX-License-Identifier: MIT
//
// Parts of the page of an estimate.
#ifndef QRN_TOOLS_QUERN_ESTIMATE_PAGE_H
#define QRN_TOOLS_QUERN_ESTIMATE_PAGE_H

#include "tools/quern/estimate.h"

#include <stdio.h>

// Charts (estimate_charts.c), each a section.
void qt_page_timeline(FILE *f, const qt_estimates *r);
void qt_page_bars(FILE *f, const qt_estimates *r);
void qt_page_roofline(FILE *f, const qt_estimates *r);
void qt_page_chips(FILE *f, const qt_estimates *r); // of several SoCs

#endif
