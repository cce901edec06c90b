package orphangc.flink;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStore;

/** The exports of all jobs of one JobManager process. */
final class Exports implements AutoCloseable {

    private final Settings settings;
    private final Map<JobID, JobExport> running = new HashMap<>();
    private final Map<JobID, List<IssuedIds>> counters = new HashMap<>();

    Exports(Settings settings) {
        this.settings = settings;
    }

    /** A job has a counter beside each store, made before or after it; while jobs change hands there may be two. */
    synchronized IssuedIds begin(JobID job) {
        IssuedIds issued = new IssuedIds();
        counters.computeIfAbsent(job, unknown -> new ArrayList<>()).add(issued);
        return issued;
    }

    synchronized void end(JobID job, IssuedIds issued) {
        counters.computeIfPresent(job, (same, all) -> all.remove(issued) && all.isEmpty() ? null : all);
    }

    private synchronized List<IssuedIds> counters(JobID job) {
        return new ArrayList<>(counters.getOrDefault(job, new ArrayList<>()));
    }

    /** Begins to export a job under a new epoch: its registry was built just now. */
    JobExport begin(JobID job, String claimMode, CompletedCheckpointStore store) throws Exception {
        RegistryReader reader = new RegistryReader(store.getSharedStateRegistry());
        JobExport export = new JobExport(job, claimMode, settings, reader, () -> counters(job));
        export.recovered(store.getAllCheckpoints());
        JobExport before;
        synchronized (this) {
            before = running.put(job, export);
        }
        if (before != null) {
            before.close();
        }
        export.start();
        return export;
    }

    /** Ends a job's export. There is no last snapshot: that a job is over must be learned from elsewhere. */
    void end(JobExport export) {
        export.close();
        synchronized (this) {
            running.remove(export.job(), export);
        }
    }

    @Override
    public void close() {
        List<JobExport> all;
        synchronized (this) {
            all = new ArrayList<>(running.values());
            running.clear();
        }
        all.forEach(JobExport::close);
    }
}
