#!/bin/sh
# The agent of the tests: it does what the script of its world says. It is never written while tests run, because a file that
# somebody has open for writing cannot be executed, and with many threads somebody always has.
. "$LAPIDARY_TEST_AGENT"
