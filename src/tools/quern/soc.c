// SPDX-License-Identifier: MIT
//
// SoCs by name, from the table that the HTP backend uses, and by the devices that have them.
#include "tools/quern/soc.h"

#include "base/soc.h"
#include "device/cost.h"

#include <stdlib.h>

bool qt_soc_find(const char *text, uint32_t *model) {
    char *end = NULL;
    unsigned long number = strtoul(text, &end, 10);
    bool is_number = *text >= '0' && *text <= '9' && !*end && number <= UINT32_MAX;
    const qrn_soc *soc = is_number ? qrn_soc_by_id((uint32_t)number) : qrn_soc_by_name(text);
    const qd_chip *chip = soc || is_number ? NULL : qd_chip_find(text); // "Samsung Galaxy S24"
    if (!soc && chip)
        soc = qrn_soc_by_id(chip->soc);
    if (soc)
        *model = soc->id;
    return soc != NULL;
}
