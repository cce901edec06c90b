package orphangc.flink;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.flink.api.common.JobID;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.runtime.metrics.MetricRegistry;
import org.apache.flink.runtime.metrics.groups.AbstractMetricGroup;
import org.apache.flink.runtime.metrics.groups.ProcessMetricGroup;
import org.apache.flink.runtime.metrics.util.MetricUtils;

/**
 * Gauges of the JobManager's process, {@code orphangc.job.<id>.<name>}: what was found when a job was restored. Under the agent
 * Flink calls this class for the metrics of its process.
 */
public final class JobManagerMetrics {

    private static final int MOST_JOBS = 200;

    private static final Map<JobID, JobManagerMetrics> JOBS = new LinkedHashMap<>();
    private static volatile MetricGroup process;

    private final MetricGroup group;
    private final Map<String, Integer> values = new ConcurrentHashMap<>();

    private JobManagerMetrics(MetricGroup group) {
        this.group = group;
    }

    /** Returns Flink's group; the type of the interval differs between releases. */
    @SuppressWarnings({"rawtypes", "unchecked"})
    public static ProcessMetricGroup instantiateProcessMetricGroup(
            MetricRegistry registry, String host, Optional interval) {
        ProcessMetricGroup group = MetricUtils.instantiateProcessMetricGroup(registry, host, interval);
        process = group;
        return group;
    }

    /** Shows values of a job, which stay until so many other jobs have been restored. */
    static synchronized void show(JobID job, Map<String, Integer> values) {
        MetricGroup all = process;
        if (all == null) {
            return;
        }
        JobManagerMetrics known =
                JOBS.computeIfAbsent(
                        job, unknown -> new JobManagerMetrics(all.addGroup("orphangc").addGroup("job", job.toString())));
        values.forEach(known::set);
        if (JOBS.size() > MOST_JOBS) {
            JobID eldest = JOBS.keySet().iterator().next();
            MetricGroup gone = JOBS.remove(eldest).group;
            if (gone instanceof AbstractMetricGroup) {
                ((AbstractMetricGroup<?>) gone).close();
            }
        }
    }

    private void set(String name, int value) {
        if (values.put(name, value) == null) {
            group.gauge(name, (Gauge<Integer>) () -> values.get(name));
        }
    }
}
