package orphangc.flink;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStore;

/** The exports of all jobs of one JobManager process. */
final class Exports implements AutoCloseable {

    /** The longest time for which the end of a process waits for ends of jobs to be written. */
    private static final long PATIENCE_MILLIS = 5_000;

    private final Settings settings;
    private final List<Thread> endings = new ArrayList<>();
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

    /** Ends a job's export. There is no last snapshot: {@link #ended} says that a job is over. */
    void end(JobExport export) {
        export.close();
        synchronized (this) {
            running.remove(export.job(), export);
        }
    }

    /** Writes that a job ended, if it did, on a thread of its own: Flink has shut its checkpoint store down. */
    synchronized void ended(JobExport export) {
        Thread writer = new Thread(export::writeEnd, "orphangc-end-" + export.job());
        writer.setDaemon(true);
        endings.removeIf(each -> !each.isAlive());
        endings.add(writer);
        writer.start();
    }

    /** Waits briefly for the ends that are being written: the process may be gone after this. */
    @Override
    public void close() {
        List<JobExport> all;
        List<Thread> writers;
        synchronized (this) {
            all = new ArrayList<>(running.values());
            running.clear();
            writers = new ArrayList<>(endings);
        }
        all.forEach(JobExport::close);
        long until = System.currentTimeMillis() + PATIENCE_MILLIS;
        try {
            for (Thread each : writers) {
                each.join(Math.max(1, until - System.currentTimeMillis()));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
