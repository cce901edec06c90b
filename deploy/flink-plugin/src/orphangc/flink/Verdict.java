package orphangc.flink;

import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * What becomes of the unclaimed state of one operator, by its policy, its declarations and the attempt of its task.
 *
 * <p>The first attempt restores what another version left. A later one restores the job's own checkpoint, in which state of
 * windows and triggers may wait for its next record: only declarations that name the operator may drop it there. A later attempt
 * is also what follows a refusal, so {@code fail} holds in each.
 */
final class Verdict {

    /** By kind: the names that count as left behind; empty if nothing is known of them. */
    final TreeMap<String, Set<String>> undeclared = new TreeMap<>();

    /** Why the policy is not carried out, {@code null} if it is. */
    final String objection;

    /** Why the declarations are not known, {@code null} if they are. */
    final UnreadableDeclarationsException unreadable;

    final boolean isFatal;
    final boolean isDropped;
    final Optional<String> uid;

    private Verdict(UnclaimedSettings.Policy policy, String id, int attempt, Declared declared,
            UnreadableDeclarationsException unreadable, Map<String, Set<String>> unclaimed) {
        this.unreadable = unreadable;
        this.uid = declared.uidOf(id);
        if (unreadable == null) {
            unclaimed.forEach((kind, names) -> undeclared.put(kind, declared.undeclared(id, kind, names)));
            undeclared.values().removeIf(Set::isEmpty);
        }
        boolean isFailover = policy == UnclaimedSettings.Policy.IGNORE && attempt > 0 && !declared.operators().contains(id);
        this.objection = policy == UnclaimedSettings.Policy.REPORT ? null : objection(attempt, isFailover, unreadable);
        boolean isLeft = unreadable != null || !undeclared.isEmpty();
        this.isFatal = policy == UnclaimedSettings.Policy.FAIL && isLeft;
        this.isDropped = policy == UnclaimedSettings.Policy.IGNORE && !undeclared.isEmpty() && !isFailover;
    }

    /** Returns the verdict; the file is read now. */
    static Verdict of(UnclaimedSettings settings, String id, int attempt, Map<String, Set<String>> unclaimed) {
        try {
            return new Verdict(settings.policy, id, attempt, Declared.of(settings.declarations), null, unclaimed);
        } catch (UnreadableDeclarationsException e) {
            return new Verdict(settings.policy, id, attempt, Declared.NOTHING, e, unclaimed);
        }
    }

    private static String objection(int attempt, boolean isFailover, UnreadableDeclarationsException unreadable) {
        if (unreadable != null) {
            return unreadable.getMessage();
        }
        return isFailover
                ? "attempt " + attempt + " restores the job's own checkpoint, and " + UnclaimedSettings.DECLARATIONS.key()
                        + " does not name the operator"
                : null;
    }
}
