package orphangc.flink;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.OperatorIDPair;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.streaming.api.graph.StreamConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An operator of a job as the JobManager knows it. It has two ids: it runs, and checkpoints, under the generated one; a restore
 * looks for its uid hash first.
 *
 * <p>Source: Flink 1.15.4, 1.20.5 and 2.3.0. {@code StreamGraphHasherV2} generates an id from the uid, or without one from the place in the
 * graph; {@code StreamGraphUserHashHasher} takes the hash from {@code setUidHash}; {@code StreamingJobGraphGenerator} puts both into an
 * {@code OperatorIDPair} of the {@code JobVertex}. {@code StateAssignmentOperation.assignStates} restores from the user defined
 * id if the checkpoint has it, else from the generated one; {@code PendingCheckpoint.updateOperatorState} stores under the generated one, which alone
 * TaskManagers are given ({@code StreamConfig.getOperatorID}).
 */
final class JobOperator {

    private static final Logger LOG = LoggerFactory.getLogger(JobOperator.class);

    final String id;

    /** {@code null}: the job sets none. */
    final String uidHash;

    /** {@code null}: it has none, or Flink does not say (before 2.0). */
    final String uid;

    /** The job's own name for it, or that of the chain that it is in. */
    final String name;

    private JobOperator(OperatorIDPair pair, JobVertex vertex) {
        this.id = pair.getGeneratedOperatorID().toString();
        this.uidHash = pair.getUserDefinedOperatorID().map(OperatorID::toString).orElse(null);
        this.uid = text(pair, "getUserDefinedOperatorUid");
        String own = name(vertex.getConfiguration(), id);
        this.name = own == null ? vertex.getName() : own;
    }

    static List<JobOperator> of(Iterable<ExecutionJobVertex> vertices) {
        List<JobOperator> found = new ArrayList<>();
        for (ExecutionJobVertex vertex : vertices) {
            for (OperatorIDPair pair : vertex.getOperatorIDs()) {
                found.add(new JobOperator(pair, vertex.getJobVertex()));
            }
        }
        return found;
    }

    /** Writes uid hashes into the configuration that a vertex's tasks are given, before they are deployed. */
    static void note(Collection<ExecutionJobVertex> vertices) {
        for (ExecutionJobVertex vertex : vertices) {
            for (OperatorIDPair pair : vertex.getOperatorIDs()) {
                pair.getUserDefinedOperatorID().ifPresent(hash -> vertex.getJobVertex().getConfiguration()
                        .set(noted(pair.getGeneratedOperatorID().toString()), hash.toString()));
            }
        }
    }

    /** Returns the job's own name for an operator, {@code null} if the configuration of its task cannot be read. */
    static String name(Configuration task, String id) {
        try {
            ClassLoader loader = StreamConfig.class.getClassLoader(); // that of the job is not needed for names
            for (StreamConfig each : new StreamConfig(task).getTransitiveChainedTaskConfigsWithSelf(loader).values()) {
                if (each.getOperatorID().toString().equals(id)) {
                    return each.getOperatorName();
                }
            }
        } catch (Throwable e) {
            LOG.debug("the name of operator {} is not known", id, e);
        }
        return null;
    }

    /** Returns both ids of an operator of a task. */
    static Set<String> ids(Configuration task, String id) {
        Set<String> ids = new LinkedHashSet<>();
        ids.add(id);
        task.getOptional(noted(id)).ifPresent(ids::add);
        return ids;
    }

    Set<String> ids() {
        Set<String> ids = new LinkedHashSet<>();
        ids.add(id);
        if (uidHash != null) {
            ids.add(uidHash);
        }
        return ids;
    }

    /** Returns what Flink restores the operator from; {@code null}: the checkpoint holds nothing of it. */
    OperatorState restoredFrom(Map<String, OperatorState> stored) {
        return stored.getOrDefault(uidHash, stored.get(id));
    }

    private static ConfigOption<String> noted(String id) {
        return ConfigOptions.key("orphangc.uid-hash." + id).stringType().noDefaultValue();
    }

    /** Returns what Flink says since 2.0. */
    private static String text(OperatorIDPair pair, String getter) {
        try {
            Method method = OperatorIDPair.class.getMethod(getter);
            Object found = method.invoke(pair);
            return found == null || found.toString().isEmpty() ? null : found.toString();
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    @Override
    public String toString() {
        return Claim.operator(name, uid, ids());
    }
}
