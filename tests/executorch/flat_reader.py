# SPDX-License-Identifier: MIT
"""FlatBuffers as the tests read them: tables by field ids, alignment is checked."""
import struct

SIZES = {"b": 1, "B": 1, "i": 4, "I": 4, "q": 8, "Q": 8}


class Table:
    def __init__(self, data, at):
        self.data, self.at = data, at
        assert at % 4 == 0
        self.head = at - struct.unpack_from("<i", data, at)[0]
        self.n = (struct.unpack_from("<H", data, self.head)[0] - 4) // 2

    def place(self, field):
        if field >= self.n:
            return None
        offset = struct.unpack_from("<H", self.data, self.head + 4 + 2 * field)[0]
        assert offset < struct.unpack_from("<H", self.data, self.head + 2)[0]
        return self.at + offset if offset else None

    def number(self, field, kind, default=None):
        at = self.place(field)
        assert at is None or at % SIZES[kind] == 0
        return default if at is None else struct.unpack_from("<" + kind, self.data, at)[0]

    def target(self, field):
        at = self.place(field)
        assert at is None or at % 4 == 0
        return None if at is None else at + struct.unpack_from("<I", self.data, at)[0]

    def text(self, field):
        at = self.target(field)
        if at is None:
            return None
        n = struct.unpack_from("<I", self.data, at)[0]
        assert self.data[at + 4 + n] == 0
        return self.data[at + 4:at + 4 + n].decode()

    def table(self, field):
        at = self.target(field)
        return None if at is None else Table(self.data, at)

    def tables(self, field):
        at = self.target(field)
        n = struct.unpack_from("<I", self.data, at)[0]
        places = [at + 4 + 4 * i for i in range(n)]
        return [Table(self.data, p + struct.unpack_from("<I", self.data, p)[0]) for p in places]

    def numbers(self, field, kind):
        at = self.target(field)
        n = struct.unpack_from("<I", self.data, at)[0]
        assert (at + 4) % SIZES[kind] == 0
        return list(struct.unpack_from(f"<{n}{kind}", self.data, at + 4))
