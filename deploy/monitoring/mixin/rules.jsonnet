// Renders to ../rules.yaml (jsonnet --string).
local mixin = import 'mixin.libsonnet';

'# Rendered from mixin/ by render.sh; change it there.\n'
+ std.manifestYamlDoc(mixin.prometheusAlerts, indent_array_in_object=true, quote_keys=false)
