package orphangc.flink;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.checkpoint.CompletedCheckpoint;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinatorHolder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the JobManager knows before a job runs: which operators of it get state back, which of them are declared, and what differs. Names of keyed
 * states are in state files, which a JobManager does not read: TaskManagers compare them.
 */
final class RestoreComparison {

    private static final Logger LOG = LoggerFactory.getLogger(RestoreComparison.class);

    /** Operators that get the state of a coordinator back and have none. */
    final Map<JobOperator, OperatorState> uncoordinated = new LinkedHashMap<>();

    private final long checkpoint;
    private final int restored;
    private final Declared declared;
    private final Set<JobOperator> matched = new LinkedHashSet<>();
    private final Set<JobOperator> unmatched = new LinkedHashSet<>();
    private final Set<DeclarationsReader.Operator> missing;

    /** By operator: its operator states that no declaration names. */
    private final Map<String, Set<String>> undeclaredStates = new TreeMap<>();

    RestoreComparison(CompletedCheckpoint checkpoint, Collection<ExecutionJobVertex> tasks, Declared declared) {
        this.checkpoint = checkpoint.getCheckpointID();
        this.restored = checkpoint.getOperatorStates().size();
        this.declared = declared;
        this.missing = declared.operators();
        Map<String, OperatorState> stored = new HashMap<>();
        checkpoint.getOperatorStates().forEach((id, state) -> stored.put(id.toString(), state));
        missing.removeIf(each -> each.ids.stream().anyMatch(stored::containsKey));
        Set<String> coordinated = new HashSet<>();
        for (ExecutionJobVertex task : tasks) {
            for (OperatorCoordinatorHolder each : task.getOperatorCoordinators()) {
                coordinated.add(each.operatorId().toString());
            }
        }
        for (JobOperator each : JobOperator.of(tasks)) {
            OperatorState state = each.restoredFrom(stored);
            if (state != null) {
                compare(each, state, coordinated);
            }
        }
    }

    private void compare(JobOperator operator, OperatorState state, Set<String> coordinated) {
        Set<String> ids = operator.ids();
        missing.removeIf(each -> each.ids.stream().anyMatch(ids::contains));
        boolean hasCoordinator = state.getCoordinatorState() != null;
        if (hasCoordinator && !coordinated.contains(operator.id)) {
            uncoordinated.put(operator, state);
        }
        if (!hasCoordinator && state.getStates().stream().noneMatch(each -> each.hasState())) {
            return;
        }
        if (!declared.names(ids)) {
            unmatched.add(operator);
            return;
        }
        matched.add(operator);
        Set<String> names = new TreeSet<>();
        state.getStates().stream()
                .flatMap(each -> each.getManagedOperatorState().stream())
                .flatMap(each -> Stream.of(each.getStateNameToPartitionOffsets()))
                .forEach(each -> names.addAll(each.keySet()));
        Set<String> left = declared.undeclared(ids, Claim.OPERATOR, names);
        if (!left.isEmpty()) {
            undeclaredStates.put(operator.id, left);
        }
    }

    /** Returns whether there are declarations, and they leave out an operator that gets state back. */
    boolean isUnmatched() {
        return declared.isKnown() && !unmatched.isEmpty();
    }

    List<String> unmatched() {
        return unmatched.stream().map(JobOperator::toString).collect(Collectors.toList());
    }

    /** Logs it, and shows it as gauges of the JobManager's process. */
    void show(JobID job, UnclaimedSettings settings) {
        Map<String, Integer> values = new LinkedHashMap<>();
        values.put("restoredOperators", restored);
        values.put("unclaimedCoordinators", uncoordinated.size());
        values.put("matchedOperators", matched.size());
        values.put("undeclaredOperators", unmatched.size());
        if (declared.isKnown()) {
            values.put("declaredOperators", declared.operators().size());
            values.put("missingOperators", missing.size());
            values.put("undeclaredOperatorStates", undeclaredStates.values().stream().mapToInt(Set::size).sum());
        }
        LOG.info("job {} is restored from checkpoint {}: {} operators are declared, {} were restored; of those with state {} are"
                + " declared, and {} are not: {}; declared and not restored: {}; operator states not declared: {}", job,
                checkpoint, declared.operators().size(), restored, matched.size(), unmatched.size(), unmatched(),
                missing.stream().map(DeclarationsReader.Operator::id).collect(Collectors.toList()), undeclaredStates);
        if (isUnmatched()) {
            LOG.warn(Claim.unmatched(unmatched(), settings));
        }
        JobManagerMetrics.show(job, values);
    }

    /** Returns it as a document. */
    String document(JobID job) {
        Json json = new Json().put("job_id", job.toString()).put("checkpoint_id", checkpoint)
                .put("restored_operators", restored).put("unclaimed_coordinators", uncoordinated.size())
                .put("declared_operators", declared.isKnown() ? declared.operators().size() : null)
                .put("matched_operators", matched.size());
        Json.Array left = json.array("restored_not_declared");
        unmatched.forEach(each -> left.add(new Json().put("operator_id", each.id).put("uid_hash", each.uidHash)
                .put("uid", each.uid).put("name", each.name)));
        left.end();
        Json.Array absent = json.array("declared_not_restored");
        missing.forEach(each -> absent.add(new Json().put("operator_id", each.id())));
        absent.end();
        Json.Array states = json.array("operator_states_not_declared");
        undeclaredStates.forEach((id, names) -> names.forEach(
                name -> states.add(new Json().put("operator_id", id).put("name", name))));
        states.end();
        return json.end() + "\n";
    }
}
