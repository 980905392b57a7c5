#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Conversations and the texts that Jinja makes of them by the chat templates of a folder.

  template_families.py FOLDER   writes NAME.json for every NAME.jinja, rendered by jinja2 as
                                Hugging Face's transformers sets it up

Needs the package `jinja2` (3.1.6 wrote tests/llm/templates).
"""
import argparse
import json
from pathlib import Path

from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

U, A, S = "user", "assistant", "system"
TALKS = [
    [(U, "What is the capital of France?")],
    [(S, "You are a pirate. "), (U, " Hello\n")],
    [(U, "Hi"), (A, "Hello! é日本"), (U, "and then?  ")],
    [(S, "short"), (U, "1"), (A, "<think>\nwhy\n</think>\n\n2"), (U, "3"), (A, "4"), (U, "5\n\n")],
    [(U, "a"), (U, "b")],
]


def raise_exception(message):
    raise ValueError(message)


def render(source, talk, answer):
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[loopcontrols])
    env.globals["raise_exception"] = raise_exception
    env.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    messages = [{"role": r, "content": c} for r, c in talk]
    try:
        return env.from_string(source).render(messages=messages, add_generation_prompt=answer,
                                              bos_token="<s>", eos_token="</s>", tools=None,
                                              documents=None)
    except ValueError:
        return None


def cases(source):
    return [{"messages": talk, "answer": answer, "text": render(source, talk, answer)}
            for talk in TALKS for answer in (True, False)]


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=Path)
    for file in sorted(p.parse_args().folder.glob("*.jinja")):
        text = json.dumps(cases(file.read_text()), ensure_ascii=False, indent=0)
        file.with_suffix(".json").write_text(text + "\n")


if __name__ == "__main__":
    main()
