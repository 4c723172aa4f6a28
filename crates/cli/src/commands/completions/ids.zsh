    # Ids of runs and sessions: `lapidary` knows them.
    if [[ "$words[CURRENT]" != -* ]]; then
        local -a lapidary_ids
        lapidary_ids=("${(@f)$("$words[1]" complete-ids -- "${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
        if [[ -n "$lapidary_ids[1]" ]]; then
            lapidary_ids=("${(@)lapidary_ids//$'\t'/:}")
            _describe -V id lapidary_ids && return 0
        fi
    fi
