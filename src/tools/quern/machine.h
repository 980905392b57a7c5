// SPDX-License-Identifier: MIT
//
// Facts about this machine and about the QNN libraries on it.
#ifndef QRN_TOOLS_QUERN_MACHINE_H
#define QRN_TOOLS_QUERN_MACHINE_H

#include "frontend/client/client.h"

typedef struct qt_machine {
    char cpu[128];
    char isa[128];      // what the kernels may use, after QUERN_ISA
    unsigned cpus;      // that this process may run on
    double quota;       // CPUs that the control group allows; 0: no limit
    double memory_free; // bytes; 0: not known
} qt_machine;
void qt_machine_read(qt_machine *m);

typedef struct qt_library {
    const char *name, *file; // "cpu", "libQnnCpu.so"
    bool found;
    char path[1024], provider[128], build[128];
    char error[512]; // why it cannot be opened, or has no backend
    Qnn_ApiVersion_t version;
    bool is_quern;
    uint32_t n_ops, n_devices;
} qt_library;
#define QT_N_LIBRARIES 5 // the last one is the System library, which has neither ops nor devices
void qt_libraries_read(qt_library libs[QT_N_LIBRARIES]);

#endif
