package orphangc.flink;

import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.core.fs.Path;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.metrics.groups.TaskIOMetricGroup;
import org.apache.flink.runtime.state.OperatorStateBackend;
import org.apache.flink.runtime.state.OperatorStateHandle;
import org.apache.flink.runtime.state.PartitionableListState;
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
    private final int subtask;
    private final long recordsBefore;
    private final Set<String> accessed = Collections.newSetFromMap(new ConcurrentHashMap<>());
    private final AtomicInteger gauged = new AtomicInteger();

    private KeyedStates keyed;
    private OperatorStateBackend operatorState;
    private Set<String> lists = Collections.emptySet();
    private Set<String> broadcasts = Collections.emptySet();
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
        this.name = isKnown ? parts.group(1) : identifier;
        this.id = isKnown ? parts.group(2) : identifier;
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

    void operatorState(OperatorStateBackend backend) {
        operatorState = backend;
        lists = new TreeSet<>(backend.getRegisteredStateNames());
        broadcasts = new TreeSet<>(backend.getRegisteredBroadcastStateNames());
        if (!lists.isEmpty() || !broadcasts.isEmpty()) {
            await();
        }
    }

    /** Notes a state that the operator asks for, by its descriptor, of which there are two kinds since Flink 2.0. */
    void accessed(Object descriptor) {
        if (isDecided || !isAwaited) {
            return; // some operators ask with each record
        }
        if (descriptor instanceof StateDescriptor) {
            accessed.add(((StateDescriptor<?, ?>) descriptor).getName());
            return;
        }
        for (String getter : new String[] {"getName", "getStateId"}) {
            try {
                accessed.add(String.valueOf(descriptor.getClass().getMethod(getter).invoke(descriptor)));
                return;
            } catch (NoSuchMethodException e) {
                continue;
            } catch (Throwable e) {
                break;
            }
        }
        LOG.warn("unclaimed state of {} is not looked for: a descriptor has no name: {}", this, descriptor);
        isDecided = true;
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
        learn();
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
            TreeMap<String, Set<String>> unclaimed = unclaimed();
            unclaimed.values().removeIf(Set::isEmpty);
            if (!unclaimed.isEmpty()) {
                decide(unclaimed);
            }
        } catch (UnclaimedStateException e) {
            throw e;
        } catch (Throwable e) {
            LOG.warn("unclaimed state of {} is not known: this Flink has other classes than 1.15 to 2.3", this, e);
        }
    }

    private TreeMap<String, Set<String>> unclaimed() throws ReflectiveOperationException {
        TreeMap<String, Set<String>> found = new TreeMap<>();
        found.put(Claim.KEYED, keyed == null || keyed.isEmpty() ? new TreeSet<>() : keyed.unclaimed());
        found.put(Claim.OPERATOR, without(lists, accessed));
        found.put(Claim.BROADCAST, without(broadcasts, accessed));
        return found;
    }

    private static Set<String> without(Set<String> some, Set<String> others) {
        Set<String> left = new TreeSet<>(some);
        left.removeAll(others);
        return left;
    }

    private void decide(TreeMap<String, Set<String>> unclaimed) throws Exception {
        Verdict verdict = Verdict.of(settings, id, attempt(), unclaimed);
        gauged.set(unclaimed.values().stream().mapToInt(Set::size).sum());
        String who = this + verdict.uid.map(uid -> ", uid " + uid).orElse("");
        if (verdict.unreadable != null) {
            LOG.error("unclaimed state of {}: {}; nothing is dropped", who, unclaimed, verdict.unreadable);
        }
        TreeMap<String, Set<String>> dropped = verdict.isDropped ? dropped(verdict.undeclared) : new TreeMap<>();
        LOG.warn("unclaimed state of {}: {} was restored and is not registered; policy {}{}, dropped {}", who, unclaimed,
                settings.policy, verdict.objection == null ? "" : " is not carried out: " + verdict.objection, dropped);
        UnclaimedReports.write(settings, environment.getJobID(), id, name, subtask, unclaimed, dropped);
        if (verdict.isFatal) {
            throw new UnclaimedStateException(verdict.unreadable != null
                    ? Claim.unreadable(who, unclaimed, verdict.unreadable)
                    : Claim.refusal(who, verdict.undeclared, settings));
        }
    }

    /** Returns the number of the task's attempt, from 0; its class became an interface between releases. */
    private int attempt() throws ReflectiveOperationException {
        Object info = environment.getClass().getMethod("getTaskInfo").invoke(environment);
        return (Integer) info.getClass().getMethod("getAttemptNumber").invoke(info);
    }

    private TreeMap<String, Set<String>> dropped(TreeMap<String, Set<String>> undeclared) throws Exception {
        TreeMap<String, Set<String>> dropped = new TreeMap<>();
        for (String kind : undeclared.keySet()) {
            String objection = kind.equals(Claim.KEYED) ? keyed.objection() : null;
            if (objection != null) {
                LOG.warn("keyed state of {} is not dropped: {}", this, objection);
                continue;
            }
            for (String state : undeclared.get(kind)) {
                drop(kind, state);
                dropped.computeIfAbsent(kind, any -> new TreeSet<>()).add(state);
            }
        }
        gauged.addAndGet(-dropped.values().stream().mapToInt(Set::size).sum());
        return dropped;
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
        return "operator " + name + " (id " + id + ", subtask " + subtask + ")";
    }
}
