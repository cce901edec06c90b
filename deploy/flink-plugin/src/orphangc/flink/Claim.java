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
