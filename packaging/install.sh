#!/bin/sh
# Installs `lapidary` @VERSION@: downloads the archive for this platform, checks it, and moves the binary into place.
#
#   sh install.sh [--from URL_OR_DIRECTORY] [--to DIRECTORY]
#
# `--from` is where the archives and SHA256SUMS are; `--to` is ~/.local/bin without it. Nothing is changed unless all went well.
# shellcheck disable=SC2016 # backticks in messages mark names
set -eu

version='@VERSION@'
from=${LAPIDARY_DOWNLOAD:-'@BASE_URL@'}
to=${LAPIDARY_INSTALL_DIR:-${HOME:+$HOME/.local/bin}}

fail() {
  printf 'error: %s\n' "$1" >&2
  [ -z "${2:-}" ] || printf 'hint: %s\n' "$2" >&2
  exit 1
}

source_build='build it with `cargo install --locked lapidary-cli`'

machine() {
  case $(uname -m) in
    x86_64 | amd64) echo x86_64 ;;
    aarch64 | arm64) echo aarch64 ;;
    *) fail "there is no binary for the processor \`$(uname -m)\`" "$source_build" ;;
  esac
}

# The targets whose binary would run here, the best first.
targets() {
  arch=$(machine) || exit 1
  case $(uname -s) in
    Linux)
      echo "$arch-unknown-linux-musl"
      # A C library of musl cannot run a binary of glibc.
      if ! ldd --version 2>&1 | grep -qi musl; then echo "$arch-unknown-linux-gnu"; fi
      ;;
    Darwin) echo "$arch-apple-darwin" ;;
    *) fail "there is no binary for \`$(uname -s)\`" "$source_build" ;;
  esac
}

# Copies or downloads a file. A download that breaks off is an error.
get() {
  case $from in
    http://* | https://*)
      if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --proto '=http,https' --output "$2" "$from/$1"
      elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$2" "$from/$1" # BusyBox has no long options
      else
        fail 'neither `curl` nor `wget` is installed' 'install one of them'
      fi
      ;;
    *) cp "${from#file://}/$1" "$2" ;;
  esac || fail "cannot get \`$from/$1\`" 'check the address and the connection, and run this again: nothing was changed'
}

checksum() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    fail 'neither `sha256sum` nor `shasum` is installed' 'install one of them: an archive that is not checked is not installed'
  fi
}

work=
staged=
clean() {
  rm -rf "$work"
  [ -z "$staged" ] || rm -f "$staged"
}

# Called on the last line: a script that `curl | sh` got only a part of does nothing.
main() {
  while [ $# -gt 0 ]; do
    case $1 in
      --from) from=${2:-}; shift ;;
      --to) to=${2:-}; shift ;;
      -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
      *) fail "unknown option \`$1\`" 'sh install.sh [--from URL_OR_DIRECTORY] [--to DIRECTORY]' ;;
    esac
    [ $# -eq 0 ] || shift
  done
  [ -n "$from" ] || fail 'the address of the archives is unknown' 'give it with `--from URL_OR_DIRECTORY`, or in `LAPIDARY_DOWNLOAD`'
  [ -n "$to" ] || fail 'there is no home directory' 'give the directory with `--to DIRECTORY`'

  work=$(mktemp -d "${TMPDIR:-/tmp}/lapidary-install.XXXXXX")
  trap clean EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP

  # Assigned first: a failure within a condition would not end the script.
  wanted=$(targets)
  get SHA256SUMS "$work/SHA256SUMS"
  name=
  for target in $wanted; do
    if grep -q "  lapidary-$version-$target.tar.gz\$" "$work/SHA256SUMS"; then
      name=lapidary-$version-$target
      break
    fi
  done
  [ -n "$name" ] || fail "there is no binary of version $version for this platform ($(uname -s), $(uname -m))" "$source_build"

  get "$name.tar.gz" "$work/archive.tar.gz"
  expected=$(sed -n "s/^\([0-9a-f]*\)  $name.tar.gz\$/\1/p" "$work/SHA256SUMS")
  actual=$(checksum "$work/archive.tar.gz")
  [ "$actual" = "$expected" ] ||
    fail "the checksum of \`$name.tar.gz\` is not the one of SHA256SUMS" 'the download is incomplete or altered: run this again; nothing was changed'
  tar -xzf "$work/archive.tar.gz" -C "$work"

  staged=$to/.lapidary.$$
  { mkdir -p "$to" && cp "$work/$name/lapidary" "$staged" && chmod 755 "$staged"; } ||
    fail "cannot write to \`$to\`" 'give another directory with `--to DIRECTORY`'
  # Started where it will be: programs may be forbidden in the directory for temporary files.
  installed=$("$staged" --version) ||
    fail 'the binary does not run on this system' "its C library may be too old: $source_build"
  mv -f "$staged" "$to/lapidary" # within one directory: there is the old binary or the new one
  staged=
  printf 'installed %s in %s\n' "$installed" "$to"
  case ":${PATH:-}:" in
    *":$to:"*) ;;
    *) printf 'hint: add it to PATH: export PATH="%s:$PATH"\n' "$to" ;;
  esac
}

main "$@"
