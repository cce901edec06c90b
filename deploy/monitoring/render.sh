#!/usr/bin/env bash
# Renders the mixin to what ships: rules.yaml and dashboard.json, and the chart's copies of them.
# Needs jsonnet; a test renders again and compares.
set -euo pipefail
cd "$(dirname "$0")"

jsonnet --string --output-file rules.yaml mixin/rules.jsonnet
jsonnet --output-file dashboard.json mixin/dashboard.jsonnet

chart=../../helm/orphangc/files
if [[ -d "$chart" ]]; then
  cp rules.yaml "$chart/alerts.yaml"
  cp dashboard.json "$chart/"
fi
