"""The daemon and its replicas, and the CronJob as Kubernetes sees it."""

from deploy.stories.story import DAY, HERE, Case, pushed, scraped, series

SILENCE = "No metrics of orphangc, scraped or pushed, are to be found."

DAEMON = (
    Case(
        "OrphangcAbsent",
        "the daemon does not answer",
        {
            scraped("build_info", version="1"): "1x3 stale",
            series("up", **HERE, instance="10.0.0.1:8080"): "1x3 0x100",
        },
        "1h",
        (
            {"description": SILENCE},
            {
                **HERE,
                "instance": "10.0.0.1:8080",
                "description": "The daemon at 10.0.0.1:8080 does not answer.",
            },
        ),
    ),
    Case(
        "OrphangcAbsent",
        "nothing was ever seen of it",
        {series("up", job="prometheus", instance="localhost:9090"): "1x100"},
        "1h",
        ({"description": SILENCE},),
    ),
    Case(
        "OrphangcAbsent",
        "one of two daemons is dead, each of which runs storage roots of its own",
        {
            scraped("build_info", version="1", pod=2): "1x100",
            series("up", **HERE, instance="10.0.0.1:8080"): "1x3 0x100",
            series("up", **HERE, instance="10.0.0.2:8080"): "1x100",
        },
        "1h",
        (
            {
                **HERE,
                "instance": "10.0.0.1:8080",
                "description": "The daemon at 10.0.0.1:8080 does not answer.",
            },
        ),
    ),
    Case(
        "OrphangcAbsent",
        "its pod was replaced: Prometheus asks the new one, and forgets the old one",
        {
            scraped("build_info", version="1"): "1x3 stale",
            scraped("build_info", version="1", pod=2): "_x4 1x100",
            series("up", **HERE, instance="10.0.0.1:8080"): "1x3 0 stale",
            series("up", **HERE, instance="10.0.0.2:8080"): "_x4 1x100",
        },
        "30m",
    ),
    Case(
        "OrphangcAbsent",
        "there is no daemon: a CronJob pushes",
        {pushed("build_info", version="1"): "1x100"},
        "1h",
    ),
)


def cron(name: str) -> str:
    """Return a series of kube-state-metrics about the CronJob."""
    return series(
        f"kube_cronjob_{name}",
        namespace="flink",
        cronjob="my-orphangc",
        job="kube-state-metrics",
        instance="10.0.0.9:8080",
    )


KUBERNETES = (
    Case(
        "OrphangcCronJobNotSuccessful",
        "Jobs are started every hour, and none succeeds any more",
        {
            cron("created"): f"0x{DAY}",
            cron("status_last_successful_time"): f"3600x{DAY}",
            cron("status_last_schedule_time"): f"0x11 3600x11 7200x11 10800x11 14400x{DAY}",
            cron("next_schedule_time"): f"3600x11 7200x11 10800x11 14400x11 18000x{DAY}",
        },
        "4h30m",
        (
            {
                "namespace": "flink",
                "cronjob": "my-orphangc",
                "description": ("The CronJob flink/my-orphangc has not succeeded for 3h 30m 0s."),
            },
        ),
    ),
    Case(
        "OrphangcCronJobNotSuccessful",
        "one Job has failed; the next is the retry",
        {
            cron("created"): f"0x{DAY}",
            cron("status_last_successful_time"): f"3600x{DAY}",
            cron("status_last_schedule_time"): f"0x11 3600x11 7200x11 10800x{DAY}",
            cron("next_schedule_time"): f"3600x11 7200x11 10800x11 14400x{DAY}",
        },
        "3h40m",
    ),
    Case(
        "OrphangcCronJobNotSuccessful",
        "none has ever succeeded",
        {
            cron("created"): f"0x{DAY}",
            cron("status_last_schedule_time"): f"3600x{DAY}",
            cron("next_schedule_time"): f"7200x{DAY}",
        },
        "4h",
        (
            {
                "namespace": "flink",
                "cronjob": "my-orphangc",
                "description": "The CronJob flink/my-orphangc has not succeeded for 4h 0m 0s.",
            },
        ),
    ),
    Case(
        "OrphangcCronJobNotSuccessful",
        "it succeeds, or is suspended and has no next time",
        {
            cron("created"): f"0x{DAY}",
            cron("status_last_successful_time"): f"0x11 3600x11 7200x11 10800x11 14400x{DAY}",
            cron("status_last_schedule_time"): f"0x11 3600x11 7200x11 10800x11 14400x{DAY}",
            cron("next_schedule_time"): f"3600x11 7200x11 10800x11 14400x11 18000x{DAY}",
            cron("created").replace("my-", "idle-"): f"0x{DAY}",
            cron("status_last_schedule_time").replace("my-", "idle-"): f"3600x{DAY}",
        },
        "4h30m",
    ),
)
