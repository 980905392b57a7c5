// SPDX-License-Identifier: MIT
//
// Profile component: events with their durations and counts, collected by the calls a profile
// handle is given to.

#ifndef QNN_PROFILE_H
#define QNN_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Event types. 404 to 408 are below 400.
#define QNN_PROFILE_EVENTTYPE_INIT 100                // making a context
#define QNN_PROFILE_EVENTTYPE_FINALIZE 300            // finalizing a graph
#define QNN_PROFILE_EVENTTYPE_EXECUTE 400             // executing a graph
#define QNN_PROFILE_EVENTTYPE_NODE 404                // one node of an execution
#define QNN_PROFILE_EVENTTYPE_EXECUTE_QUEUE_WAIT 405  // waiting in the queue
#define QNN_PROFILE_EVENTTYPE_EXECUTE_PREPROCESS 406  // before the device
#define QNN_PROFILE_EVENTTYPE_EXECUTE_DEVICE 407      // on the device
#define QNN_PROFILE_EVENTTYPE_EXECUTE_POSTPROCESS 408 // after the device
#define QNN_PROFILE_EVENTTYPE_DEINIT 500              // freeing
#define QNN_PROFILE_EVENTTYPE_TRACE 600               // a trace
#define QNN_PROFILE_EVENTTYPE_BACKEND 1000            // first number of the backend's own

// Levels of detail.
#define QNN_PROFILE_LEVEL_BASIC 1      // a few events per call
#define QNN_PROFILE_LEVEL_DETAILED 2   // down to nodes
#define QNN_PROFILE_LEVEL_BACKEND 1000 // first number of the backend's own

// Units.
#define QNN_PROFILE_EVENTUNIT_MICROSEC 1
#define QNN_PROFILE_EVENTUNIT_BYTES 2
#define QNN_PROFILE_EVENTUNIT_CYCLES 3
#define QNN_PROFILE_EVENTUNIT_COUNT 4
#define QNN_PROFILE_EVENTUNIT_OBJECT 5 // an opaque object
#define QNN_PROFILE_EVENTUNIT_NONE 6
#define QNN_PROFILE_EVENTUNIT_BACKEND 1000 // first number of the backend's own

// Errors of the profile component.
typedef enum {
    QNN_PROFILE_MIN_ERROR = 12000,                // first code
    QNN_PROFILE_NO_ERROR = 0,                     // done
    QNN_PROFILE_ERROR_UNSUPPORTED = 1000,         // the library does not do this
    QNN_PROFILE_ERROR_INVALID_ARGUMENT = 1004,    // an argument is wrong
    QNN_PROFILE_ERROR_MEM_ALLOC = 1002,           // out of memory
    QNN_PROFILE_ERROR_INVALID_HANDLE = 12000,     // not a handle of this component
    QNN_PROFILE_ERROR_HANDLE_IN_USE = 12001,      // bound to a graph or running
    QNN_PROFILE_ERROR_INCOMPATIBLE_EVENT = 12002, // ask for the extended data
    QNN_PROFILE_MAX_ERROR = 12999,                // last code
    QNN_PROFILE_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnProfile_Error_t;

// QNN_PROFILE_EVENTTYPE_*.
typedef uint32_t QnnProfile_EventType_t;

// Value of an event, in its unit.
typedef uint64_t QnnProfile_EventValue_t;

// QNN_PROFILE_LEVEL_*.
typedef uint32_t QnnProfile_Level_t;

// An event. Valid until its profile handle is freed or given to another call.
typedef uint64_t QnnProfile_EventId_t;

// QNN_PROFILE_EVENTUNIT_*.
typedef uint32_t QnnProfile_EventUnit_t;

// Pointer to the custom configuration struct of the backend.
typedef void *QnnProfile_CustomConfig_t;

// An event with a plain value.
typedef struct {
    QnnProfile_EventType_t type;   // QNN_PROFILE_EVENTTYPE_*
    QnnProfile_EventUnit_t unit;   // QNN_PROFILE_EVENTUNIT_*
    QnnProfile_EventValue_t value; // in unit
    const char *identifier;        // name; may be NULL
} QnnProfile_EventData_t;

// An object that a tool of the backend understands.
typedef struct {
    Qnn_OpaqueObject_t opaqueObject; // the bytes
    const char *fileName;            // name to keep them under; may be NULL
} QnnProfile_BackendOpaqueObject_t;

// An event with a typed value or an object.
typedef struct {
    QnnProfile_EventType_t type; // QNN_PROFILE_EVENTTYPE_*
    QnnProfile_EventUnit_t unit; // QNN_PROFILE_EVENTUNIT_*
    union UNNAMED {
        Qnn_Scalar_t value;                                   // any unit but OBJECT
        QnnProfile_BackendOpaqueObject_t backendOpaqueObject; // unit OBJECT
    };
    uint64_t timestamp;     // microseconds
    const char *identifier; // name; may be NULL
} QnnProfile_ExtendedEventDataV1_t;

// Version of QnnProfile_ExtendedEventData_t.
typedef enum {
    QNN_PROFILE_DATA_VERSION_1 = 1,
    QNN_PROFILE_DATA_VERSION_UNDEFINED = 0x7FFFFFFF,
} QnnProfile_ExtendedEventDataVersion_t;

// An event with a typed value or an object, versioned.
typedef struct {
    QnnProfile_ExtendedEventDataVersion_t version; // selects the union member
    union UNNAMED {
        QnnProfile_ExtendedEventDataV1_t v1; // version 1
    };
} QnnProfile_ExtendedEventData_t;

// Options of a profile handle.
typedef enum {
    QNN_PROFILE_CONFIG_OPTION_CUSTOM = 0,
    QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS = 1,
    QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE = 2, // needs the detailed level
    QNN_PROFILE_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnProfile_ConfigOption_t;

// One option.
typedef struct {
    QnnProfile_ConfigOption_t option; // selects the union member
    union UNNAMED {
        QnnProfile_CustomConfig_t customConfig; // CUSTOM: struct of the backend
        uint64_t numMaxEvents;                  // MAX_EVENTS
        uint8_t enableOptrace;                  // ENABLE_OPTRACE: not 0 is yes
    };
} QnnProfile_Config_t;

// Initial values: everything unset.
// clang-format off
#define QNN_PROFILE_EVENT_DATA_INIT {0, 0, 0, NULL}
#define QNN_PROFILE_BACKEND_OPAQUE_OBJECT_INIT {QNN_OPAQUE_OBJECT_INIT, NULL}
#define QNN_PROFILE_EXTENDED_EVENT_DATA_V1_INIT {0, 0, {QNN_SCALAR_INIT}, 0, NULL}
#define QNN_PROFILE_EXTENDED_EVENT_DATA_INIT \
    {QNN_PROFILE_DATA_VERSION_1, {QNN_PROFILE_EXTENDED_EVENT_DATA_V1_INIT}}
#define QNN_PROFILE_CONFIG_INIT {QNN_PROFILE_CONFIG_OPTION_UNDEFINED, {NULL}}
// clang-format on

// Makes a profile handle.
// Errors: QNN_PROFILE_ERROR_INVALID_ARGUMENT, QNN_PROFILE_ERROR_UNSUPPORTED,
// QNN_PROFILE_ERROR_MEM_ALLOC, QNN_PROFILE_ERROR_INVALID_HANDLE.
QNN_API Qnn_ErrorHandle_t QnnProfile_create(Qnn_BackendHandle_t backend, QnnProfile_Level_t level,
                                            Qnn_ProfileHandle_t *profile);

// Changes options.
// Errors: QNN_PROFILE_ERROR_INVALID_HANDLE, QNN_PROFILE_ERROR_INVALID_ARGUMENT,
// QNN_PROFILE_ERROR_HANDLE_IN_USE, QNN_PROFILE_ERROR_UNSUPPORTED.
QNN_API Qnn_ErrorHandle_t QnnProfile_setConfig(Qnn_ProfileHandle_t profileHandle,
                                               const QnnProfile_Config_t **config);

// Top-level events collected so far.
// Errors: QNN_PROFILE_ERROR_INVALID_ARGUMENT, QNN_PROFILE_ERROR_INVALID_HANDLE,
// QNN_PROFILE_ERROR_MEM_ALLOC.
QNN_API Qnn_ErrorHandle_t QnnProfile_getEvents(Qnn_ProfileHandle_t profile,
                                               const QnnProfile_EventId_t **profileEventIds,
                                               uint32_t *numEvents);

// Events below an event.
// Errors: QNN_PROFILE_ERROR_INVALID_ARGUMENT, QNN_PROFILE_ERROR_INVALID_HANDLE,
// QNN_PROFILE_ERROR_MEM_ALLOC.
QNN_API Qnn_ErrorHandle_t QnnProfile_getSubEvents(QnnProfile_EventId_t eventId,
                                                  const QnnProfile_EventId_t **subEventIds,
                                                  uint32_t *numSubEvents);

// Plain value of an event.
// Errors: QNN_PROFILE_ERROR_UNSUPPORTED, QNN_PROFILE_ERROR_INCOMPATIBLE_EVENT,
// QNN_PROFILE_ERROR_INVALID_ARGUMENT, QNN_PROFILE_ERROR_INVALID_HANDLE,
// QNN_PROFILE_ERROR_MEM_ALLOC.
QNN_API Qnn_ErrorHandle_t QnnProfile_getEventData(QnnProfile_EventId_t eventId,
                                                  QnnProfile_EventData_t *eventData);

// Typed value or object of an event.
// Errors: QNN_PROFILE_ERROR_UNSUPPORTED, QNN_PROFILE_ERROR_INVALID_ARGUMENT,
// QNN_PROFILE_ERROR_INVALID_HANDLE, QNN_PROFILE_ERROR_MEM_ALLOC.
QNN_API Qnn_ErrorHandle_t QnnProfile_getExtendedEventData(
    QnnProfile_EventId_t eventId, QnnProfile_ExtendedEventData_t *eventData);

// Frees the handle; not while it is bound to a graph.
// Errors: QNN_PROFILE_ERROR_INVALID_HANDLE, QNN_PROFILE_ERROR_MEM_ALLOC,
// QNN_PROFILE_ERROR_HANDLE_IN_USE.
QNN_API Qnn_ErrorHandle_t QnnProfile_free(Qnn_ProfileHandle_t profile);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_PROFILE_H
