// SPDX-License-Identifier: MIT
//
// Quern's own function of libQnnSystem.so: the API has none that adds a record to an open DLC file.
// QnnContext_addToDlc of the backends calls it, and programs may, too. Found with dlsym.

#ifndef QUERN_SYSTEM_DLC_H
#define QUERN_SYSTEM_DLC_H

#include "System/QnnSystemDlc.h"

#ifdef __cplusplus
extern "C" {
#endif

// Adds a copy of the bytes as a record behind the others. A name that is taken gets a number:
// "context.htp", "context.htp.1". The file itself changes with QnnSystemDlc_save alone. Handles of
// the file stay valid. Errors: 30000 for a handle that is none, 30001 for a name of 0 or of more
// than 240 bytes, no bytes, or a 4097th record, 1002 without memory.
QNN_SYSTEM_API Qnn_ErrorHandle_t QuernSystemDlc_addRecord(QnnSystemDlc_Handle_t dlcHandle,
                                                          QnnSystemDlc_RecordType_t recordType,
                                                          const char *recordName,
                                                          const uint8_t *data, uint64_t dataSize);

typedef Qnn_ErrorHandle_t (*QuernSystemDlc_AddRecordFn_t)(QnnSystemDlc_Handle_t dlcHandle,
                                                          QnnSystemDlc_RecordType_t recordType,
                                                          const char *recordName,
                                                          const uint8_t *data, uint64_t dataSize);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QUERN_SYSTEM_DLC_H
