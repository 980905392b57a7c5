// SPDX-License-Identifier: MIT
//
// As much of onnxruntime's C++ API as an application needs that runs a model on a plugin provider,
// written for the tests: classes have the public names, and functions are called by their places in
// the host's table, which never change. An application uses onnxruntime's own header.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

extern "C" {
struct OrtApiBase {
    void *const *(*GetApi)(uint32_t);
    const char *(*GetVersionString)();
};
const OrtApiBase *OrtGetApiBase();
}

enum OrtLoggingLevel {
    ORT_LOGGING_LEVEL_VERBOSE,
    ORT_LOGGING_LEVEL_INFO,
    ORT_LOGGING_LEVEL_WARNING,
    ORT_LOGGING_LEVEL_ERROR,
    ORT_LOGGING_LEVEL_FATAL
};
#define ORT_TSTR(text) text

namespace Ort {
using Status = void *;

inline void *const *api() { return OrtGetApiBase()->GetApi(23); }

template <class Result, class... Types> Result slot(int place, Types... values) {
    return reinterpret_cast<Result (*)(Types...)>(api()[place])(values...);
}

// A call that returns a status: one that is not null becomes an exception.
template <class... Types> void call(int place, Types... values) {
    if (Status failed = slot<Status>(place, values...)) {
        std::string text = slot<const char *>(2, failed);
        slot<void>(93, failed);
        throw std::runtime_error(text);
    }
}

// Owns an object of the host, which the function at `Release` frees.
template <int Release> struct Owner {
    void *p = nullptr;
    Owner() = default;
    Owner(const Owner &) = delete;
    Owner(Owner &&other) noexcept : p(other.p) { other.p = nullptr; }
    ~Owner() {
        if (p)
            slot<void>(Release, p);
    }
};

struct ConstEpDevice {
    const void *p;
    const char *EpName() const { return slot<const char *>(312, p); }
};

struct Env : Owner<92> {
    Env(OrtLoggingLevel level, const char *name) { call(3, level, name, &p); }
    void RegisterExecutionProviderLibrary(const char *name, const std::string &path) {
        call(301, p, name, path.c_str());
    }
    void UnregisterExecutionProviderLibrary(const char *name) { call(302, p, name); }
    std::vector<ConstEpDevice> GetEpDevices() const {
        const void *const *list = nullptr;
        size_t n = 0;
        call(303, p, &list, &n);
        std::vector<ConstEpDevice> found;
        for (size_t i = 0; i < n; i++)
            found.push_back({list[i]});
        return found;
    }
};

inline std::vector<std::string> GetAvailableProviders() {
    char **names = nullptr;
    int n = 0;
    call(125, &names, &n);
    std::vector<std::string> found(names, names + n);
    call(126, names, n);
    return found;
}

struct SessionOptions : Owner<100> {
    SessionOptions() { call(10, &p); }
    void AppendExecutionProvider(const std::string &name,
                                 const std::unordered_map<std::string, std::string> &options) {
        std::vector<const char *> keys, values;
        for (const auto &option : options) {
            keys.push_back(option.first.c_str());
            values.push_back(option.second.c_str());
        }
        call(216, p, name.c_str(), keys.data(), values.data(), keys.size());
    }
    void AddConfigEntry(const char *key, const char *value) { call(130, p, key, value); }
    void AppendExecutionProvider_V2(Env &env, const std::vector<ConstEpDevice> &devices,
                                    const std::unordered_map<std::string, std::string> &options) {
        std::vector<const void *> list;
        std::vector<const char *> keys, values;
        for (const ConstEpDevice &device : devices)
            list.push_back(device.p);
        for (const auto &option : options) {
            keys.push_back(option.first.c_str());
            values.push_back(option.second.c_str());
        }
        call(304, p, env.p, list.data(), list.size(), keys.data(), values.data(), keys.size());
    }
};

struct MemoryInfo : Owner<94> {
    static MemoryInfo CreateCpu(int allocator, int kind) {
        MemoryInfo made;
        call(69, allocator, kind, &made.p);
        return made;
    }
};

struct Value : Owner<96> {
    template <class T>
    static Value CreateTensor(const MemoryInfo &where, T *data, size_t n, const int64_t *shape,
                              size_t rank) {
        static_assert(sizeof(T) == 4, "float32, the type number 1");
        Value made;
        call(49, where.p, static_cast<void *>(data), n * sizeof(T), shape, rank, 1, &made.p);
        return made;
    }
    template <class T> T *GetTensorMutableData() {
        void *data = nullptr;
        call(51, p, &data);
        return static_cast<T *>(data);
    }
};

struct RunOptions {
    explicit RunOptions(std::nullptr_t) {}
};

struct Session : Owner<95> {
    Session(Env &env, const char *path, const SessionOptions &options) {
        call(7, env.p, path, options.p, &p);
    }
    std::vector<Value> Run(const RunOptions &, const char *const *inputs, const Value *values,
                           size_t n, const char *const *outputs, size_t n_outputs) {
        std::vector<void *> in, out(n_outputs);
        for (size_t i = 0; i < n; i++)
            in.push_back(values[i].p);
        call(9, p, static_cast<void *>(nullptr), inputs, in.data(), n, outputs, n_outputs,
             out.data());
        std::vector<Value> made(n_outputs);
        for (size_t i = 0; i < n_outputs; i++)
            made[i].p = out[i];
        return made;
    }
};
} // namespace Ort
