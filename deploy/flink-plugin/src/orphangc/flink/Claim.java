package orphangc.flink;

import java.util.Map;
import java.util.Set;

/** The kinds of state that a job may claim, as the declarations call them, and the words of a refusal. */
final class Claim {

    static final String KEYED = "keyed state";
    static final String OPERATOR = "operator state";
    static final String BROADCAST = "broadcast state";
    static final String COORDINATOR = "coordinator state";

    private Claim() {}

    /** Returns the words for a file that cannot be read; its message names it. */
    static String unreadable(String who, Map<String, Set<String>> states, UnreadableDeclarationsException problem) {
        return "orphangc: unclaimed state of " + who + ": " + states + ", and what may be left behind is not known: "
                + problem.getMessage() + ". Mend the file, or set " + UnclaimedSettings.POLICY.key() + " to report";
    }

    static String refusal(String who, Map<String, Set<String>> states, UnclaimedSettings settings) {
        StringBuilder text = new StringBuilder("orphangc: unclaimed state of ").append(who).append(':');
        for (Map.Entry<String, Set<String>> each : states.entrySet()) {
            for (String state : each.getValue()) {
                text.append(' ').append(each.getKey()).append(" '").append(state).append("';");
            }
        }
        return text.append(" the checkpoint holds it, and the job ")
                .append(settings.graceCheckpoints == 0
                        ? "does not register it before it starts"
                        : "has not registered it within its grace")
                .append(". Set ").append(UnclaimedSettings.POLICY.key())
                .append(" to report or ignore to let it pass, declare it in ").append(UnclaimedSettings.DECLARATIONS.key())
                .append(", or raise ").append(UnclaimedSettings.GRACE_CHECKPOINTS.key())
                .append(" if it is registered later")
                .toString();
    }
}
