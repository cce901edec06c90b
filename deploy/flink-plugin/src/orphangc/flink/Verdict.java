package orphangc.flink;

import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * What becomes of the unclaimed state of one operator, by its policy and its declarations.
 *
 * <p>A state is dropped only if declarations of that operator were read and do not hold it. Nothing else can tell state that is left
 * behind from state that the job registers later: with a record, a timer, a window or a trigger.
 */
final class Verdict {

    /** By kind: the names that no declaration of the operator holds; empty if the declarations cannot be read. */
    final TreeMap<String, Set<String>> undeclared = new TreeMap<>();

    /** Why the policy is not carried out, {@code null} if it is. */
    final String objection;

    /** Why the declarations are not known, {@code null} if they are. */
    final UnreadableDeclarationsException unreadable;

    final boolean isFatal;
    final boolean isDropped;

    /** Whether there are declarations, and none of them names the operator. */
    final boolean isUnmatched;

    final Optional<String> uid;

    private Verdict(UnclaimedSettings.Policy policy, Collection<String> ids, Declared declared,
            UnreadableDeclarationsException unreadable, Map<String, Set<String>> unclaimed) {
        this.unreadable = unreadable;
        this.uid = declared.uidOf(ids);
        this.isUnmatched = declared.isKnown() && !declared.names(ids);
        if (unreadable == null) {
            unclaimed.forEach((kind, names) -> undeclared.put(kind, declared.undeclared(ids, kind, names)));
            undeclared.values().removeIf(Set::isEmpty);
        }
        boolean isIgnored = policy == UnclaimedSettings.Policy.IGNORE;
        this.objection = isIgnored ? objection(unreadable, declared, isUnmatched) : null;
        this.isFatal = policy == UnclaimedSettings.Policy.FAIL
                && (unreadable != null || isUnmatched || !undeclared.isEmpty());
        this.isDropped = isIgnored && objection == null && !undeclared.isEmpty();
    }

    /** Returns the verdict on an operator by its ids; the file is read now. */
    static Verdict of(UnclaimedSettings settings, Collection<String> ids, Map<String, Set<String>> unclaimed) {
        try {
            return new Verdict(settings.policy, ids, Declared.of(settings.declarations), null, unclaimed);
        } catch (UnreadableDeclarationsException e) {
            return new Verdict(settings.policy, ids, Declared.NOTHING, e, unclaimed);
        }
    }

    private static String objection(UnreadableDeclarationsException unreadable, Declared declared, boolean isUnmatched) {
        if (unreadable != null) {
            return unreadable.getMessage();
        }
        String declarations = UnclaimedSettings.DECLARATIONS.key();
        return isUnmatched
                ? declarations + " does not name the operator"
                : declared.isKnown() ? null : declarations + " is not set";
    }
}
