// SPDX-License-Identifier: MIT
void show(const char *name) { printf("%s\n", name); }
