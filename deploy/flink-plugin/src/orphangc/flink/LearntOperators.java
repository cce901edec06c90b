package orphangc.flink;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

import org.apache.flink.api.common.JobID;
import org.apache.flink.core.fs.Path;

/**
 * What the operators of running jobs have registered, as far as this TaskManager sees: one part of the job's declarations for
 * each operator, in {@code declared/<operator id>-<process>.json}. {@link LearntDeclarations} puts the parts together.
 *
 * <p>A part has the format of a declarations file.
 */
final class LearntOperators {

    static final String FOLDER = "declared";

    /** A part is written again after this time, should it be older than the marker of a JobManager on a slow storage. */
    private static final long REPEATED_MILLIS = 6 * 3600_000L;

    /** All subtasks of an operator start at once: one of them writes. */
    private static final long AT_ONCE_MILLIS = 10_000;

    private static final int MOST = 10_000;
    private static final String PROCESS = UUID.randomUUID().toString();

    private static final Map<String, LearntOperators> KNOWN =
            new LinkedHashMap<String, LearntOperators>(16, 0.75f, true) {
                private static final long serialVersionUID = 1L;

                @Override
                protected boolean removeEldestEntry(Map.Entry<String, LearntOperators> eldest) {
                    return size() > MOST;
                }
            };

    private final Map<String, String> keyed = new TreeMap<>();
    private final Map<String, String> lists = new TreeMap<>();
    private long writtenAt = Long.MIN_VALUE;

    private LearntOperators() {}

    /**
     * Returns what is known of an operator of one start of a job: its next version may have the same id and run in the same
     * process. Flink 1.15 does not say which start an attempt belongs to.
     */
    static LearntOperators of(JobID job, String id, Object start) {
        synchronized (KNOWN) {
            return KNOWN.computeIfAbsent(job + "/" + id + "/" + start, unknown -> new LearntOperators());
        }
    }

    /** Returns whether a part is to be written: there is more in it, or it was written long ago. */
    synchronized boolean add(Map<String, String> keyedTypes, Map<String, String> modes, boolean isFirst) {
        boolean isMore = !keyed.keySet().containsAll(keyedTypes.keySet()) || !lists.keySet().containsAll(modes.keySet());
        keyed.putAll(keyedTypes);
        lists.putAll(modes);
        long now = System.nanoTime() / 1_000_000;
        long age = writtenAt == Long.MIN_VALUE ? Long.MAX_VALUE : now - writtenAt;
        boolean isDue = isMore || age > REPEATED_MILLIS || (isFirst && age > AT_ONCE_MILLIS);
        writtenAt = isDue ? now : writtenAt;
        return isDue;
    }

    synchronized String document(String id, String name) {
        Json operator = new Json().put("id", id).put("name", name);
        fill(operator.array("keyed_states"), keyed, "type");
        fill(operator.array("operator_states"), lists, "redistribution");
        Json json = new Json().put("version", 1);
        Json.Array operators = json.array("operators");
        operators.add(operator);
        operators.end();
        return json.end() + "\n";
    }

    private static void fill(Json.Array array, Map<String, String> states, String field) {
        states.forEach((state, form) -> array.add(new Json().put("id", state).put(field, form.toLowerCase(Locale.ROOT))));
        array.end();
    }

    static Path part(String directory, JobID job, String id) {
        return new Path(new Path(new Path(directory, job.toString()), FOLDER), id + "-" + PROCESS + ".json");
    }
}
