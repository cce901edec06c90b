package orphangc.flink;

import java.util.Map;
import java.util.TreeMap;

/**
 * Every checkpoint id that one counter gave out and when: among them are all pending checkpoints.
 *
 * <p>The time is taken before the id is given out, and the id is noted before anybody can use it. So a file that is
 * uploaded for an id was stored after the id's time; and if a snapshot lacks the id, after the snapshot was taken.
 */
final class IssuedIds {

    /** Far more than are ever pending. */
    private static final int MOST = 10_000;

    private final TreeMap<Long, Long> times = new TreeMap<>();
    private boolean incomplete;

    synchronized void add(long id, long atMillis) {
        boolean noted = false;
        try {
            times.put(id, atMillis);
            noted = true;
        } finally {
            incomplete |= !noted;
        }
        if (times.size() > MOST) {
            // The oldest one bounds the age of files, so it stays. Of the others the older go.
            times.remove(times.higherKey(times.firstKey()));
        }
    }

    synchronized boolean contains(long id) {
        return times.containsKey(id);
    }

    /**
     * Forgets the ids up to the oldest retained one.
     *
     * <p>None of those can complete any more: a checkpoint that completes ends the pending ones before it, and the pending
     * savepoints among them write nothing that is shared. An id above may be pending, so it stays, completed or not.
     */
    synchronized void forgetUpTo(long oldestRetained) {
        times.headMap(oldestRetained, true).clear();
    }

    synchronized void addTo(Map<Long, Long> all) {
        if (incomplete) {
            throw new IllegalStateException("a checkpoint id could not be noted");
        }
        times.forEach((id, at) -> all.merge(id, at, Math::min));
    }
}
