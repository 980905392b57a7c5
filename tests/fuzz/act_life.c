// SPDX-License-Identifier: MIT
//
// Actions on everything but tensors and nodes: creating, configuring, asking and freeing.
#include "world.h"

#include "CPU/QnnCpuGraph.h"
#include "Quern/QuernBackend.h"

#include <stdarg.h>
#include <stdio.h>

static void on_log(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    char line[2048];
    (void)level;
    (void)timestamp;
    if (vsnprintf(line, sizeof line, fmt, args) < 0)
        world_fail("a log line cannot be formatted");
}

// Where a call is to put a handle: now and then nowhere.
static void **place(world *w, void **out) {
    *out = NULL;
    return draw_chance(w->s, 3) ? NULL : out;
}

// A list of up to three options of `size` bytes each: option number, then bytes. NULL: no list.
static void **options(world *w, size_t size, uint32_t n_known) {
    if (draw_chance(w->s, 60))
        return NULL;
    uint32_t n = draw_below(w->s, 4);
    void **list = scrap_new(&w->mem, (n + 1) * sizeof *list, 0);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *one = list[i] = scrap_new(&w->mem, size, 0);
        uint32_t option = draw_chance(w->s, 10) ? draw_u32(w->s) : draw_below(w->s, n_known + 1);
        memcpy(one, &option, sizeof option);
        // Members that are pointers stay NULL unless the caller sets them: 4 bytes of value.
        uint32_t value = draw_chance(w->s, 20) ? draw_u32(w->s) : draw_below(w->s, 4) * 50;
        if (option != 0 && size >= 12)
            memcpy(one + 8, &value, sizeof value);
    }
    return list;
}

void act_log(world *w) {
    void *log;
    void **out = place(w, &log);
    QnnLog_Level_t level = (QnnLog_Level_t)draw_below(w->s, 8);
    if (!draw_chance(w->s, 40)) {
        void *h = world_pick(w, KIND_LOG);
        world_ok("QnnLog_setLogLevel", w->qnn.logSetLogLevel(h, level));
    } else if (world_has_room(w, KIND_LOG) &&
               world_ok("QnnLog_create", w->qnn.logCreate(on_log, level, out))) {
        world_add(w, KIND_LOG, log, NULL);
    }
}

static const QnnBackend_Config_t **backend_options(world *w) {
    QnnBackend_Config_t **list = (QnnBackend_Config_t **)options(w, sizeof **list, 3);
    for (uint32_t i = 0; list && list[i]; i++) {
        // The larger of the two structs, which begin alike; nothing is written to the empty folder.
        QuernBackend_DumpConfig_t *c = scrap_new(&w->mem, sizeof *c, 0);
        uint32_t magic = draw_chance(w->s, 50) ? QUERN_BACKEND_CONFIG_MAGIC : draw_u32(w->s);
        *c = (QuernBackend_DumpConfig_t){magic, draw_below(w->s, 4), NULL, draw_below(w->s, 3)};
        if (c->option == QUERN_BACKEND_OPTION_DUMP)
            c->folder = draw_chance(w->s, 50) ? "" : NULL;
        else
            ((QuernBackend_CustomConfig_t *)(void *)c)->value = draw_below(w->s, 3);
        if (list[i]->option == QNN_BACKEND_CONFIG_OPTION_CUSTOM && !draw_chance(w->s, 20))
            list[i]->customConfig = c;
        if (list[i]->option == QNN_BACKEND_CONFIG_OPTION_PLATFORM)
            list[i]->platformOption = world_name(w);
    }
    return (const QnnBackend_Config_t **)list;
}

void act_backend(world *w) {
    void *h = world_pick(w, KIND_BACKEND), *made;
    void **out = place(w, &made);
    const QnnBackend_OperationName_t *ops;
    Qnn_ApiVersion_t version;
    QnnBackend_Property_t **properties =
        (QnnBackend_Property_t **)options(w, sizeof **properties, 1);
    const char *id;
    uint32_t n;
    bool no_place = draw_chance(w->s, 10);
    switch (draw_below(w->s, 8)) {
    case 0:
        if (world_has_room(w, KIND_BACKEND) &&
            world_ok("QnnBackend_create",
                     w->qnn.backendCreate(world_maybe(w, KIND_LOG), backend_options(w), out)))
            world_add(w, KIND_BACKEND, made, NULL);
        break;
    case 1:
        world_ok("QnnBackend_setConfig", w->qnn.backendSetConfig(h, backend_options(w)));
        break;
    case 2:
        world_ok("QnnBackend_getSupportedOperations",
                 w->qnn.backendGetSupportedOperations(h, no_place ? NULL : &n, &ops));
        break;
    case 3:
        world_ok("QnnBackend_getApiVersion",
                 w->qnn.backendGetApiVersion(no_place ? NULL : &version));
        world_ok("QnnBackend_getBuildId", w->qnn.backendGetBuildId(no_place ? NULL : &id));
        break;
    case 4:
        world_ok("QnnBackend_registerOpPackage",
                 w->qnn.backendRegisterOpPackage(h, world_name(w), world_name(w), NULL));
        break;
    case 5:
        world_ok("QnnBackend_getProperty", w->qnn.backendGetProperty(h, properties));
        break;
    case 6:
        world_ok("QnnProperty_hasCapability", w->qnn.propertyHasCapability(draw_below(w->s, 2000)));
        break;
    default:
        world_ok("QnnBackend_registerOpPackageFromBinary",
                 w->qnn.backendRegisterOpPackageFromBinary(h, &version, draw_below(w->s, 8),
                                                           world_name(w), NULL));
        break;
    }
}

static const QnnDevice_Config_t **device_options(world *w) {
    QnnDevice_Config_t **list = (QnnDevice_Config_t **)options(w, sizeof **list, 2);
    for (uint32_t i = 0; list && list[i]; i++) {
        QnnDevice_PlatformInfo_t *info = scrap_new(&w->mem, sizeof *info, 0);
        info->version = (QnnDevice_PlatformInfoVersion_t)draw_below(w->s, 3);
        list[i]->hardwareInfo = draw_chance(w->s, 30) ? NULL : info;
    }
    return (const QnnDevice_Config_t **)list;
}

void act_device(world *w) {
    void *h = world_pick(w, KIND_DEVICE), *made;
    void **out = place(w, &made);
    const QnnDevice_PlatformInfo_t *info = NULL, **to = draw_chance(w->s, 10) ? NULL : &info;
    const QnnDevice_Config_t **config = device_options(w);
    switch (draw_below(w->s, 5)) {
    case 0:
        if (world_has_room(w, KIND_DEVICE) &&
            world_ok("QnnDevice_create",
                     w->qnn.deviceCreate(world_maybe(w, KIND_LOG), config, out)))
            world_add(w, KIND_DEVICE, made, NULL);
        break;
    case 1:
        world_ok("QnnDevice_setConfig", w->qnn.deviceSetConfig(h, config));
        break;
    case 2:
        world_ok("QnnDevice_getInfo", w->qnn.deviceGetInfo(h, to));
        break;
    case 3:
        world_ok("QnnDevice_getInfrastructure", w->qnn.deviceGetInfrastructure(NULL));
        break;
    default:
        if (world_ok("QnnDevice_getPlatformInfo",
                     w->qnn.deviceGetPlatformInfo(world_maybe(w, KIND_LOG), to)) &&
            !world_ok("QnnDevice_freePlatformInfo", w->qnn.deviceFreePlatformInfo(NULL, info)))
            world_fail("platform info cannot be freed");
        world_ok("QnnDevice_freePlatformInfo", w->qnn.deviceFreePlatformInfo(NULL, info));
        break;
    }
}

static const QnnContext_Config_t **context_options(world *w) {
    QnnContext_Config_t **list = (QnnContext_Config_t **)options(w, sizeof **list, 11);
    for (uint32_t i = 0; list && list[i]; i++) {
        const char **names = scrap_new(&w->mem, 3 * sizeof *names, 0);
        names[0] = world_name(w);
        names[1] = names[0] ? world_name(w) : NULL;
        bool named = list[i]->option == QNN_CONTEXT_CONFIG_ENABLE_GRAPHS ||
                     list[i]->option == QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER;
        if (named)
            list[i]->enableGraphs = draw_chance(w->s, 20) ? NULL : names;
        if (list[i]->option == QNN_CONTEXT_CONFIG_OPTION_OEM_STRING)
            list[i]->oemString = names[0];
    }
    return (const QnnContext_Config_t **)list;
}

void act_context(world *w) {
    void *b = world_pick(w, KIND_BACKEND);
    void *h = world_pick(w, KIND_CONTEXT), *made;
    void **out = place(w, &made);
    QnnContext_Property_t **properties =
        (QnnContext_Property_t **)options(w, sizeof **properties, 1);
    switch (draw_below(w->s, 4)) {
    case 0:
        world_ok("QnnContext_setConfig", w->qnn.contextSetConfig(h, context_options(w)));
        break;
    case 1:
        world_ok("QnnContext_getProperty", w->qnn.contextGetProperty(h, properties));
        world_ok("QnnContext_finalize", w->qnn.contextFinalize(h, world_maybe(w, KIND_PROFILE)));
        break;
    default:
        if (world_has_room(w, KIND_CONTEXT) &&
            world_ok("QnnContext_create",
                     w->qnn.contextCreate(b, world_maybe(w, KIND_DEVICE), context_options(w), out)))
            world_add(w, KIND_CONTEXT, made, b);
        break;
    }
}

// Binaries: a few bytes that are none, and questions about those of a context.
void act_binary(world *w) {
    void *h = world_pick(w, KIND_CONTEXT), *made = NULL, *b = world_pick(w, KIND_BACKEND);
    void *p = world_maybe(w, KIND_PROFILE);
    Qnn_ContextBinarySize_t size = 0, n = draw_below(w->s, 200);
    uint8_t *bytes = scrap_new(&w->mem, n, 0);
    for (size_t i = 0; i < n; i++)
        bytes[i] = draw_u8(w->s);
    const void *given = draw_chance(w->s, 5) ? NULL : bytes;
    if (!world_has_room(w, KIND_CONTEXT))
        return;
    switch (draw_below(w->s, 4)) {
    case 0:
        world_ok("QnnContext_validateBinary",
                 w->qnn.contextValidateBinary(b, NULL, context_options(w), given, n));
        break;
    case 1:
        if (world_ok("QnnContext_createFromBinary",
                     w->qnn.contextCreateFromBinary(b, world_maybe(w, KIND_DEVICE),
                                                    context_options(w), given, n, &made, p)))
            world_add(w, KIND_CONTEXT, made, b);
        break;
    case 2:
        if (world_ok("QnnContext_createFromBinaryWithSignal",
                     w->qnn.contextCreateFromBinaryWithSignal(b, NULL, context_options(w), given, n,
                                                              &made, p,
                                                              world_maybe(w, KIND_SIGNAL))))
            world_add(w, KIND_CONTEXT, made, b);
        break;
    default:
        world_ok("QnnContext_getBinarySize", w->qnn.contextGetBinarySize(h, &size));
        world_ok("QnnContext_getBinary", w->qnn.contextGetBinary(h, bytes, n, &size));
        break;
    }
}

static const QnnGraph_Config_t **graph_options(world *w) {
    QnnGraph_Config_t **list = (QnnGraph_Config_t **)options(w, sizeof **list, 6);
    for (uint32_t i = 0; list && list[i]; i++) {
        QnnCpuGraph_CustomConfig_t *c = scrap_new(&w->mem, sizeof *c, 0);
        c->option = (QnnCpuGraph_ConfigOption_t)draw_below(w->s, 4); // its callback stays NULL
        if (list[i]->option == QNN_GRAPH_CONFIG_OPTION_CUSTOM && !draw_chance(w->s, 20))
            list[i]->customConfig = c;
        if (list[i]->option == QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE)
            list[i]->profileHandle = world_pick(w, KIND_PROFILE);
    }
    return (const QnnGraph_Config_t **)list;
}

static void validate_graph(world *w, void *h) {
    QnnGraph_ValidationResult_t *result = NULL;
    if (world_ok("QnnGraph_validate",
                 w->qnn.graphValidate(h, NULL, draw_chance(w->s, 10) ? NULL : &result)) &&
        !world_ok("QnnGraph_freeValidationResult", w->qnn.graphFreeValidationResult(result)))
        world_fail("a validation result cannot be freed");
    world_ok("QnnGraph_freeValidationResult", w->qnn.graphFreeValidationResult(result));
}

void act_graph(world *w) {
    void *c = world_pick(w, KIND_CONTEXT);
    void *h = world_pick(w, KIND_GRAPH), *made;
    void **out = place(w, &made);
    QnnGraph_Property_t **properties = (QnnGraph_Property_t **)options(w, sizeof **properties, 1);
    if (!world_has_room(w, KIND_GRAPH))
        return;
    switch (draw_below(w->s, 6)) {
    case 0:
        if (world_ok("QnnGraph_createSubgraph", w->qnn.graphCreateSubgraph(h, world_name(w), out)))
            world_add(w, KIND_GRAPH, made, h);
        break;
    case 1:
        world_ok("QnnGraph_setConfig", w->qnn.graphSetConfig(h, graph_options(w)));
        break;
    case 2: // the same handle again, which lives as long as the first
        world_ok("QnnGraph_retrieve",
                 w->qnn.graphRetrieve(c, draw_chance(w->s, 50) ? "first" : world_name(w), out));
        break;
    case 3:
        world_ok("QnnGraph_getProperty", w->qnn.graphGetProperty(h, properties));
        validate_graph(w, h);
        break;
    default:
        if (world_ok("QnnGraph_create",
                     w->qnn.graphCreate(c, world_name(w), graph_options(w), out)))
            world_add(w, KIND_GRAPH, made, c);
        break;
    }
}

static void read_events(world *w, void *profile) {
    const QnnProfile_EventId_t *ids = NULL, *subs;
    QnnProfile_EventData_t data;
    QnnProfile_ExtendedEventData_t extended = QNN_PROFILE_EXTENDED_EVENT_DATA_INIT;
    uint32_t n = 0, n_subs;
    if (!world_ok("QnnProfile_getEvents", w->qnn.profileGetEvents(profile, &ids, &n)))
        n = 0;
    QnnProfile_EventId_t id =
        n && !draw_chance(w->s, 20) ? ids[draw_below(w->s, n)] : draw_u32(w->s);
    world_ok("QnnProfile_getEventData", w->qnn.profileGetEventData(id, &data));
    world_ok("QnnProfile_getExtendedEventData", w->qnn.profileGetExtendedEventData(id, &extended));
    world_ok("QnnProfile_getSubEvents", w->qnn.profileGetSubEvents(id, &subs, &n_subs));
}

void act_profile(world *w) {
    void *b = world_pick(w, KIND_BACKEND);
    void *h = world_pick(w, KIND_PROFILE), *made;
    void **out = place(w, &made);
    switch (world_living(w, KIND_PROFILE) ? draw_below(w->s, 4) : 3) {
    case 0:
        world_ok("QnnProfile_setConfig",
                 w->qnn.profileSetConfig(
                     h, (const QnnProfile_Config_t **)options(w, sizeof(QnnProfile_Config_t), 3)));
        break;
    case 1:
        read_events(w, h);
        break;
    default:
        if (world_has_room(w, KIND_PROFILE) &&
            world_ok("QnnProfile_create", w->qnn.profileCreate(b, draw_below(w->s, 5), out)))
            world_add(w, KIND_PROFILE, made, b);
        break;
    }
}

void act_signal(world *w) {
    void *b = world_pick(w, KIND_BACKEND);
    void *h = world_pick(w, KIND_SIGNAL), *made;
    void **out = place(w, &made);
    const QnnSignal_Config_t **config = (const QnnSignal_Config_t **)options(w, sizeof **config, 2);
    switch (world_living(w, KIND_SIGNAL) ? draw_below(w->s, 4) : 3) {
    case 0:
        world_ok("QnnSignal_setConfig", w->qnn.signalSetConfig(h, config));
        break;
    case 1:
        world_ok("QnnSignal_trigger", w->qnn.signalTrigger(h));
        break;
    default:
        if (world_has_room(w, KIND_SIGNAL) &&
            world_ok("QnnSignal_create", w->qnn.signalCreate(b, config, out)))
            world_add(w, KIND_SIGNAL, made, b);
        break;
    }
}

void act_error(world *w) {
    const char *text = NULL;
    Qnn_ErrorHandle_t code = draw_chance(w->s, 50)   ? world_last_error()
                             : draw_chance(w->s, 20) ? draw_u32(w->s)
                                                     : 1000 + draw_below(w->s, 16000);
    world_ok("QnnError_getMessage", w->qnn.errorGetMessage(code, &text));
    text = NULL;
    if (world_ok("QnnError_getVerboseMessage",
                 w->qnn.errorGetVerboseMessage(code, draw_chance(w->s, 10) ? NULL : &text)) &&
        !world_ok("QnnError_freeVerboseMessage", w->qnn.errorFreeVerboseMessage(text)))
        world_fail("a message cannot be freed");
    world_ok("QnnError_freeVerboseMessage", w->qnn.errorFreeVerboseMessage(text));
}

static void free_one(world *w, kind k, void *h) {
    bool ok = false;
    switch (k) {
    case KIND_LOG:
        ok = world_ok("QnnLog_free", w->qnn.logFree(h));
        break;
    case KIND_BACKEND:
        ok = world_ok("QnnBackend_free", w->qnn.backendFree(h));
        break;
    case KIND_DEVICE:
        ok = world_ok("QnnDevice_free", w->qnn.deviceFree(h));
        break;
    case KIND_CONTEXT:
        ok = world_ok("QnnContext_free", w->qnn.contextFree(h, world_maybe(w, KIND_PROFILE)));
        break;
    case KIND_PROFILE:
        ok = world_ok("QnnProfile_free", w->qnn.profileFree(h));
        break;
    case KIND_SIGNAL:
        ok = world_ok("QnnSignal_free", w->qnn.signalFree(h));
        break;
    case KIND_MEM:
        ok = world_ok("QnnMem_deRegister", w->qnn.memDeRegister(&h, 1));
        break;
    default:
        return; // graphs go with their context
    }
    if (!ok)
        return;
    world_kill(w, h);
}

void act_free(world *w) {
    // Mostly small things: without a backend an input has nothing more to say.
    static const kind often[] = {KIND_LOG,     KIND_DEVICE, KIND_PROFILE, KIND_SIGNAL,
                                 KIND_CONTEXT, KIND_MEM,    KIND_PROFILE, KIND_BACKEND};
    kind k = DRAW_FROM(w->s, often);
    free_one(w, k, world_pick(w, k));
}

void world_begin(world *w) {
    void *log = NULL, *backend = NULL, *context = NULL, *graph = NULL;
    if (world_ok("QnnLog_create", w->qnn.logCreate(on_log, QNN_LOG_LEVEL_DEBUG, &log)))
        world_add(w, KIND_LOG, log, NULL);
    if (world_ok("QnnBackend_create", w->qnn.backendCreate(log, NULL, &backend)))
        world_add(w, KIND_BACKEND, backend, NULL);
    if (world_ok("QnnContext_create", w->qnn.contextCreate(backend, NULL, NULL, &context)))
        world_add(w, KIND_CONTEXT, context, backend);
    if (world_ok("QnnGraph_create", w->qnn.graphCreate(context, "first", NULL, &graph)))
        world_add(w, KIND_GRAPH, graph, context);
}

void world_end(world *w) {
    static const kind order[] = {KIND_CONTEXT, KIND_PROFILE, KIND_SIGNAL,
                                 KIND_BACKEND, KIND_DEVICE,  KIND_LOG};
    source none = source_from_bytes(NULL, 0); // no more tricks
    w->s = &none;
    for (size_t o = 0; o < sizeof order / sizeof order[0]; o++)
        for (uint32_t i = 0; i < w->n_handles[order[o]]; i++)
            free_one(w, order[o], w->handles[order[o]][i].value);
    scrap_free(&w->mem);
}
