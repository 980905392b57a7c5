# SPDX-License-Identifier: MIT
"""Packages and ops of XML definitions, by the names that clients of an SDK import: ExecuTorch's
custom ops read these to find out what a package is called. The packages themselves are written by
the program qnn-op-package-generator (docs/op-packages.md)."""
import xml.etree.ElementTree
from dataclasses import dataclass, field

__all__ = ["QnnOpPackageGenerator"]


@dataclass
class Operator:
    type_name: str


@dataclass
class PackageInfo:
    name: str
    backend: str
    operators: list = field(default_factory=list)


class QnnOpPackageGenerator:
    """package_infos: one for each backend, named like the collection, and with the backend's name
    behind it where there are several."""

    def __init__(self):
        self.package_infos = []

    def parse_config(self, config_paths):
        for path in config_paths:
            root = xml.etree.ElementTree.parse(path).getroot()
            if root.tag != "OpDefCollection" or "PackageName" not in root.attrib:
                raise ValueError(f"{path}: expected <OpDefCollection PackageName=...>")
            found = {}
            for op in root.findall("OpDefList/OpDef"):
                name = (op.findtext("Name") or "").strip()
                backends = [(b.text or "").strip() for b in op.findall("SupportedBackend")]
                if not name or not backends:
                    raise ValueError(f"{path}: an <OpDef> without <Name> or <SupportedBackend>")
                for backend in backends:
                    found.setdefault(backend, []).append(Operator(name))
            for backend, operators in found.items():
                self.package_infos.append(PackageInfo(
                    root.attrib["PackageName"] + (backend if len(found) > 1 else ""), backend,
                    operators))
