package orphangc.flink;

import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;

import org.apache.flink.api.common.JobID;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Files beside the registry snapshots of a job: {@code unclaimed/<operator id>-<subtask>.json}. */
final class UnclaimedReports {

    private static final Logger LOG = LoggerFactory.getLogger(UnclaimedReports.class);

    private UnclaimedReports() {}

    /** Writes a report from a thread of its own: no task waits for a storage. */
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
        Json json = new Json().put("job_id", job.toString()).put("operator_id", id).put("operator", name)
                .put("subtask", subtask).put("policy", settings.policy.name().toLowerCase(java.util.Locale.ROOT));
        Json.Array states = json.array("states");
        unclaimed.forEach((kind, names) -> names.forEach(state -> states.add(new Json().put("kind", kind).put("name", state)
                .put("dropped", dropped.getOrDefault(kind, java.util.Collections.emptySet()).contains(state)))));
        states.end();
        byte[] bytes = (json.end() + "\n").getBytes(StandardCharsets.UTF_8);
        Path path = new Path(new Path(new Path(settings.directory, job.toString()), "unclaimed"), id + "-" + subtask + ".json");
        Thread writer = new Thread(() -> write(path, bytes), "orphangc-unclaimed-state");
        writer.setDaemon(true);
        writer.start();
    }

    private static void write(Path path, byte[] bytes) {
        try {
            FileSystem fs = path.getFileSystem();
            fs.mkdirs(path.getParent());
            try (OutputStream out = fs.create(path, FileSystem.WriteMode.OVERWRITE)) {
                out.write(bytes);
            }
        } catch (Throwable e) {
            LOG.warn("a report of unclaimed state cannot be written to {}", path, e);
        }
    }
}
