#!/bin/sh
# The Debian packages that the tests need: a real sshd, the login shells that people have, two editors. Quick when they are there.
set -eu
missing=""
command -v sshd >/dev/null 2>&1 || [ -x /usr/sbin/sshd ] || missing="$missing openssh-server"
command -v ssh >/dev/null 2>&1 || missing="$missing openssh-client"
command -v tcsh >/dev/null 2>&1 || missing="$missing tcsh"
command -v zsh >/dev/null 2>&1 || missing="$missing zsh"
command -v fish >/dev/null 2>&1 || missing="$missing fish"
command -v nvim >/dev/null 2>&1 || missing="$missing neovim"
command -v emacs >/dev/null 2>&1 || missing="$missing emacs-nox elpa-eglot"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "The tests over ssh and in editors need these packages, and only root can install them:$missing. Those tests will be skipped and say so."
    exit 0
fi
echo "Installing$missing"
export DEBIAN_FRONTEND=noninteractive
# A test machine gets the programs, not a service that listens: a policy file keeps the package from starting one.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq
# shellcheck disable=SC2086  # a list of words
apt-get install -y -qq --no-install-recommends $missing >/dev/null
