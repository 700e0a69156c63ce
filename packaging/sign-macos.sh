#!/bin/bash
# Signs an executable with a Developer ID and has Apple notarise it: sign-macos.sh <file>. The secrets are variables of the environment:
# CERTIFICATE (a .p12 in base64), CERTIFICATE_PASSWORD, IDENTITY, and for notarisation APPLE_ID, APPLE_TEAM, APPLE_PASSWORD.
set -euo pipefail

file=$1
work=$(mktemp -d)
keychain=$work/signing.keychain-db
secret=$(uuidgen)
trap 'security delete-keychain "$keychain" 2>/dev/null || true; rm -rf "$work"' EXIT

base64 --decode <<<"$CERTIFICATE" >"$work/certificate.p12"
security create-keychain -p "$secret" "$keychain"
security unlock-keychain -p "$secret" "$keychain"
security import "$work/certificate.p12" -k "$keychain" -P "$CERTIFICATE_PASSWORD" -T /usr/bin/codesign
security set-key-partition-list -S apple-tool:,apple: -s -k "$secret" "$keychain" >/dev/null
security list-keychains -d user -s "$keychain" login.keychain

# The hardened runtime forbids a JIT compiler unless the entitlements allow it.
codesign --force --options runtime --timestamp --entitlements "$(dirname "$0")/entitlements.plist" \
  --keychain "$keychain" --sign "$IDENTITY" "$file"
codesign --verify --strict --verbose=2 "$file"

if [ -n "${APPLE_ID:-}" ]; then
  ditto -c -k "$file" "$work/mcpx.zip"
  xcrun notarytool submit "$work/mcpx.zip" --wait --apple-id "$APPLE_ID" --team-id "$APPLE_TEAM" --password "$APPLE_PASSWORD"
fi
