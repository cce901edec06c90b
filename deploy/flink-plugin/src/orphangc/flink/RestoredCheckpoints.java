package orphangc.flink;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.CheckpointProperties;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.CompletedCheckpoint;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinatorHolder;
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
        Set<OperatorID> coordinated = new HashSet<>();
        for (ExecutionJobVertex task : tasks) {
            for (OperatorCoordinatorHolder each : task.getOperatorCoordinators()) {
                coordinated.add(each.operatorId());
            }
        }
        Declared declared = declared(job, settings);
        Set<OperatorState> left = new LinkedHashSet<>();
        for (OperatorState each : checkpoint.getOperatorStates().values()) {
            if (each.getCoordinatorState() != null && !coordinated.contains(each.getOperatorID())) {
                left.add(each);
            }
        }
        RestoreComparison comparison = new RestoreComparison(checkpoint, declared, left.size());
        comparison.show(job);
        UnclaimedReports.writeRestore(settings, job, comparison);
        left.forEach(each -> unclaimed(job, each, declared, settings));
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

    private static void unclaimed(JobID job, OperatorState operator, Declared declared, UnclaimedSettings settings) {
        String id = operator.getOperatorID().toString();
        String who = "operator " + id + declared.uidOf(id).map(uid -> " (uid " + uid + ")").orElse("");
        long size = operator.getCoordinatorState().getStateSize();
        boolean isFatal = settings.policy == UnclaimedSettings.Policy.FAIL && !declared.hasCoordinator(id);
        LOG.warn("unclaimed state of {} in job {}: {} bytes of its coordinator, and it has none in this job; Flink drops them"
                + " with the next checkpoint; policy {}", who, job, size, settings.policy);
        Map<String, Set<String>> states = new TreeMap<>();
        states.put(Claim.COORDINATOR, new TreeSet<>(Collections.singleton(size + " bytes")));
        boolean isDropped = settings.policy == UnclaimedSettings.Policy.IGNORE;
        UnclaimedReports.write(
                settings, job, id, "coordinator", -1, states, isDropped ? states : Collections.emptyMap());
        if (isFatal) {
            throw new UnclaimedStateException(Claim.refusal(who, states, settings));
        }
    }
}
