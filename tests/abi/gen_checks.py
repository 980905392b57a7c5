#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn the ABI fact tables into C sources that check the public headers against them.

usage: gen_checks.py FACTS_DIR INCLUDE_DIR OUT_DIR

What the compiler can decide (sizes, offsets, types, values, prototypes) becomes a static assertion;
strings and initial values are compared at run time. Every row of every table yields a check.
"""
import csv
import os
import re
import sys

from unit_writer import Writer

FACTS, INCLUDE, OUT = sys.argv[1:4]
EXCEPTIONS = {"QNN_BACKEND_ID_REFERENCE": "a reserved number that no header defines"}
TABLES = {"core": ("QNN_INTERFACE_VER_TYPE", "QnnInterface.h"),
          "system": ("QNN_SYSTEM_INTERFACE_VER_TYPE", "System/QnnSystemInterface.h"),
          "htp-perf": ("QnnHtpDevice_PerfInfrastructure_t", "HTP/QnnHtpDevice.h"),
          "oppackage-1.4": ("QnnOpPackage_ImplementationV1_4_t", "QnnOpPackage.h"),
          "oppackage-2.0": ("QnnOpPackage_ImplementationV2_0_t", "QnnOpPackage.h")}
w = Writer(INCLUDE, EXCEPTIONS)


def read(name):
    with open(os.path.join(FACTS, name + ".tsv")) as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def field_name(struct, field):
    """The table member of an interface struct is named by a macro."""
    macros = {"QnnInterface_t": "QNN_INTERFACE_VER_NAME",
              "QnnSystemInterface_t": "QNN_SYSTEM_INTERFACE_VER_NAME"}
    return macros[struct] if struct in macros and re.match(r"v\d_\d", field) else field


def same(expr, want):
    return "SAME(__typeof__(%s), %s)" % (expr, want)


structs = {}
for r in read("structs"):
    rows = structs.setdefault(r["struct"], [])
    rows.append(r)
    s, f = r["struct"], field_name(r["struct"], r["field"])
    checks = ["sizeof(((%s *)0)->%s) == %s" % (s, f, r["field_size"]),
              "offsetof(%s, %s) == %s" % (s, f, r["offset"])]
    if r["type"] != "struct (inline)":
        checks.append(same("((%s *)0)->%s" % (s, f), r["type"]))
    if len(rows) == 1:
        checks += ["sizeof(%s) == %s" % (s, r["size"]), "ALIGNOF(%s) == %s" % (s, r["align"])]
        if r["tag"] != "-":
            checks.append("SAME(struct %s, %s)" % (r["tag"], s))
    w.row("structs", s, r["header"], checks, home=f.split(".")[-1])

sized = set()
for r in read("enums"):
    n, e, v = r["enumerator"], r["enum"], int(r["value"])
    checks = ["ENUMERATOR(%s, %s, %dLL)" % (n, e, v)]
    checks += ["sizeof(%s) == 4" % e] * (e not in sized) + ["(%s)-1 > 0" % e] * (v > 0x7FFFFFFF)
    sized.add(e)
    w.row("enums", n, r["header"], checks, home=n)

macro_texts = {r["macro"]: r for r in read("macro_texts")}
op_macros = [dict(r, name=r["macro"], header="QnnOpDef.h") for r in read("op_macros")]
for table, rows in (("defines", read("defines")), ("op_macros", op_macros)):
    for r in rows:
        n, fixed, run = r["name"].split("(")[0], [], []
        if n == "QNN_SDK_BUILD_ID":
            fixed = ["sizeof(QNN_SDK_BUILD_ID) > 1"]
        elif n == "QNN_GET_ERROR_CODE":
            fixed = ["QNN_GET_ERROR_CODE(0x123456789ABCDULL) == 0xABCD"]
        elif r["kind"] == "int":
            fixed = ["(%s) == (%sLL)" % (n, r["value"])]
        elif r["kind"] == "string":
            run = ["RUN(strcmp(%s, %s) == 0);" % (n, r["value"])]
        elif n in macro_texts:
            m = macro_texts[n]
            run = ['RUN(strcmp(TEXT(%s), "%s") == 0);' % (m["use"], m["expands_to"] or "")]
        w.row(table, n, r["header"], fixed, run, home=n)

for r in read("typedefs"):
    n = r["typedef"]
    w.row("typedefs", n, r["header"], ["SAME(%s, %s)" % (n, r["underlying"])], home=n)

for r in read("functions"):
    n, pointer = r["name"], "%s (*)(%s)" % (r["return"], r["params"])
    typedef = r["kind"] == "fnptr-typedef"
    fixed = "SAME(%s, %s)" % (n, pointer) if typedef else same("&" + n, pointer)
    w.row("functions", n, r["header"], [fixed], home=n)
    if r["kind"] != "fnptr-typedef":
        # A second declaration is an error unless type and linkage agree with the first.
        w.unit(r["header"]).declarations.append(
            "LINKAGE %s %s(%s);" % (r["return"], n, r["params"]))

slots = {}
for r in read("tables"):
    t, header = TABLES[r["table"]]
    slot = slots[r["table"]] = slots.get(r["table"], -1) + 1
    checks = ["offsetof(%s, %s) == %s" % (t, r["field"], r["byte_offset"]),
              "offsetof(%s, %s) == 8 * %s && %s == %d"
              % (t, r["field"], r["slot"], r["slot"], slot),
              same("((%s *)0)->%s" % (t, r["field"]), r["fnptr_type"])]
    if r["function"] != "-":
        checks.append(same("&" + r["function"], r["fnptr_type"]))
    w.row("tables", r["field"], header, checks, home=r["field"])
for table, last in slots.items():
    t, header = TABLES[table]
    w.unit(header).fixed.append("sizeof(%s) == 8 * %d" % (t, last + 1))


def leaves(struct):
    """(expression, name in the tables) of all an initialiser sets: of a union its first member."""
    groups = set()
    for r in structs[struct]:
        if r["union_group"] != "-" and r["union_group"] in groups:
            continue
        groups.add(r["union_group"])
        f, array = field_name(struct, r["field"]), re.search(r"\[(\d+)\]", r["type"])
        if r["type"] in structs:
            yield from ((f + "." + a, r["field"] + "." + b) for a, b in leaves(r["type"]))
        else:
            n = int(array[1]) if array else 1
            yield from ((f + "[%d]" % i * bool(array), r["field"]) for i in range(n))


for r in read("initializers"):
    want = dict(kv.split("=", 1) for kv in r["non_zero_defaults"].split("; ") if "=" in kv)
    run = []
    for expr, name in leaves(r["struct"]):
        value = want.get(name, "0")
        test = "strcmp(v.%s, %s) == 0" if value[0] == '"' else "v.%s == %s"
        run.append("    RUN(%s);" % (test % (expr, value)))
    if not set(want) <= {name for _, name in leaves(r["struct"])}:
        sys.exit("abi: %s: unknown field in %s" % (r["macro"], r["non_zero_defaults"]))
    run = ["{", "    %s v = %s;" % (r["struct"], r["macro"])] + run + ["}"]
    w.row("initializers", r["macro"], r["header"], [], run, home=r["macro"])

for r in read("headers"):
    n, included = r["header"], re.findall(r'#include "([^"]+)"', w.text(r["header"]))
    missing = [i for i in r["includes"].split() if i not in included + ["-"]]
    missing += [d for d in r["declares"].split() if d != "-" and not w.spells(n, d)]
    if missing:
        sys.exit("abi: %s lacks %s" % (n, ", ".join(missing)))
    w.row("headers", n, n, verified=True)

w.write(OUT)
