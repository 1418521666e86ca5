/* SPDX-License-Identifier: Apache-2.0
 * genesis.h - vectors/text/genesis.txt, inside the command: it travels without its folder. */
#ifndef TOOLS_GENESIS_H
#define TOOLS_GENESIS_H

#include <stddef.h>

const char *genesis_text(size_t *n);

#endif
