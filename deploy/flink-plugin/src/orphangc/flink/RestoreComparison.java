package orphangc.flink;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.checkpoint.CompletedCheckpoint;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the JobManager knows before a job runs: what is declared, what was restored, and what differs. Names of keyed states are
 * in state files, which a JobManager does not read: TaskManagers compare them.
 */
final class RestoreComparison {

    private static final Logger LOG = LoggerFactory.getLogger(RestoreComparison.class);

    private final long checkpoint;
    private final boolean isDeclared;
    private final int declared;
    private final int restored;
    private final int coordinators;
    private final Set<String> missing = new TreeSet<>();
    private final Set<String> undeclared = new TreeSet<>();

    /** By operator: its operator states that no declaration names. */
    private final Map<String, Set<String>> undeclaredStates = new TreeMap<>();

    RestoreComparison(CompletedCheckpoint checkpoint, Declared declared, int coordinators) {
        this.checkpoint = checkpoint.getCheckpointID();
        this.isDeclared = declared.isKnown();
        this.declared = declared.operators().size();
        this.restored = checkpoint.getOperatorStates().size();
        this.coordinators = coordinators;
        if (isDeclared) {
            missing.addAll(declared.operators());
            checkpoint.getOperatorStates().values().forEach(each -> compare(each, declared));
        }
    }

    private void compare(OperatorState operator, Declared declared) {
        String id = operator.getOperatorID().toString();
        missing.remove(id);
        if (!declared.operators().contains(id)) {
            undeclared.add(id);
            return;
        }
        Set<String> names = new TreeSet<>();
        operator.getStates().stream()
                .flatMap(each -> each.getManagedOperatorState().stream())
                .flatMap(each -> Stream.of(each.getStateNameToPartitionOffsets()))
                .forEach(each -> names.addAll(each.keySet()));
        Set<String> left = declared.undeclared(id, Claim.OPERATOR, names);
        if (!left.isEmpty()) {
            undeclaredStates.put(id, left);
        }
    }

    /** Logs it, and shows it as gauges of the JobManager's process. */
    void show(JobID job) {
        Map<String, Integer> values = new LinkedHashMap<>();
        values.put("restoredOperators", restored);
        values.put("unclaimedCoordinators", coordinators);
        if (isDeclared) {
            values.put("declaredOperators", declared);
            values.put("missingOperators", missing.size());
            values.put("undeclaredOperators", undeclared.size());
            values.put("undeclaredOperatorStates", undeclaredStates.values().stream().mapToInt(Set::size).sum());
            LOG.info("job {} is restored from checkpoint {}: {} operators are declared, {} were restored; declared and not"
                    + " restored: {}; restored and not declared: {}; operator states not declared: {}", job, checkpoint,
                    declared, restored, missing, undeclared, undeclaredStates);
        }
        JobManagerMetrics.show(job, values);
    }

    /** Returns it as a document. */
    String document(JobID job) {
        Json json = new Json().put("job_id", job.toString()).put("checkpoint_id", checkpoint)
                .put("restored_operators", restored).put("unclaimed_coordinators", coordinators);
        if (!isDeclared) {
            return json.put("declared_operators", (String) null).end() + "\n";
        }
        json.put("declared_operators", declared);
        fill(json.array("declared_not_restored"), missing);
        fill(json.array("restored_not_declared"), undeclared);
        Json.Array states = json.array("operator_states_not_declared");
        undeclaredStates.forEach((id, names) -> names.forEach(
                name -> states.add(new Json().put("operator_id", id).put("name", name))));
        states.end();
        return json.end() + "\n";
    }

    private static void fill(Json.Array array, Set<String> operators) {
        operators.forEach(id -> array.add(new Json().put("operator_id", id)));
        array.end();
    }
}
