// Alerts on what runs leave behind. Runs are hours apart: where a gauge tells the state after the
// newest run, the alert asks it; where only a counter does, it counts within `window`.
{
  local config = $._config,
  local group = config.groupLabels,

  // Matchers of a metric: its own, and the user's.
  local series(name, matchers='') =
    local all = std.join(', ', [each for each in [matchers, config.selector] if each != '']);
    'orphangc_' + name + (if all == '' then '' else '{%s}' % all),
  local anyOf(values) = std.join('|', values),
  // Of several replicas, each of which knows a root, the one that knows most.
  local newest(expr, by=group) = 'max by (%s) (%s)' % [by, expr],
  local counted(name, matchers, by=group, over='result') =
    'max by (%s) (sum without (%s) (increase(%s[%s])))' % [by, over, series(name, matchers), config.window],

  local alert(name, summary, description, expr) = {
    alert: name,
    annotations: {
      summary: summary,
      description: description,
      runbook_url: config.runbookURLPattern % std.asciiLower(name),
    },
    expr: expr,
    'for': config.alerts[name]['for'],
    labels: { severity: config.alerts[name].severity },
  },

  local success(comparison) = series('last_success_timestamp_seconds') + comparison,

  local runs = [
    // Never a success: since when the series is there. A sweep is asked for only where sweeps run,
    // and nothing where there is no schedule.
    alert(
      'OrphangcNotRunRecently',
      'A storage root has had no successful run for two intervals.',
      'The phase {{ $labels.phase }} of {{ $labels.root }} has not succeeded for {{ $value | humanizeDuration }}.',
      |||
        (
          time() - max by (%(group)s, phase) (%(some)s)
          or
          time() - min by (%(group)s, phase) (min_over_time(timestamp(%(none)s)[%(firstSeenWindow)s:%(firstSeenStep)s]))
        )
        > on (%(group)s) group_left ()
        (%(intervals)s * max by (%(group)s) (%(interval)s > 0) + %(slackSeconds)s)
        unless on (%(group)s, phase)
        %(idleSweeps)s == 0
      ||| % (config {
               group: group,
               some: success(' > 0'),
               none: success(' == 0'),
               interval: series('run_interval_seconds'),
               idleSweeps: counted('runs_total', 'phase="sweep"', group + ', phase'),
             })
    ),
    alert(
      'OrphangcRunFailing',
      'The runs of a storage root fail.',
      '{{ $value | humanize }} times within %s the phase {{ $labels.phase }} of {{ $labels.root }} failed, and it never succeeded.' % config.window,
      |||
        %s >= %s
        unless
        %s > 0
      ||| % [
        counted('runs_total', 'result=~"failed|unreachable|interrupted"', group + ', phase'),
        config.failedRuns,
        counted('runs_total', 'result=~"done|blocked|some_deletes_failed|refused"', group + ', phase'),
      ]
    ),
    alert(
      'OrphangcMissedRuns',
      'Runs of a storage root could not be started in time.',
      '{{ $value | humanize }} runs of {{ $labels.root }} were missed within %s: a run takes longer than the schedule allows, or the daemon was busy.' % config.window,
      '%s >= %s' % [counted('runs_total', 'result="missed"'), config.missedRuns]
    ),
    alert(
      'OrphangcLockHeld',
      'Another run holds the lock of a storage root again and again.',
      '{{ $value | humanize }} runs of {{ $labels.root }} found its lock held within %s: two schedulers work on it, or a run hangs.' % config.window,
      '%s >= %s' % [counted('runs_total', 'result="locked"'), config.lockedRuns]
    ),
  ],

  local findings = [
    alert(
      'OrphangcHalted',
      'A storage root is halted: something in use had been judged an orphan.',
      'Nothing of {{ $labels.root }} is deleted until a person has found out why and has lifted the halt.',
      newest(series('halted')) + ' == 1'
    ),
    alert(
      'OrphangcMissingLiveFile',
      'A checkpoint or savepoint refers to files that are not there.',
      '{{ $value }} files that checkpoints or savepoints of {{ $labels.root }} refer to are missing; what refers to them cannot be restored.',
      newest(series('missing_objects')) + ' > 0'
    ),
    alert(
      'OrphangcExpiredInUse',
      'A checkpoint in quarantine is in use.',
      '{{ $value }} checkpoints of {{ $labels.root }} expired and are named by something, or were restored from.',
      newest(series('quarantined_checkpoints_in_use')) + ' > 0'
    ),
    alert(
      'OrphangcUnreadableRoot',
      'A checkpoint or savepoint cannot be read.',
      'A _metadata file of {{ $labels.root }} cannot be read, so it might name any file: nothing is deleted there (jobs refused: {{ $value }}).',
      newest(series('refused_jobs', 'guard="unreadable_root"')) + ' > 0'
    ),
    alert(
      'OrphangcRefused',
      'A guard refused the work on a job.',
      'The guard {{ $labels.guard }} refused jobs of {{ $labels.root }} ({{ $value }}); everything of theirs is kept.',
      newest(series('refused_jobs', 'guard=~"%s"' % anyOf(config.guards)), group + ', guard') + ' > 0'
    ),
    alert(
      'OrphangcBlocked',
      'Deletion waits for a decision.',
      'The condition {{ $labels.guard }} blocks jobs of {{ $labels.root }} ({{ $value }}); their orphans are kept until a person has checked.',
      newest(series('refused_jobs', 'guard=~"%s"' % anyOf(config.conditions)), group + ', guard') + ' > 0'
    ),
    alert(
      'OrphangcDeleteErrors',
      'Objects could not be deleted.',
      '{{ $value | humanize }} deletions of {{ $labels.root }} failed within %s.' % config.window,
      '%s >= %s' % [counted('swept_objects_total', 'action="delete", outcome="failed"', over='outcome'), config.deleteErrors]
    ),
    alert(
      'OrphangcRegistryStale',
      'The registry snapshots of a job are old.',
      'The newest registry snapshot of a job of {{ $labels.root }} was {{ $value | humanizeDuration }} old at the last plan; after an hour the job is refused.',
      '%s > %s' % [newest(series('registry_age_seconds')), config.registryAgeSeconds]
    ),
    alert(
      'OrphangcOrphanBytesGrowing',
      'Orphans pile up.',
      '{{ $value | humanize1024 }}B of {{ $labels.root }} are orphans, no less than %s ago.' % config.orphanWindow,
      local bytes(offset) = 'max by (%s) (sum without (scope, reason) (%s%s))' % [
        group,
        series('stored_bytes', 'reason=~"orphan|in_quarantine|quarantine_over"'),
        offset,
      ];
      |||
        %(now)s > %(limit)d
        and
        %(now)s >= %(before)s
      ||| % { now: bytes(''), before: bytes(' offset ' + config.orphanWindow), limit: config.orphanBytes }
    ),
  ],

  local daemon = [
    alert(
      'OrphangcAbsent',
      'Nothing is heard of orphangc.',
      '{{ with $labels.instance }}The daemon at {{ . }} does not answer.{{ else }}No metrics of orphangc, scraped or pushed, are to be found.{{ end }}',
      |||
        absent(%s)
        or
        max by (namespace, job, instance) (up{%s}) == 0
      ||| % [series('build_info'), config.daemonSelector]
    ),
  ],

  // The second line for CronJobs: what Kubernetes itself knows, whatever becomes of the metrics.
  local cronJob(metric) =
    'max by (namespace, cronjob) (kube_cronjob_%s{%s})' % [metric, config.cronJobSelector],
  local kubernetes = [
    alert(
      'OrphangcCronJobNotSuccessful',
      'A CronJob of orphangc has had no successful Job for two intervals.',
      'The CronJob {{ $labels.namespace }}/{{ $labels.cronjob }} has not succeeded for {{ $value | humanizeDuration }}.',
      |||
        time() - (%s or %s)
        > %s * (%s - %s) + %s
      ||| % [
        cronJob('status_last_successful_time'),
        cronJob('created'),
        config.intervals,
        cronJob('next_schedule_time'),
        cronJob('status_last_schedule_time'),
        config.slackSeconds,
      ]
    ),
  ],

  prometheusAlerts+:: {
    groups+: [
      { name: 'orphangc-runs', rules: runs },
      { name: 'orphangc-findings', rules: findings },
      { name: 'orphangc-daemon', rules: daemon },
      { name: 'orphangc-kubernetes', rules: kubernetes },
    ],
  },
}
