package orphangc.flink;

import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

import org.apache.flink.api.common.JobID;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Files beside the registry snapshots of a job: {@code unclaimed/<operator id>-<subtask>.json}. */
final class UnclaimedReports {

    private static final Logger LOG = LoggerFactory.getLogger(UnclaimedReports.class);

    private static final ThreadPoolExecutor WRITER =
            new ThreadPoolExecutor(1, 1, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), UnclaimedReports::thread);

    static {
        WRITER.allowCoreThreadTimeOut(true);
    }

    private UnclaimedReports() {}

    private static Thread thread(Runnable work) {
        Thread thread = new Thread(work, "orphangc-unclaimed-state");
        thread.setDaemon(true);
        thread.setContextClassLoader(UnclaimedReports.class.getClassLoader()); // not that of a job, which it would keep
        return thread;
    }

    /** Writes a report of what is unclaimed, and of what was dropped; without either there is none. */
    static void write(
            UnclaimedSettings settings,
            JobID job,
            String id,
            String name,
            int subtask,
            Map<String, Set<String>> unclaimed,
            Map<String, Set<String>> dropped) {
        if (settings.directory == null) {
            return;
        }
        Path path = new Path(new Path(new Path(settings.directory, job.toString()), "unclaimed"), id + "-" + subtask + ".json");
        if (unclaimed.isEmpty() && dropped.isEmpty()) {
            WRITER.execute(() -> delete(path));
            return;
        }
        Json json = new Json().put("job_id", job.toString()).put("operator_id", id).put("operator", name)
                .put("subtask", subtask).put("policy", settings.policy.name().toLowerCase(java.util.Locale.ROOT));
        Json.Array states = json.array("states");
        add(states, unclaimed, false);
        add(states, dropped, true);
        states.end();
        writeLater(path, json.end() + "\n");
    }

    private static void add(Json.Array states, Map<String, Set<String>> some, boolean isDropped) {
        some.forEach((kind, names) -> names.forEach(
                state -> states.add(new Json().put("kind", kind).put("name", state).put("dropped", isDropped))));
    }

    /** Writes what the JobManager found when a job was restored: {@code restored.json} in the job's folder. */
    static void writeRestore(UnclaimedSettings settings, JobID job, RestoreComparison comparison) {
        if (settings.directory != null) {
            writeLater(new Path(new Path(settings.directory, job.toString()), "restored.json"), comparison.document(job));
        }
    }

    /** Writes a file later, one after the other: no task waits for a storage, and the last content of a file stays. */
    static void writeLater(Path path, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        WRITER.execute(() -> write(path, bytes));
    }

    private static void write(Path path, byte[] bytes) {
        try {
            FileSystem fs = path.getFileSystem();
            fs.mkdirs(path.getParent());
            try (OutputStream out = fs.create(path, FileSystem.WriteMode.OVERWRITE)) {
                out.write(bytes);
            }
        } catch (Throwable e) {
            LOG.warn("{} cannot be written", path, e);
        }
    }

    private static void delete(Path path) {
        try {
            path.getFileSystem().delete(path, false);
        } catch (Throwable e) {
            LOG.debug("{} cannot be removed", path, e);
        }
    }
}
