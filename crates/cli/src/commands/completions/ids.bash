
# Ids of runs and sessions: `lapidary` knows them.
_lapidary_ids() {
    local cur="${COMP_WORDS[COMP_CWORD]}" id description
    COMPREPLY=()
    if [[ $cur != -* ]]; then
        while IFS=$'\t' read -r id description; do
            [[ $id == "$cur"* ]] && COMPREPLY+=("$id")
        done < <("$1" complete-ids -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
    fi
    [[ ${#COMPREPLY[@]} -gt 0 ]] || _lapidary "$@"
}
complete -F _lapidary_ids -o nosort -o bashdefault -o default lapidary 2>/dev/null ||
    complete -F _lapidary_ids -o bashdefault -o default lapidary
