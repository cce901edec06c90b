package orphangc.flink;

import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.flink.core.fs.Path;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.metrics.groups.TaskIOMetricGroup;
import org.apache.flink.runtime.state.OperatorStateBackend;
import org.apache.flink.runtime.state.OperatorStateHandle;
import org.apache.flink.runtime.state.PartitionableListState;
import org.apache.flink.util.StringUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One subtask of one operator: which states it was restored with, which of them it has claimed, and what becomes of the
 * rest once the grace is over.
 *
 * <p>All of it runs in the task's thread. Nothing of it may harm the task, but for the policy {@code fail}.
 */
final class RestoredOperator {

    private static final Logger LOG = LoggerFactory.getLogger(RestoredOperator.class);
    private static final Pattern IDENTIFIER = Pattern.compile("(.*)_([0-9a-f]{32})_\\((\\d+)/(\\d+)\\)");

    private final Environment environment;
    private final String identifier;
    private final UnclaimedSettings settings;
    private final String name;
    private final String id;
    private final Set<String> ids;
    private final int subtask;
    private final long recordsBefore;
    private final AtomicInteger gauged = new AtomicInteger();

    /** By kind: what was not registered when the decision was made, and is not yet. */
    private final TreeMap<String, Set<String>> unclaimed = new TreeMap<>();

    private final TreeMap<String, Set<String>> dropped = new TreeMap<>();

    private KeyedStates keyed;
    private OperatorStateBackend operatorState;
    private Set<String> lists = Collections.emptySet();
    private Set<String> broadcasts = Collections.emptySet();
    private Set<String> unkeyed = Collections.emptySet();
    private boolean isAwaited;
    private boolean isDecided;
    private int snapshots;

    /** {@code null}: it cannot be. */
    private Boolean isLearnt = false;

    RestoredOperator(Environment environment, String identifier, UnclaimedSettings settings) {
        Matcher parts = IDENTIFIER.matcher(identifier);
        boolean isKnown = parts.matches();
        this.environment = environment;
        this.identifier = identifier;
        this.settings = settings;
        this.id = isKnown ? parts.group(2) : identifier;
        this.ids = JobOperator.ids(environment.getTaskConfiguration(), id);
        String own = JobOperator.name(environment.getTaskConfiguration(), id);
        this.name = own != null ? own : isKnown ? parts.group(1) : identifier;
        this.subtask = isKnown ? Integer.parseInt(parts.group(3)) - 1 : 0;
        this.recordsBefore = records();
    }

    boolean isOf(Environment other, String otherIdentifier) {
        return environment == other && identifier.equals(otherIdentifier);
    }

    void keyed(Object backend) throws ReflectiveOperationException {
        keyed = new KeyedStates(backend);
        if (!keyed.isEmpty()) {
            await();
        }
    }

    /** Notes the operator state, which is restored after the keyed state of the same operator. */
    void operatorState(OperatorStateBackend backend) {
        operatorState = backend;
        lists = new TreeSet<>(backend.getRegisteredStateNames());
        broadcasts = new TreeSet<>(backend.getRegisteredBroadcastStateNames());
        unkeyed = keyed == null ? unkeyed() : Collections.emptySet();
        if (!lists.isEmpty() || !broadcasts.isEmpty() || !unkeyed.isEmpty()) {
            await();
        }
    }

    /** Returns what stands for keyed state that an operator without keys was given: Flink lets it go with the next checkpoint. */
    private Set<String> unkeyed() {
        long bytes = environment.getTaskStateManager().prioritizedOperatorState(new OperatorID(StringUtils.hexStringToByte(id)))
                .getJobManagerManagedKeyedState().getStateSize();
        return bytes == 0 ? Collections.emptySet() : Collections.singleton(bytes + " bytes");
    }

    /** Has the end of the initialisation looked at: mails wait until all operators of the task are open. */
    private void await() {
        if (isAwaited) {
            return;
        }
        isAwaited = true;
        environment.getMetricGroup().addGroup("orphangc").addGroup("operator", id)
                .gauge("unclaimedStates", (Gauge<Integer>) gauged::get);
        if (settings.graceCheckpoints == 0) {
            environment.getMainMailboxExecutor().execute(this::decide, "unclaimed state of %s", name);
        }
    }

    /** Looks on at a snapshot that begins: whether its checkpoint completes is not shown here. */
    void beforeSnapshot(boolean isSavepoint) {
        if (isAwaited && !isDecided && snapshots >= settings.graceCheckpoints && hasSeenRecords()) {
            try {
                decide();
            } catch (UnclaimedStateException e) {
                environment.failExternally(e);
            }
        }
        snapshots += isSavepoint ? 0 : 1;
        lookAgain();
        learn();
    }

    /** Takes out of the report what was registered after the decision. */
    private void lookAgain() {
        if (unclaimed.isEmpty()) {
            return;
        }
        try {
            TreeMap<String, Set<String>> now = notRegistered();
            int before = count(unclaimed);
            unclaimed.forEach((kind, names) -> names.retainAll(now.get(kind)));
            unclaimed.values().removeIf(Set::isEmpty);
            if (count(unclaimed) < before) {
                LOG.info("{} has registered state that was unclaimed; left are {}", this, unclaimed);
                show();
            }
        } catch (Throwable e) {
            LOG.warn("unclaimed state of {} is not known any more", this, e);
            unclaimed.clear();
        }
    }

    /** Has the gauge and the report say what is unclaimed now, and what was dropped. */
    private void show() {
        gauged.set(count(unclaimed));
        UnclaimedReports.write(settings, environment.getJobID(), id, name, subtask, unclaimed, dropped);
    }

    private static int count(Map<String, Set<String>> states) {
        return states.values().stream().mapToInt(Set::size).sum();
    }

    /** Notes what the operator has registered, for the declarations that are learnt of the job. */
    private void learn() {
        if (settings.directory == null || operatorState == null || isLearnt == null) {
            return;
        }
        try {
            Map<String, String> forms = keyed == null ? Collections.emptyMap() : keyed.registered();
            Object start = KeyedStates.value(environment.getExecutionId(), "executionGraphId");
            LearntOperators known = LearntOperators.of(environment.getJobID(), id, start);
            if (known.add(forms, redistributions(), !isLearnt)) {
                Path part = LearntOperators.part(settings.directory, environment.getJobID(), id);
                UnclaimedReports.writeLater(part, known.document(id, name));
            }
            isLearnt = true;
        } catch (Throwable e) {
            isLearnt = null;
            LOG.warn("what {} registers is not learnt: this Flink has other classes than 1.15 to 2.3", this, e);
        }
    }

    private Map<String, String> redistributions() throws ReflectiveOperationException {
        Map<String, String> found = new TreeMap<>();
        KeyedStates.map(operatorState, "accessedBroadcastStatesByName").keySet()
                .forEach(state -> found.put(state, "broadcast"));
        KeyedStates.map(operatorState, "accessedStatesByName").forEach((state, list) -> {
            boolean isUnion = ((PartitionableListState<?>) list).getStateMetaInfo().getAssignmentMode()
                    == OperatorStateHandle.Mode.UNION;
            found.put(state, isUnion ? "union" : "split");
        });
        return found;
    }

    private boolean hasSeenRecords() {
        return settings.graceRecords == 0 || records() - recordsBefore >= settings.graceRecords;
    }

    /** Returns the records that came in, and of a source those that went out. */
    private long records() {
        TaskIOMetricGroup io = environment.getMetricGroup().getIOMetricGroup();
        return Math.max(io.getNumRecordsInCounter().getCount(), io.getNumRecordsOutCounter().getCount());
    }

    private void decide() {
        isDecided = true;
        try {
            unclaimed.putAll(notRegistered());
            unclaimed.values().removeIf(Set::isEmpty);
            if (!unclaimed.isEmpty() || settings.declarations != null) {
                judge();
            }
            show();
        } catch (UnclaimedStateException e) {
            throw e;
        } catch (Throwable e) {
            LOG.warn("unclaimed state of {} is not known: this Flink has other classes than 1.15 to 2.3", this, e);
        }
    }

    private TreeMap<String, Set<String>> notRegistered() throws ReflectiveOperationException {
        TreeMap<String, Set<String>> found = new TreeMap<>();
        found.put(Claim.KEYED, keyed == null || keyed.isEmpty() ? new TreeSet<>() : keyed.unclaimed());
        found.put(Claim.OPERATOR, without(lists, KeyedStates.map(operatorState, "accessedStatesByName").keySet()));
        found.put(Claim.BROADCAST, without(broadcasts, KeyedStates.map(operatorState, "accessedBroadcastStatesByName").keySet()));
        found.put(Claim.UNKEYED, new TreeSet<>(unkeyed));
        return found;
    }

    private static Set<String> without(Set<String> some, Set<String> others) {
        Set<String> left = new TreeSet<>(some);
        left.removeAll(others);
        return left;
    }

    private void judge() throws Exception {
        Verdict verdict = Verdict.of(settings, ids, unclaimed);
        String who = Claim.operator(name, verdict.uid.orElse(null), ids) + ", subtask " + subtask;
        if (verdict.unreadable != null) {
            LOG.error("unclaimed state of {}: {}; nothing is dropped", who, unclaimed, verdict.unreadable);
        }
        if (verdict.isUnmatched) {
            LOG.warn(Claim.unmatched(Collections.singleton(who), settings));
        }
        if (verdict.isDropped) {
            drop(verdict.undeclared);
        }
        if (!verdict.isFatal && unclaimed.containsKey(Claim.UNKEYED)) {
            dropped.put(Claim.UNKEYED, unclaimed.remove(Claim.UNKEYED)); // by Flink itself, with the next checkpoint
        }
        if (!unclaimed.isEmpty() || !dropped.isEmpty()) {
            LOG.warn("unclaimed state of {}: {} was restored and is not registered yet; policy {}{}, dropped {}", who, unclaimed,
                    settings.policy, verdict.objection == null ? "" : " is not carried out: " + verdict.objection, dropped);
        }
        if (verdict.isFatal) {
            show();
            throw new UnclaimedStateException(verdict.unreadable != null
                    ? Claim.unreadable(who, unclaimed, verdict.unreadable)
                    : verdict.isUnmatched
                            ? Claim.unmatched(Collections.singleton(who + ": " + verdict.undeclared), settings)
                            : Claim.refusal(who, verdict.undeclared, settings));
        }
    }

    private void drop(Map<String, Set<String>> undeclared) throws Exception {
        undeclared.remove(Claim.UNKEYED);
        for (String kind : undeclared.keySet()) {
            String objection = kind.equals(Claim.KEYED) ? keyed.objection() : null;
            if (objection != null) {
                LOG.warn("keyed state of {} is not dropped: {}", this, objection);
                continue;
            }
            for (String state : undeclared.get(kind)) {
                drop(kind, state);
                dropped.computeIfAbsent(kind, any -> new TreeSet<>()).add(state);
                unclaimed.get(kind).remove(state);
            }
        }
        unclaimed.values().removeIf(Set::isEmpty);
    }

    private void drop(String kind, String state) throws Exception {
        if (kind.equals(Claim.KEYED)) {
            keyed.drop(state);
        } else {
            boolean isBroadcast = kind.equals(Claim.BROADCAST);
            KeyedStates.map(operatorState, isBroadcast ? "registeredBroadcastStates" : "registeredOperatorStates")
                    .remove(state);
        }
    }

    @Override
    public String toString() {
        return Claim.operator(name, null, ids) + ", subtask " + subtask;
    }
}
