// SPDX-License-Identifier: MIT
//
// The extension library that a configuration names, opened and asked (Quern/NetRunExtensions.h).
#ifndef QRN_TOOLS_SDK_EXTENSION_LIBRARY_H
#define QRN_TOOLS_SDK_EXTENSION_LIBRARY_H

#include "frontend/client/client.h"

#include "Quern/NetRunExtensions.h"

#define QS_DEFAULT_EXTENSIONS "libQnnHtpNetRunExtensions.so"

typedef struct qs_extension {
    void *lib; // NULL: none was asked for
    const QuernExtension_Interface_t *fn;
    QuernExtension_Handle_t handle;
    QuernExtension_Facts_t facts;
} qs_extension;

// Opens `library`; without one, and with a performance profile, the HTP's own one. Nothing is
// opened when both are NULL. QT_EXIT_OK or another code after a message.
int qs_extension_open(const char *library, const char *file, const char *perf_profile,
                      qs_extension *out);
void qs_extension_close(qs_extension *e); // a cleared one is fine
// Votes need the device.
int qs_extension_attach(qs_extension *e, const qc_client *c);
// Around a phase; a failure is a warning, as the work itself can go on.
void qs_extension_begin(const qs_extension *e, QuernExtension_Phase_t phase);
void qs_extension_end(const qs_extension *e, QuernExtension_Phase_t phase);

#endif
