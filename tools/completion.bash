# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion for mxcheck: commands and options as the program itself lists them.
_mxcheck() {
    local word=${COMP_WORDS[COMP_CWORD]} words
    if [ "$COMP_CWORD" = 1 ]; then
        words=$(mxcheck --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')
    elif [ "${word#-}" != "$word" ]; then
        words=$(mxcheck "${COMP_WORDS[1]}" --help 2>/dev/null | grep -oE -- '--[a-z-]+')
    elif [ "${COMP_WORDS[1]}" = list ] && [ "$COMP_CWORD" = 2 ]; then
        words=$(mxcheck list ? 2>&1 | sed -n 's/.*there are://p')
    else
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _mxcheck mxcheck
