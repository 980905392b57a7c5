// SPDX-License-Identifier: MIT
//
// --data-format-config FILE: data formats of the inputs and outputs of graphs, as JSON:
//   {"graphs": [{"graph_name": NAME or [NAME...],
//                "tensors": [{"tensor_name": NAME, "dataFormat": FORMAT}...]}...]}
#ifndef QRN_TOOLS_DATA_FORMAT_H
#define QRN_TOOLS_DATA_FORMAT_H

#include "frontend/client/client.h"

typedef struct qt_data_formats qt_data_formats;

// Reads the file; an exit status. Says what is wrong, with file and line.
int qt_data_formats_open(const char *path, qt_data_formats **out);
void qt_data_formats_close(qt_data_formats *f); // NULL is fine
// Tensors that the client creates from now on get their formats.
void qt_data_formats_use(qt_data_formats *f, qc_client *c);
// Did every entry find its tensor? An exit status; names the first that did not.
int qt_data_formats_check(const qt_data_formats *f);

#endif
