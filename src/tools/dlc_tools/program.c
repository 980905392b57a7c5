// SPDX-License-Identifier: MIT
//
// The frame of the programs for DLC files.
#include "tools/dlc_tools/program.h"

int qp_main(const qt_command *c, void *options, int argc, char **argv) {
    qt_list args = {0};
    qt_output_init();
    qt_set_program(c->name);
    int code = qt_flags_parse(c, argc - 1, argv + 1, options, &args);
    if (code == QT_EXIT_OK)
        code = c->run(options, &args);
    else if (code < 0)
        code = qt_close_stdout();
    qt_flags_free(c, options, &args);
    return qt_finish(code);
}

int qp_version(const qt_command *c) {
    qt_print("%s of Quern %s\n", c->name, QUERN_VERSION);
    return qt_close_stdout();
}

const char *qp_text(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

// The System library has checked that it lies inside.
const uint8_t *qp_bytes(const qt_dlc *d, const json_t *place, const char *record, uint64_t *n) {
    uint64_t bytes = 0;
    const uint8_t *data = place ? qt_dlc_record(d, record, &bytes) : NULL;
    *n = (uint64_t)json_integer_value(json_array_get(place, 1));
    return data ? data + json_integer_value(json_array_get(place, 0)) : NULL;
}
