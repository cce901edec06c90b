package orphangc.flink;

import java.io.OutputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Collection;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.runtime.checkpoint.CheckpointProperties;
import org.apache.flink.runtime.checkpoint.CompletedCheckpoint;

/**
 * What Flink said when it shut a job's checkpoint store down: the job ended, and these checkpoints stay.
 *
 * <p>Flink does so with the job's final status. A job that is only suspended may go on, so its end is none. That no end was
 * written proves nothing: a JobManager that is killed writes none.
 *
 * <p>Source: Flink 1.15-2.3, {@code CompletedCheckpointStore.shutdown}, {@code CheckpointProperties}.
 */
final class EndOfJob {

    private final JobID job;
    private final String epoch;
    private final String status;
    private final String directory;
    private final Collection<CompletedCheckpoint> stored;
    private final long at = System.currentTimeMillis();

    private EndOfJob(
            JobID job, String epoch, String status, String directory, Collection<CompletedCheckpoint> stored) {
        this.job = job;
        this.epoch = epoch;
        this.status = status;
        this.directory = directory;
        this.stored = stored;
    }

    /** Returns {@code null} unless the job is over for good. */
    static EndOfJob of(
            JobID job, String epoch, JobStatus status, String directory, Collection<CompletedCheckpoint> stored) {
        boolean isOver = status != null && status.isGloballyTerminalState();
        return isOver ? new EndOfJob(job, epoch, status.name(), directory, stored) : null;
    }

    void writeTo(OutputStream out) throws Exception {
        Json record = new Json().put("format", "orphangc-ended").put("version", 1);
        record.put("job_id", job.toString()).put("epoch", epoch).put("status", status);
        record.put("ts", Instant.ofEpochMilli(at).toString()).put("checkpoint_dir", directory);
        Json.Array retained = record.array("retained");
        for (CompletedCheckpoint each : stored) {
            if (stays(each.getProperties())) {
                retained.add(new Json().put("id", each.getCheckpointID()).put("path", each.getExternalPointer()));
            }
        }
        retained.end();
        out.write((record.end() + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private boolean stays(CheckpointProperties properties) throws ReflectiveOperationException {
        String end = status.equals("FINISHED") ? "Finished" : status.equals("CANCELED") ? "Cancelled" : "Failed";
        Method discards = CheckpointProperties.class.getDeclaredMethod("discardOnJob" + end);
        discards.setAccessible(true);
        return !(Boolean) discards.invoke(properties);
    }
}
