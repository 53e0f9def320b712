#!/usr/bin/env bash
# Lines and branches of server/ that the tests run, child processes included: `bash benchmarks/coverage.sh`. The data, with the tests as
# contexts, go to .cache/coverage for benchmarks/mutations.py. What runs inside a worker's own processes (from an archive) isn't counted;
# tests/unit_worker runs that code here.
set -eu
cd "$(dirname "$0")/.."
make -s .venv/ready-test .worker/ready-test .worker-newest/ready-test
export COVERAGE_ROOT=$PWD COVERAGE_PROCESS_START=$PWD/benchmarks/coverage.ini
rm -rf .cache/coverage
mkdir -p .cache/coverage
for environment in .venv .worker; do
  $environment/bin/python -m pip install -q --disable-pip-version-check coverage==7.10.7
  echo 'import coverage; coverage.process_startup()' >"$(echo $environment/lib/python3*/site-packages)/count_coverage.pth"
done
trap 'rm -f .venv/lib/python3*/site-packages/count_coverage.pth .worker/lib/python3*/site-packages/count_coverage.pth' EXIT
make test STAGE="unit unit-worker e2e" || echo "Some tests failed (a counted process is slower and has more modules loaded): coverage is told all the same."
unset COVERAGE_PROCESS_START
.venv/bin/python -m coverage combine -q --rcfile=benchmarks/coverage.ini
.venv/bin/python -m coverage report --rcfile=benchmarks/coverage.ini | tail -1
