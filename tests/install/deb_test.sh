#!/usr/bin/env bash
# deb_test.sh BUILD: makes the Debian package and looks into it: what it needs, what it holds, and that none of it looks into the build.
set -euo pipefail
build=$1
for tool in cpack dpkg-deb dpkg-shlibdeps file; do
  command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*" >&2; exit 1; }
cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
! grep -i warning "$work/log" || fail "cpack warned"
deb=$(echo "$work"/baretile_*.deb)
shlibs=$(dpkg-deb -I "$deb" shlibs) version=$(dpkg-deb -f "$deb" Version)
[ "$shlibs" = "libbaretile 0 baretile (>= $version)" ] || fail "others' packages would depend on: $shlibs"
[ "$(dpkg-deb -I "$deb" triggers)" = "activate-noawait ldconfig" ] || fail "the loader would not be told of the library"
needs=$(dpkg-deb -f "$deb" Depends)
for package in 'clang (>= 1:14)' 'lld (>= 1:14)' libfmt libssl libpcre2-8-0 libc6; do
  [[ $needs == *"$package"* ]] || fail "no $package in Depends: $needs"
done
dpkg-deb -x "$deb" "$work/root"
for file in bin/baretile lib/libbaretile.a lib/libbaretile.so.0 lib/libbaretile_sim.so lib/pkgconfig/baretile.pc lib/cmake/baretile/baretileConfig.cmake \
  include/baretile/capi.h include/baretile/baretile.h share/man/man1/baretile.1 share/bash-completion/completions/baretile share/doc/baretile/copyright; do
  [ -e "$work/root/usr/$file" ] || fail "usr/$file is not in the package"
done
env -u BARETILE_SIM BARETILE_DEVICE=sim "$work/root/usr/bin/baretile" hello | grep -q '{832040}' || fail "baretile hello failed"
echo "$(basename "$deb"): $(stat -c %s "$deb") bytes"
