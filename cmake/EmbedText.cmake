# SPDX-License-Identifier: MIT
#
# cmake -DTEXT=file -DNAME=symbol -DHEADER=file.h -DFILE=file.c -P EmbedText.cmake: a text as an
# array of bytes that ends with 0; the header declares it.
file(READ "${TEXT}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(...........................................................................)"
       "\\1\n" bytes "${bytes}")
file(WRITE "${FILE}" "#include \"${HEADER}\"\nconst char ${NAME}[] = {\n${bytes}0};\n")
