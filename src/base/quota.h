// SPDX-License-Identifier: MIT
//
// CPU time that the control groups of this process allow it.
#ifndef QRN_BASE_QUOTA_H
#define QRN_BASE_QUOTA_H

#include <stdint.h>

// Whole CPUs of the smallest quota of the process's control group and of those above it, at least
// 1; 0: there is none. `list` is /proc/self/cgroup, `mount` is /sys/fs/cgroup: version 2, version 1
// or both. What cannot be read, or is no quota, does not count.
uint32_t qrn_quota_cpus(const char *list, const char *mount);

#endif
