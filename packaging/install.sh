#!/bin/sh
# Installs mcpx for the current user. It needs no root, verifies the checksum, and changes nothing but one file.
#
#   sh install.sh                        downloads the newest release
#   sh install.sh --file mcpx-….tar.gz   installs a file that is already here, offline; SHA256SUMS must be next to it
#   sh install.sh --uninstall            removes the executable
#
#   MCPX_INSTALL_DIR    the folder to install into (default: ~/.local/bin)
#   MCPX_VERSION        the version to install, such as 0.1.0 (default: the newest)
#   MCPX_DOWNLOAD_URL   the folder with the files of a release: https://… or file://…
set -eu

# The release replaces this line by the address of its own page.
RELEASES='@RELEASES@'

say() { printf '%s\n' "mcpx: $*" >&2; }
fail() {
  printf '%s\n' "error: $1" >&2
  [ $# -lt 2 ] || printf '\n%s\n' "hint: $2" >&2
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

# Prints the target of this system, such as linux-x64, or fails with the reason why there is none.
target() {
  case $(uname -m) in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no mcpx for the processor $(uname -m)" "with Node 20 or later: node mcpx.cjs" ;;
  esac
  case $(uname -s) in
    Linux) check_libc && echo "linux-$arch" ;;
    Darwin) check_macos && echo "darwin-$arch" ;;
    *) fail "there is no mcpx for $(uname -s)" "on Windows, run install.ps1" ;;
  esac
}

# The executable contains Node, which needs glibc 2.28. musl has none of its symbols.
check_libc() {
  glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/^glibc //') || glibc=
  if [ -z "$glibc" ]; then
    fail "this system has no glibc (Alpine has musl), and mcpx needs glibc 2.28 or later" \
      "with Node 20 or later: node mcpx.cjs, from the same release"
  fi
  major=${glibc%%.*}
  minor=${glibc#*.}
  minor=${minor%%.*}
  if [ "$major" -lt 2 ] || { [ "$major" -eq 2 ] && [ "$minor" -lt 28 ]; }; then
    fail "this system has glibc $glibc, and mcpx needs glibc 2.28 or later" \
      "use Debian 10, Ubuntu 20.04, RHEL 8 or later, or a container"
  fi
}

check_macos() {
  version=$(sw_vers -productVersion 2>/dev/null) || return 0
  major=${version%%.*}
  rest=${version#*.}
  minor=${rest%%.*}
  if [ "$major" -lt 13 ] || { [ "$major" -eq 13 ] && [ "$minor" -lt 5 ]; }; then
    fail "this is macOS $version, and mcpx needs macOS 13.5 or later"
  fi
}

# Prints the path of a file: URL, in which a browser writes a space as %20.
path_of() {
  path=${1#file://}
  path=/${path#*/}
  [ -e "$path" ] || path=$(printf %s "$path" | LC_ALL=C awk '{
    while (match($0, /%[0-9A-Fa-f][0-9A-Fa-f]/)) {
      high = index("0123456789abcdef", tolower(substr($0, RSTART + 1, 1))) - 1
      low = index("0123456789abcdef", tolower(substr($0, RSTART + 2, 1))) - 1
      printf "%s%c", substr($0, 1, RSTART - 1), 16 * high + low
      $0 = substr($0, RSTART + 3)
    }
    print
  }')
  printf '%s\n' "$path"
}

# fetch URL FILE
fetch() {
  case $1 in
    file://*)
      path=$(path_of "$1")
      cp "$path" "$2" || fail "cannot read \"$path\""
      ;;
    *)
      if has curl; then
        curl --fail --silent --show-error --location --output "$2" "$1" || fail "cannot download \"$1\""
      elif has wget; then
        wget -q -O "$2" "$1" || fail "cannot download \"$1\""
      else
        fail "neither curl nor wget is installed" "download the file in a browser, then: sh install.sh --file <file>"
      fi
      ;;
  esac
}

sum_of() {
  if has sha256sum; then
    sha256sum "$1"
  elif has shasum; then
    shasum -a 256 "$1"
  else
    fail "neither sha256sum nor shasum is installed, so that the checksum cannot be verified"
  fi | cut -d ' ' -f 1
}

# verify FILE NAME SUMS: fails unless SUMS has the checksum of FILE under NAME.
verify() {
  expected=$(awk -v name="$2" '{ sub(/^\*/, "", $2) } $2 == name { print $1; exit }' "$3")
  [ -n "$expected" ] || fail "SHA256SUMS has no checksum of \"$2\"" "take the file and SHA256SUMS from the same release"
  found=$(sum_of "$1")
  [ -n "$found" ] || exit 1
  [ "$found" = "$expected" ] && return
  fail "the checksum of \"$2\" is wrong: expected $expected, found $found" "download it again; nothing was installed"
}

# unpack FILE NAME: leaves the executable as $work/mcpx.
unpack() {
  case $2 in
    *.tar.gz) tar -xzf "$1" -C "$work" && mv "$work/${2%.tar.gz}/mcpx" "$work/mcpx" ;;
    *.tar.xz) tar -xJf "$1" -C "$work" && mv "$work/${2%.tar.xz}/mcpx" "$work/mcpx" ;;
    *) cp "$1" "$work/mcpx" ;;
  esac
}

uninstall() {
  [ -f "$folder/mcpx" ] || fail "there is no mcpx in \"$folder\"" "set MCPX_INSTALL_DIR to its folder"
  rm "$folder/mcpx"
  say "removed $folder/mcpx"
  say "config, logs and stored lists are still in ~/.mcpx; to remove them: rm -r ~/.mcpx"
}

install_local() {
  [ -f "$1" ] || fail "there is no file \"$1\""
  sums=$(dirname "$1")/SHA256SUMS
  [ -f "$sums" ] || fail "there is no \"$sums\" to verify the file with" "copy SHA256SUMS of the release next to the file"
  verify "$1" "$(basename "$1")" "$sums"
  unpack "$1" "$(basename "$1")"
}

install_release() {
  this=$(target) || exit 1
  if [ -n "${MCPX_DOWNLOAD_URL:-}" ]; then
    url=${MCPX_DOWNLOAD_URL%/}
  else
    case $RELEASES in
      http*) ;;
      *) fail "this copy of install.sh belongs to no release" "set MCPX_DOWNLOAD_URL to the folder with the files" ;;
    esac
    if [ -n "${MCPX_VERSION:-}" ]; then url=$RELEASES/download/v${MCPX_VERSION#v}; else url=$RELEASES/latest/download; fi
  fi
  fetch "$url/SHA256SUMS" "$work/SHA256SUMS"
  name=$(awk -v end="-$this.tar.gz" '{ sub(/^\*/, "", $2) } $2 ~ /^mcpx-/ && substr($2, length($2) - length(end) + 1) == end { print $2; exit }' "$work/SHA256SUMS")
  [ -n "$name" ] || fail "the release has no archive for $this"
  if [ -n "${MCPX_VERSION:-}" ] && [ "$name" != "mcpx-${MCPX_VERSION#v}-$this.tar.gz" ]; then
    fail "MCPX_VERSION is ${MCPX_VERSION#v}, and \"$url\" has \"$name\""
  fi
  say "downloading $url/$name"
  fetch "$url/$name" "$work/$name"
  verify "$work/$name" "$name" "$work/SHA256SUMS"
  unpack "$work/$name" "$name"
}

# Moves the executable into its folder, if it runs there: the folder for temporary files may forbid programs.
# The last step is a rename, so that a running mcpx is not disturbed.
place() {
  new=$folder/.mcpx.new
  { mkdir -p "$folder" && cp "$work/mcpx" "$new" && chmod 755 "$new"; } ||
    fail "cannot write into \"$folder\"" "set MCPX_INSTALL_DIR to a folder of your own"
  version=$("$new" --version) || {
    rm "$new"
    fail "the executable does not run here: ${version:-no output}" "is it for this system, and is libstdc++ installed?"
  }
  mv -f "$new" "$folder/mcpx"
}

main() {
  file=
  remove=
  while [ $# -gt 0 ]; do
    case $1 in
      --file)
        [ $# -gt 1 ] || fail "--file needs a file"
        file=$2
        shift 2
        ;;
      --uninstall) remove=1 && shift ;;
      -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 0 ;;
      *) fail "unknown option \"$1\"" "sh install.sh --help" ;;
    esac
  done
  folder=${MCPX_INSTALL_DIR:-${HOME:?is not set; set it or MCPX_INSTALL_DIR}/.local/bin}
  case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
  [ -z "$remove" ] || { uninstall && exit 0; }
  target >/dev/null || exit 1
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  if [ -n "$file" ]; then install_local "$file"; else install_release; fi
  place
  say "installed $version as $folder/mcpx"
  case ":$PATH:" in
    *":$folder:"*) ;;
    *) say "$folder is not on your PATH; add this line to the profile of your shell: export PATH=\"$folder:\$PATH\"" ;;
  esac
  say "try it: $folder/mcpx demo"
  say "undo: rm \"$folder/mcpx\""
}

main "$@"
