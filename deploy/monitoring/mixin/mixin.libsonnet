// The monitoring mixin: import it, add `_config+::`, render what you need. It needs no library.
(import 'config.libsonnet') + (import 'alerts.libsonnet') + (import 'dashboard.libsonnet')
