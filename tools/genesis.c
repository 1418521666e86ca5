/* SPDX-License-Identifier: Apache-2.0 */
#include "genesis.h"

/* The assembler finds the file from the root of the source tree, where make runs. */
__asm__(".pushsection .rodata\n"
        "genesis_begin: .incbin \"vectors/text/genesis.txt\"\n"
        "genesis_end:\n"
        ".popsection\n");
extern const char genesis_begin[], genesis_end[];

const char *genesis_text(size_t *n)
{
    *n = (size_t)(genesis_end - genesis_begin);
    return genesis_begin;
}
