package orphangc.flink;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.Set;

import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.CheckpointProperties;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.CompletedCheckpoint;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.state.CompletedCheckpointStorageLocation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a JobManager under the agent calls instead of Flink's {@code Checkpoints.loadAndValidateCheckpoint}: the same, and then
 * a comparison with the job before it runs. Only the JobManager sees the state of coordinators.
 */
public final class RestoredCheckpoints {

    private static final Logger LOG = LoggerFactory.getLogger(RestoredCheckpoints.class);
    private static volatile Configuration cluster;

    private RestoredCheckpoints() {}

    static void configure(Configuration configuration) {
        cluster = configuration;
    }

    /** Returns Flink's checkpoint. */
    public static CompletedCheckpoint loadAndValidateCheckpoint(
            JobID job,
            Map<JobVertexID, ExecutionJobVertex> tasks,
            CompletedCheckpointStorageLocation location,
            ClassLoader loader,
            boolean allowNonRestoredState,
            CheckpointProperties properties)
            throws IOException {
        return examined(job, tasks, load(job, tasks, location, loader, allowNonRestoredState, properties));
    }

    /** The same for releases that give the restore mode, too; newer ones lack its class, so that it is any object here. */
    public static CompletedCheckpoint loadAndValidateCheckpoint(
            JobID job,
            Map<JobVertexID, ExecutionJobVertex> tasks,
            CompletedCheckpointStorageLocation location,
            ClassLoader loader,
            boolean allowNonRestoredState,
            CheckpointProperties properties,
            Object restoreMode)
            throws IOException {
        return examined(
                job, tasks, load(job, tasks, location, loader, allowNonRestoredState, properties, restoreMode));
    }

    private static CompletedCheckpoint examined(
            JobID job, Map<JobVertexID, ExecutionJobVertex> tasks, CompletedCheckpoint checkpoint) {
        try {
            Configuration configuration = cluster;
            if (configuration != null) {
                examine(job, tasks.values(), checkpoint, new UnclaimedSettings(configuration));
            }
        } catch (UnclaimedStateException e) {
            throw e;
        } catch (Throwable e) {
            LOG.warn("unclaimed state of coordinators is not looked for in job {}", job, e);
        }
        return checkpoint;
    }

    /** Calls Flink's method, which has one parameter more in some releases. */
    private static CompletedCheckpoint load(Object... arguments) throws IOException {
        try {
            for (Method each : Checkpoints.class.getMethods()) {
                if (each.getName().equals("loadAndValidateCheckpoint") && each.getParameterCount() == arguments.length) {
                    return (CompletedCheckpoint) each.invoke(null, arguments);
                }
            }
        } catch (InvocationTargetException e) {
            Throwable cause = e.getTargetException();
            if (cause instanceof IOException) {
                throw (IOException) cause;
            }
            throw cause instanceof RuntimeException ? (RuntimeException) cause : new IllegalStateException(cause);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
        throw new IllegalStateException("this Flink has no loadAndValidateCheckpoint");
    }

    private static void examine(
            JobID job,
            Collection<ExecutionJobVertex> tasks,
            CompletedCheckpoint checkpoint,
            UnclaimedSettings settings) {
        JobOperator.note(tasks);
        Declared declared = declared(job, settings);
        RestoreComparison comparison = new RestoreComparison(checkpoint, tasks, declared);
        comparison.show(job, settings);
        UnclaimedReports.writeRestore(settings, job, comparison);
        comparison.uncoordinated.forEach((operator, state) -> unclaimed(job, operator, state, declared, settings));
        if (settings.policy == UnclaimedSettings.Policy.FAIL && comparison.isUnmatched()) {
            throw new UnclaimedStateException(Claim.unmatched(comparison.unmatched(), settings));
        }
    }

    private static Declared declared(JobID job, UnclaimedSettings settings) {
        try {
            return Declared.of(settings.declarations);
        } catch (UnreadableDeclarationsException e) {
            LOG.error("what job {} declares is not known", job, e);
            if (settings.policy == UnclaimedSettings.Policy.FAIL) {
                throw new UnclaimedStateException(Claim.unreadable("job " + job, Collections.emptyMap(), e));
            }
            return Declared.NOTHING;
        }
    }

    private static void unclaimed(
            JobID job, JobOperator operator, OperatorState stored, Declared declared, UnclaimedSettings settings) {
        String who = Claim.operator(operator.name, operator.uid, operator.ids());
        long size = stored.getCoordinatorState().getStateSize();
        boolean isFatal = settings.policy == UnclaimedSettings.Policy.FAIL && !declared.hasCoordinator(operator.ids());
        LOG.warn("unclaimed state of {} in job {}: {} bytes of its coordinator, and it has none in this job; Flink itself drops"
                + " them with the next checkpoint; policy {}", who, job, size, settings.policy);
        Map<String, Set<String>> states =
                Collections.singletonMap(Claim.COORDINATOR, Collections.singleton(size + " bytes"));
        UnclaimedReports.write(
                settings, job, operator.id, operator.name, -1, isFatal ? states : Collections.emptyMap(),
                isFatal ? Collections.emptyMap() : states);
        if (isFatal) {
            throw new UnclaimedStateException(Claim.refusal(who, states, settings));
        }
    }
}
