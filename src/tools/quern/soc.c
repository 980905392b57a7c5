// SPDX-License-Identifier: MIT
//
// The chips that the API numbers.
#include "tools/quern/soc.h"

#include "QnnTypes.h"

#include <stdlib.h>
#include <strings.h>

// clang-format off
#define SOC_LIST(X) \
    X(SDM845) X(SDM835) X(SDM821) X(SDM820) X(SDM801) X(SDM670) X(SDM660) X(SDM652)                \
    X(SDM636) X(SDM630) X(SDM625) X(SDM855) X(SDM710) X(SDM632) X(SM6150) X(SM7150)                \
    X(QCS405) X(SM6125) X(QCS403) X(SDM865) X(IPQ6018) X(IPQ6028) X(SM7250) X(SA8195)              \
    X(SM6250) X(SM4250) X(SM6350) X(SM8350) X(SM4350) X(SM7350) X(QCS410) X(SM8325)                \
    X(SM7325) X(SM8450) X(SC8280X) X(SM7315) X(SA8295) X(SM6225) X(SM7450) X(SM8475)               \
    X(SM8550) X(SXR1230P) X(SSG2115P) X(STP6225P) X(QCS6125) X(QRB4210) X(SM6450)                  \
    X(QCS7230) X(SA8255) X(SXR2230P) X(SM7475) X(SM4375) X(QCM4325) X(SM8650) X(SSG2125P)          \
    X(SM4450) X(SC8380XP) X(SM7435) X(SA8540) X(AIC100) X(SM7550) X(SM6450Q) X(QCS8550)            \
    X(SA8620P) X(SM8635) X(SM8750) X(SM7675) X(SM4635) X(SA8797) X(SM7635) X(SM6650)               \
    X(SXR2330P) X(SM6475) X(QCS9100) X(QCM6690) X(IPQ9574) X(IPQ5404) X(IPQ5424)                   \
    X(QCS8300) X(QCS2290) X(SA525M) X(SM8735) X(SM7750) X(SM8850)
// clang-format on

static const struct {
    const char *name;
    uint32_t model;
} socs[] = {
#define X(name) {#name, QNN_SOC_MODEL_##name},
    SOC_LIST(X)
#undef X
};

bool qt_soc_find(const char *text, uint32_t *model) {
    char *end = NULL;
    unsigned long number = strtoul(text, &end, 10);
    bool is_number = *text >= '0' && *text <= '9' && !*end;
    for (size_t i = 0; i < sizeof socs / sizeof socs[0]; i++)
        if (is_number ? socs[i].model == number : strcasecmp(socs[i].name, text) == 0) {
            *model = socs[i].model;
            return true;
        }
    return false;
}
