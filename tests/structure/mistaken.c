// SPDX-License-Identifier: MIT
//
// A library with one export too many and one missing, for the test of the export check.
extern __attribute__((visibility("default"))) int quern_stray_export;
int quern_stray_export = 1;
