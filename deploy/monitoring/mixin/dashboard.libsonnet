// One screen: is all well, where do the bytes go, what was done, and each storage root in a line.
local panels = import 'panels.libsonnet';

{
  local config = $._config,
  local replicas = 'job=~"$job", instance=~"$instance"',
  local roots = replicas + ', root=~"$root"',

  local matched(name, common, matchers) =
    local all = [each for each in [common, matchers, config.selector] if each != ''];
    'orphangc_%s{%s}' % [name, std.join(', ', all)],
  local ofRoots(name, matchers='') = matched(name, roots, matchers),
  local ofReplicas(name) = matched(name, replicas, ''),

  // Replicas of a daemon report the same about a storage root: the maximum of them, counted once.
  local newest(by, name, matchers='') = 'max by (%s) (%s)' % [by, ofRoots(name, matchers)],
  local events(by, name, matchers='') =
    'sum by (%(by)s) (max by (root, %(by)s) (increase(%(series)s[$__rate_interval]))) > 0'
    % { by: by, series: ofRoots(name, matchers) },
  local sumOf(by, name, matchers='') =
    'sum by (%(by)s) (%(newest)s)' % { by: by, newest: newest('root, scope, reason', name, matchers) },

  local orphans = 'reason=~"orphan|in_quarantine|quarantine_over"',

  local status = {
    title: 'Status',
    height: 4,
    panels: [
      [4, panels.stat(
        'Longest without a plan',
        'Time since the last successful plan, of the storage root that has waited longest.',
        's',
        [panels.target('max(time() - (%s > 0))' % newest('root', 'last_success_timestamp_seconds', 'phase="plan"'), 'plan')],
        [[12 * 3600, 'orange'], [24 * 3600, 'red']],
      )],
      [4, panels.stat(
        'Refused or blocked jobs',
        'Jobs of the newest plans by the guard that refused them, or the condition that blocks their deletion. What to do about each stands on the status page.',
        'short',
        [panels.target('sum by (guard) (%s) > 0' % newest('root, guard', 'refused_jobs'), '{{guard}}')],
        [[1, 'orange']],
      )],
      [3, panels.stat(
        'Missing live files',
        'Files that a checkpoint or savepoint refers to and that are not there. More than none: something cannot be restored.',
        'short',
        [panels.target('sum(%s)' % newest('root', 'missing_objects'), 'missing')],
        [[1, 'red']],
      )],
      [3, panels.stat(
        'Halted',
        'Storage roots where something in use had been judged an orphan; nothing is deleted there until a person has checked.',
        'short',
        [panels.target('sum(%s)' % newest('root', 'halted'), 'halted')],
        [[1, 'red']],
      )],
      [3, panels.stat(
        'Oldest registry snapshot',
        'Age, at the last plan, of the newest registry snapshot of the job whose is oldest. After an hour the job is refused.',
        's',
        [panels.target('max(%s)' % newest('root', 'registry_age_seconds'), 'age')],
        [[1800, 'orange'], [3600, 'red']],
      )],
      [7, panels.stat(
        'Version',
        'What runs. Two versions: an update is under way, or a replica was left behind.',
        'short',
        [panels.target('count by (version) (%s)' % ofReplicas('build_info'), '{{version}}')],
        textMode='name',
      )],
    ],
  },

  local bytes = {
    title: 'Bytes',
    height: 7,
    panels: [
      [10, panels.graph(
        'Stored bytes by reason',
        'What the last plans saw, by the reason of each verdict: referenced is live, orphan and quarantine are on their way out, everything else is kept for a doubt.',
        'bytes',
        [panels.target(sumOf('reason', 'stored_bytes'), '{{reason}}')],
        stacked=true,
      )],
      [7, panels.graph(
        'Orphans by storage root',
        'Bytes of files that no checkpoint needs. Rising for days: nothing may be deleted there yet; see refusals, conditions and mode.',
        'bytes',
        [panels.target('sum by (root) (%s)' % newest('root, scope, reason', 'stored_bytes', orphans), '{{root}}')],
      )],
      [7, panels.graph(
        'Deleted bytes',
        'Bytes that sweeps deleted.',
        'bytes',
        [panels.target(events('action', 'swept_bytes_total', 'action="delete", outcome="done"'), '{{action}}')],
        bars=true,
      )],
    ],
  },

  local activity = {
    title: 'Activity',
    height: 7,
    panels: [
      [6, panels.graph(
        'Runs by result',
        'How the phases of runs ended. Only done is a success; refused means that a guard stopped the work on every job.',
        'short',
        [panels.target(events('phase, result', 'runs_total'), '{{phase}} {{result}}')],
        stacked=true,
        bars=true,
      )],
      [6, panels.graph(
        'Duration of runs',
        'How long the phases of the runs in each span took, on average.',
        's',
        [panels.target(
          'max by (root, phase) (rate(%s[$__rate_interval]) / (rate(%s[$__rate_interval]) > 0))' % [
            ofRoots('run_duration_seconds_sum'),
            ofRoots('run_duration_seconds_count'),
          ],
          '{{root}} {{phase}}'
        )],
      )],
      [6, panels.graph(
        'Swept objects',
        'What became of verdicts: tombstones laid, revived, objects deleted; gone and changed were not touched; check the failed ones.',
        'short',
        [panels.target(events('action, outcome', 'swept_objects_total'), '{{action}} {{outcome}}')],
        stacked=true,
        bars=true,
      )],
      [6, panels.graph(
        'Refusals by guard',
        'Jobs that runs refused or blocked, by guard or condition.',
        'short',
        [panels.target(events('guard', 'refusals_total'), '{{guard}}')],
        stacked=true,
        bars=true,
      )],
    ],
  },

  local table = {
    title: 'Storage roots',
    height: 8,
    panels: [
      [24, panels.table(
        'Storage roots',
        'Each storage root as its newest runs left it.',
        'root',
        'Storage root',
        [
          { header: 'Since plan', unit: 's', expr: 'time() - (%s > 0)' % newest('root', 'last_success_timestamp_seconds', 'phase="plan"') },
          { header: 'Since sweep', unit: 's', expr: 'time() - (%s > 0)' % newest('root', 'last_success_timestamp_seconds', 'phase="sweep"') },
          { header: 'Interval', unit: 's', expr: newest('root', 'run_interval_seconds') },
          { header: 'Live', unit: 'bytes', expr: sumOf('root', 'stored_bytes', 'reason="referenced"') },
          { header: 'Orphans', unit: 'bytes', expr: sumOf('root', 'stored_bytes', orphans) },
          { header: 'Held back', unit: 'bytes', expr: newest('root', 'held_back_bytes') },
          { header: 'Objects held back', unit: 'short', expr: newest('root', 'held_back_objects') },
          { header: 'Unneeded', unit: 'bytes', expr: newest('root', 'unneeded_bytes') },
          { header: 'Expired', unit: 'short', expr: newest('root', 'quarantined_checkpoints') },
          { header: 'Objects', unit: 'short', expr: sumOf('root', 'stored_objects') },
          { header: 'Oldest tombstone', unit: 's', expr: 'time() - (%s > 0)' % newest('root', 'oldest_tombstone_timestamp_seconds') },
          { header: 'Grace period', unit: 's', expr: newest('root', 'grace_period_seconds') },
          { header: 'Refused or blocked', unit: 'short', expr: newest('root', 'run_blocked_jobs') },
          { header: 'Missing', unit: 'short', expr: newest('root', 'missing_objects') },
          { header: 'Not self-sustained', unit: 'short', expr: newest('root', 'self_sustained_jobs', 'answer="no"') },
          { header: 'Uploads aborted', unit: 'short', expr: 'max by (root) (increase(%s[$__range]))' % ofRoots('aborted_uploads_total', 'outcome="done"') },
          { header: 'List requests', unit: 'short', expr: 'max by (root) (increase(%s[$__range]))' % ofRoots('list_requests_total') },
        ],
      )],
    ],
  },

  local label(name) =
    'label_values(orphangc_build_info{%s}, %s)' % [config.selector, name],

  grafanaDashboards+:: {
    'orphangc.json': {
      uid: config.dashboard.uid,
      title: config.dashboard.title,
      description: 'What orphangc finds, keeps and deletes in the checkpoint storages of Apache Flink.',
      tags: config.dashboard.tags,
      schemaVersion: 39,
      version: 1,
      editable: false,
      graphTooltip: 1,
      timezone: 'utc',
      refresh: config.dashboard.refresh,
      time: { from: config.dashboard.from, to: 'now' },
      annotations: { list: [] },
      links: [],
      templating: {
        list: [
          panels.datasourceVariable,
          panels.variable('job', 'Job', label('job')),
          panels.variable('instance', 'Instance', 'label_values(orphangc_build_info{job=~"$job"}, instance)'),
          panels.variable('root', 'Storage root', 'label_values(orphangc_grace_period_seconds{job=~"$job", instance=~"$instance"}, root)'),
        ],
      },
      panels: panels.layout([status, bytes, activity, table]),
    },
  },
}
