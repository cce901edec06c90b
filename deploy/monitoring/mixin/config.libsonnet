// Everything that a user of the mixin may want otherwise.
{
  _config+:: {
    // Label matchers that every series of orphangc must meet, scraped or pushed.
    selector: '',
    // Label matchers of the daemon's targets: neither pushed (no instance) nor a node's text file.
    daemonSelector: 'job=~".*orphangc.*", instance!=""',
    // Label matchers of the CronJobs in kube-state-metrics.
    cronJobSelector: 'cronjob=~".*orphangc.*"',
    // Labels that distinguish watched storage roots; they do not distinguish replicas of a daemon.
    groupLabels: 'namespace, job, root',

    // How many intervals may pass without a success, and what a run may take on top of them.
    intervals: 2,
    slackSeconds: 3600,
    // How far back a root that has never succeeded is looked for; longer than two intervals, and no
    // longer than needed: Prometheus reads it all at each evaluation.
    firstSeenWindow: '3d',
    firstSeenStep: '10m',
    // In which span events are counted; should hold three runs of the rarest schedule.
    window: '1d',
    failedRuns: 2,
    lockedRuns: 3,
    missedRuns: 2,
    deleteErrors: 1,
    // After an hour the job is refused: alert before that.
    registryAgeSeconds: 1800,
    orphanBytes: 100 * 1024 * 1024 * 1024,
    orphanWindow: '3d',

    // Guards that void a job's work. Absent here: unreadable_root, which has its own alert, and those
    // that tell of a lasting fact that nobody need do anything about.
    guards: [
      'clock_skew',
      'future_time',
      'copied_tree',
      'parser_disagreement',
      'unknown_owner',
      'two_owners',
      'ended_job_is_running',
      'no_roots',
      'misplaced_root',
      'retained_root_missing',
      'damaged_latest_root',
      'unstable_root',
      'gate',
      'registry',
    ],
    quietGuards: ['acknowledged_root', 'unproven_layout', 'dependent_job', 'restarting'],
    // Conditions that only a person's word or decision lifts. Absent here: halted, which has its own
    // alert, and those that are settings, or pass; where they stop every job, no sweep succeeds.
    conditions: [
      'revived',
      'nothing_protected',
      'max_delete_share',
      'max_deletes',
      'place_lost',
      'place_replaced',
      'job_directory_emptied',
      'checkpoint_not_found',
      'cluster_silent',
      'state_lost',
      'memory_unreadable',
    ],
    quietConditions: [
      'closed_world',
      'discovery_unclear',
      'place_unreachable',
      'place_without_checkpoints',
      'outside_path',
      'job_state_unknown',
      'held_by_ha',
      'gate_not_seen',
      'not_quiet',
      'untested_flink_version',
      'untested_storage',
      'store_clock_unknown',
      'registry_order_unproven',
      'dependent_job',
    ],

    // %s is the alert's name in lower case: the anchor of its section in runbook.md.
    runbookURLPattern: 'https://orphangc.example.org/runbook.md#%s',

    alerts: {
      OrphangcHalted: { severity: 'critical', 'for': '1m' },
      OrphangcMissingLiveFile: { severity: 'critical', 'for': '1m' },
      OrphangcExpiredInUse: { severity: 'critical', 'for': '1m' },
      OrphangcUnreadableRoot: { severity: 'warning', 'for': '1m' },
      OrphangcRefused: { severity: 'warning', 'for': '1m' },
      OrphangcBlocked: { severity: 'warning', 'for': '1m' },
      OrphangcDeleteErrors: { severity: 'warning', 'for': '1m' },
      OrphangcRegistryStale: { severity: 'warning', 'for': '1m' },
      OrphangcNotRunRecently: { severity: 'warning', 'for': '5m' },
      OrphangcRunFailing: { severity: 'warning', 'for': '5m' },
      OrphangcAbsent: { severity: 'warning', 'for': '10m' },
      OrphangcLockHeld: { severity: 'warning', 'for': '5m' },
      OrphangcMissedRuns: { severity: 'warning', 'for': '5m' },
      OrphangcCronJobNotSuccessful: { severity: 'warning', 'for': '5m' },
      OrphangcOrphanBytesGrowing: { severity: 'info', 'for': '1h' },
    },

    dashboard: {
      uid: 'orphangc',
      title: 'orphangc',
      tags: ['orphangc', 'flink'],
      refresh: '1m',
      from: 'now-7d',
    },
  },
}
