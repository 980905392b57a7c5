# SPDX-License-Identifier: MIT
"""A hook of mkdocs.yml: pages link to files of the repository, which are no part of the site. Such
a link becomes its text; one to a file that is not there fails the build."""
import re
from pathlib import Path

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown, page, **_):
    def as_text(link):
        if not (ROOT / link.group(2)).exists():
            raise PluginError(f"{page.file.src_path}: the repository has no file {link.group(2)}")
        return link.group(1)
    return OUTSIDE.sub(as_text, markdown)
