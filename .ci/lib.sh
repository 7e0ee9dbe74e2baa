# Shared by the scripts in this folder, which source it. It changes to the root of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# What a later build of changed sources would read is a third of what a build writes, and CI builds once.
[ -z "${CI-}" ] || export CARGO_INCREMENTAL=0
# A change must not be refused for what a random test finds by chance; elsewhere, they differ in each run.
[ -z "${CI-}" ] || export PROPTEST_RNG_SEED=1

# again COMMAND…: tries a command that uses the network up to three times.
again() {
    "$@" || { sleep 10 && "$@"; } || { sleep 30 && "$@"; }
}

# apt_install PACKAGE…
apt_install() {
    again apt-get update -qq
    again apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# need COMMAND [PACKAGE]: installs the package unless the command is there.
need() { command -v "$1" >/dev/null || apt_install "${2-$1}"; }

# pip_install VENV ARGUMENT…: installs Python packages into a virtual environment, which it creates if necessary.
pip_install() {
    # The Python of some distributions has no `venv` of its own.
    [ -x "$1/bin/pip" ] || python3 -m venv "$1" || { apt_install python3-venv && python3 -m venv --clear "$1"; }
    again "$1/bin/pip" install -q --disable-pip-version-check "${@:2}"
}

# npm_install FOLDER PACKAGE…
npm_install() {
    need npm
    mkdir -p "$1"
    again npm install --prefix "$1" --loglevel=error --no-fund --no-audit --no-save --no-package-lock "${@:2}"
}

# cargo_install NAME VERSION: installs a cargo subcommand unless this version is there. Without optimization, because that
# takes longer than it saves.
cargo_install() {
    [ "$(cargo "${1#cargo-}" --version 2>/dev/null)" = "$1 $2" ] ||
        CARGO_PROFILE_DEV_DEBUG=0 again nice cargo install --quiet --locked --debug "$1@$2"
}

# scratch NAME: prints the absolute path of target/NAME, which it creates if necessary.
scratch() { mkdir -p "target/$1" && (cd "target/$1" && pwd); }

# Prints the absolute path of the folder of debug binaries.
debug_binaries() { (cd "${CARGO_TARGET_DIR:-target}/debug" && pwd); }

# run_steps SCRIPT [--list | STEP…]: runs the named functions `step_NAME` of a script, or all of them in the order in which
# they are defined, each in a subshell; stops at the first that fails. With `CI` set, the output of a step goes to
# target/ci/NAME; what is printed of it is what was not checked, and the end of it if the step failed.
run_steps() {
    local script=$1 all chosen
    shift
    mapfile -t all < <(sed -n 's/^step_\([a-z_]*\)() .*/\1/p' "$script")
    if [ "${1-}" = --list ]; then
        sed -n 's/^step_\([a-z_]*\)() { # \(.*\)/\1\t\2/p' "$script" | expand -t 16
        return
    fi
    chosen=("$@")
    [ $# -gt 0 ] || chosen=("${all[@]}")
    for name in "${chosen[@]}"; do
        if [[ " ${all[*]} " != *" $name "* ]]; then
            echo "unknown step \`$name\`; the steps are: ${all[*]}" >&2
            exit 2
        fi
    done
    # A trap, which reads global variables, because `if step; then` would switch off `set -e` inside of the step.
    trap step_failed EXIT
    for name in "${chosen[@]}"; do
        start=$SECONDS
        if [ -n "${CI-}" ]; then
            log=$(scratch ci)/$name
            ("step_$name") >"$log" 2>&1
            grep -a '^NOT CHECKED' "$log" || true
        else
            printf '\n== %s\n' "$name"
            ("step_$name")
        fi
        printf '== %s took %d s; %s free\n' "$name" $((SECONDS - start)) "$(df -h --output=avail . | tail -n 1 | tr -d ' ')"
    done
    trap - EXIT
    printf '\nall in %d s\n%d passed, 0 failed\n' "$SECONDS" ${#chosen[@]}
}

step_failed() {
    printf '\n== %s failed after %d s\n' "$name" $((SECONDS - start)) >&2
    [ -z "${log-}" ] || tail -n 120 "$log" | cut -c 1-600 >&2
}
