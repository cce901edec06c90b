package orphangc.flink;

import java.io.Serializable;
import java.util.Locale;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.configuration.ReadableConfig;

/** What is to happen to state that was restored and that the job does not claim. */
final class UnclaimedSettings implements Serializable {

    private static final long serialVersionUID = 1L;

    /** The state backend that does the work. */
    static final ConfigOption<String> DELEGATE = text("orphangc.state.backend.type").defaultValue("hashmap");

    static final ConfigOption<String> POLICY = text("orphangc.unclaimed-state.policy").defaultValue("report");

    /** How many snapshots pass before the decision: what a job registers later is legal in Flink. */
    static final ConfigOption<Integer> GRACE_CHECKPOINTS =
            ConfigOptions.key("orphangc.unclaimed-state.grace-checkpoints").intType().noDefaultValue();

    /** How many records a subtask sees before the decision. */
    static final ConfigOption<Long> GRACE_RECORDS =
            ConfigOptions.key("orphangc.unclaimed-state.grace-records").longType().defaultValue(1L);

    /** A declarations file: what it names is neither dropped nor a reason to fail. */
    static final ConfigOption<String> DECLARATIONS = text("orphangc.declarations").noDefaultValue();

    private static final ConfigOption<Boolean> CHANGELOG = flag("state.changelog.enabled");
    private static final ConfigOption<Boolean> CHANGELOG_BEFORE_2 = flag("state.backend.changelog.enabled");

    enum Policy {
        REPORT,
        FAIL,
        IGNORE
    }

    final Policy policy;
    final int graceCheckpoints;
    final long graceRecords;
    final String declarations;
    final String directory;
    final boolean hasChangelog;

    UnclaimedSettings(ReadableConfig config) {
        this.policy = policy(config.get(POLICY));
        Integer grace = config.getOptional(GRACE_CHECKPOINTS).orElse(policy == Policy.FAIL ? 0 : 1);
        this.graceCheckpoints = Math.max(0, grace);
        this.graceRecords = graceCheckpoints == 0 ? 0 : Math.max(0, config.get(GRACE_RECORDS));
        this.declarations = trimmed(config.getOptional(DECLARATIONS).orElse(""));
        this.directory = trimmed(config.getOptional(Settings.DIRECTORY).orElse(""));
        this.hasChangelog =
                config.getOptional(CHANGELOG).orElse(false) || config.getOptional(CHANGELOG_BEFORE_2).orElse(false);
        if (policy == Policy.IGNORE && graceCheckpoints == 0) {
            throw new IllegalConfigurationException(
                    GRACE_CHECKPOINTS.key() + ": 0 with the policy ignore would drop state that is registered with the first"
                            + " record; allow 1 or more");
        }
    }

    private static Policy policy(String name) {
        try {
            return Policy.valueOf(name.trim().toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new IllegalConfigurationException(POLICY.key() + ": " + name + " is none of report, fail and ignore");
        }
    }

    private static String trimmed(String text) {
        return text.trim().isEmpty() ? null : text.trim();
    }

    private static ConfigOptions.TypedConfigOptionBuilder<String> text(String key) {
        return ConfigOptions.key(key).stringType();
    }

    private static ConfigOption<Boolean> flag(String key) {
        return ConfigOptions.key(key).booleanType().noDefaultValue();
    }
}
