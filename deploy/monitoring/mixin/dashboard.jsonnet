// Renders to ../dashboard.json.
(import 'mixin.libsonnet').grafanaDashboards['orphangc.json']
