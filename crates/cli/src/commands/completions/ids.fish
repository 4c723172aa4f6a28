
# Ids of runs and sessions: `lapidary` knows them.
function __lapidary_ids
    set -l words (commandline -opc)
    $words[1] complete-ids -- $words[2..-1] 2>/dev/null
end
complete -c lapidary -k -a '(__lapidary_ids)'
