#!/bin/sh
# The scripted agent of `cargo xtask bench`. What it does is in its folder: `orders` that it obeys first, `before` that it writes
# (by itself, line by line, if there is a `writer`; the time, if there is a `clock`), a `gate` that it waits at if there is one, and `after`. Under the name
# `acp-agent` it speaks ACP, and does the same when it is prompted; also under the name `qwen`, which is of an agent that is told of rules.
here=${0%/*}
[ ! -e "$here/orders" ] || . "$here/orders"

say() {
    if [ -e "$here/clock" ]; then
        "$here/clock" tell-time
    elif [ -e "$here/writer" ]; then
        "$here/writer" write-lines "$here/before"
    else
        cat "$here/before"
    fi
    [ ! -e "$here/gate" ] || : <"$here/gate"
}

case ${0##*/} in
acp-agent | qwen) ;;
*)
    say
    exec cat "$here/after"
    ;;
esac

while read -r request; do
    id=${request#*\"id\":}
    id=${id%%[,\}]*}
    case $request in
    *'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}' ;;
    *'"session/new"'*) result='{"sessionId":"bench"}' ;;
    *'"session/prompt"'*)
        say
        result='{"stopReason":"end_turn"}'
        ;;
    *) result='{}' ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
