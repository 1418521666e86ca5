/* SPDX-License-Identifier: Apache-2.0
 * Tables of cmd_list.c about cases. */
#ifndef TOOLS_LIST_CASES_H
#define TOOLS_LIST_CASES_H

void list_flags(void); /* name, kind of fault, effect, source */
/* One line a case of a folder or file of vectors. Returns an exit status. */
int list_cases(const char *vectors);

#endif
