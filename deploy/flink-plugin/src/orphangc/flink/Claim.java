package orphangc.flink;

import java.util.Collection;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The kinds of state that a job may claim, as the declarations call them, and the words of messages. */
final class Claim {

    static final String KEYED = "keyed state";
    static final String OPERATOR = "operator state";
    static final String BROADCAST = "broadcast state";
    static final String COORDINATOR = "coordinator state";

    /** Keyed state that was restored to an operator without keys; its names are in state files only. */
    static final String UNKEYED = "keyed state of an operator without keys";

    private Claim() {}

    /** Returns whether an operator may hold state of a kind that is not registered: Flink itself lets the other kinds go. */
    static boolean mayBeHeld(String kind) {
        return !kind.equals(COORDINATOR) && !kind.equals(UNKEYED);
    }

    /** Returns the words for an operator: the job's own name for it, and all that it is declared by. */
    static String operator(String name, String uid, Collection<String> ids) {
        Iterator<String> each = ids.iterator();
        StringBuilder text = new StringBuilder("operator ").append(name == null ? "" : "'" + name + "' ");
        text.append("(id ").append(each.next());
        each.forEachRemaining(hash -> text.append(", uid hash ").append(hash));
        return text.append(uid == null ? "" : ", uid " + uid).append(')').toString();
    }

    /** Returns the words for a file that cannot be read; its message names it. */
    static String unreadable(String who, Map<String, Set<String>> states, UnreadableDeclarationsException problem) {
        return "orphangc: unclaimed state of " + who + ": " + states + ", and what may be left behind is not known: "
                + problem.getMessage() + ". Mend the file, or set " + UnclaimedSettings.POLICY.key() + " to report";
    }

    /** Returns the words for declarations that leave out operators of the job. */
    static String unmatched(Collection<String> operators, UnclaimedSettings settings) {
        return "orphangc: no declaration names " + String.join(", ", operators) + ", which the checkpoint holds state of: is "
                + settings.declarations + " the file of this job? Declare each by its id, uid or uid_hash, or set "
                + UnclaimedSettings.POLICY.key() + " to report";
    }

    static String refusal(String who, Map<String, Set<String>> states, UnclaimedSettings settings) {
        StringBuilder text = new StringBuilder("orphangc: unclaimed state of ").append(who).append(':');
        Map<String, Set<String>> late = new TreeMap<>(states);
        late.keySet().removeIf(kind -> !mayBeHeld(kind));
        if (!late.isEmpty()) {
            text.append(" not registered yet, and a later record or timer may register it, as windows and triggers do:");
            append(text, late);
        }
        Map<String, Set<String>> unheld = new TreeMap<>(states);
        unheld.keySet().removeIf(Claim::mayBeHeld);
        if (!unheld.isEmpty()) {
            text.append(" the operator of that id can never hold:");
            append(text, unheld);
        }
        return text.append(" the checkpoint holds it. Set ").append(UnclaimedSettings.POLICY.key())
                .append(" to report or ignore to let it pass. Declare what the job registers later in ")
                .append(UnclaimedSettings.DECLARATIONS.key())
                .append(": orphangc declare CHECKPOINT --out FILE writes it from a checkpoint, and a run with the policy report and ")
                .append(Settings.DIRECTORY.key()).append(" learns it as <job id>/declarations.yaml there. Or raise ")
                .append(UnclaimedSettings.GRACE_CHECKPOINTS.key())
                .toString();
    }

    private static void append(StringBuilder text, Map<String, Set<String>> states) {
        states.forEach((kind, names) -> names.forEach(
                name -> text.append(' ').append(kind).append(" '").append(name).append("';")));
    }
}
