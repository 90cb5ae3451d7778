#!/usr/bin/env bash
# Checks the files in .github/: the workflows with actionlint, if it is installed or Go can fetch it; else only that they
# are YAML, and that each stage that they name is one of .ci/run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=v1.7.12
lint=$(command -v actionlint || true)
if [[ -z $lint ]] && command -v go > /dev/null; then
  lint=$PWD/build/tools/actionlint
  [[ -x $lint ]] || GOBIN=$(dirname "$lint") go install "github.com/rhysd/actionlint/cmd/actionlint@$version" || lint=
fi
if [[ -n $lint ]]; then
  # What it says does not depend on whether shellcheck is installed: a list of stages is split on purpose.
  "$lint" -shellcheck= .github/workflows/*.yml
  echo "check_workflows: actionlint finds nothing"
else
  echo "check_workflows: actionlint is not installed, and Go cannot fetch it: only the syntax is checked"
fi

python=python3
if ! "$python" -c 'import yaml' 2> /dev/null; then
  python=build/tools/venv/bin/python
  [[ -x $python ]] || python3 -m venv build/tools/venv
  "$python" -c 'import yaml' 2> /dev/null || "$python" -m pip install --quiet --disable-pip-version-check pyyaml
fi
"$python" - <<'PY'
import pathlib
import re
import sys

import yaml

stages = set(re.findall(r"^(?:stage|beside) (\w+) ", pathlib.Path(".ci/run").read_text(), re.MULTILINE))
for path in sorted(pathlib.Path(".github").rglob("*.yml")):
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    for job in (document.get("jobs") or {}).values():
        for words in job.get("strategy", {}).get("matrix", {}).get("stages", []):
            unknown = set(words.split()) - stages
            if unknown:
                sys.exit(f"{path}: .ci/run has no stage {', '.join(sorted(unknown))}")
named = {word for words in yaml.safe_load(pathlib.Path(".github/workflows/ci.yml").read_text())
         ["jobs"]["stages"]["strategy"]["matrix"]["stages"] for word in words.split()}
# "ahead" only builds what other stages run.
if missing := stages - named - {"deps", "ahead"}:
    sys.exit(f".github/workflows/ci.yml: no job runs the stage {', '.join(sorted(missing))}")
PY
echo "check_workflows: every stage of .ci/run has a job"
