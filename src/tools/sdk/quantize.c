// SPDX-License-Identifier: MIT
#include "tools/sdk/quantize.h"

#include "tools/quern/commands.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>

const char *qs_scheme(const char *act_flag, const char *act, const char *weight_flag,
                      const char *weights) {
    static const struct {
        const char *act, *weights, *scheme;
    } known[] = {{"8", "8", "a8w8"},
                 {"8", "4", "a8w4"},
                 {"16", "8", "a16w8"},
                 {"16", "4", "a16w4"},
                 {"16", "16", "a16w16"}};
    act = act ? act : "8";
    weights = weights ? weights : "8";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].act, act) == 0 && strcmp(known[i].weights, weights) == 0)
            return known[i].scheme;
    qt_error("%s %s with %s %s is not supported; allowed are 8 with 4 and 8, 16 with 4, 8 and 16",
             act_flag, act, weight_flag, weights);
    return NULL;
}

int qs_quantize(const char *model, const char *output, const char *input_list, const char *scheme,
                const char *method) {
    const char *words[] = {model,      "--output", output,     "--calibration", input_list,
                           "--scheme", scheme,     "--method", method,          "--no-check",
                           "--quiet",  "--repair", "none"};
    const qt_command *c = &qt_quantize_command;
    qt_list args = {0};
    void *options = calloc(1, c->options_size);
    if (!options) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    int code = qt_flags_parse(c, (int)(sizeof words / sizeof words[0]), (char **)(uintptr_t)words,
                              options, &args);
    if (code == QT_EXIT_OK)
        code = c->run(options, &args);
    qt_flags_free(c, options, &args);
    free(options);
    return code;
}
