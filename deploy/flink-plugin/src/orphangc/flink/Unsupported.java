package orphangc.flink;

import java.util.Locale;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.configuration.ReadableConfig;

/** Settings under which shared files do not get their names from the checkpoint storage: a job with them must not start. */
final class Unsupported {

    private static final ConfigOption<Boolean> FILE_MERGING =
            flag("execution.checkpointing.file-merging.enabled", "state.checkpoints.file-merging.enabled");

    private static final ConfigOption<Boolean> CHANGELOG =
            flag("state.changelog.enabled", "state.backend.changelog.enabled");

    private static final ConfigOption<String> STATE_BACKEND =
            ConfigOptions.key("state.backend.type")
                    .stringType()
                    .defaultValue("")
                    .withDeprecatedKeys("state.backend");

    private Unsupported() {}

    static void refuse(ReadableConfig config) throws IllegalConfigurationException {
        if (config.get(FILE_MERGING)) {
            refuse("merges files of several checkpoints into one", FILE_MERGING.key() + ": false");
        }
        if (config.get(CHANGELOG)) {
            refuse("keeps state in files that belong to no checkpoint", CHANGELOG.key() + ": false");
        }
        if (config.get(STATE_BACKEND).toLowerCase(Locale.ROOT).contains("forst")) {
            refuse("names its files itself", STATE_BACKEND.key() + ": rocksdb");
        }
    }

    private static void refuse(String because, String instead) {
        throw new IllegalConfigurationException(
                CheckpointIdStorageFactory.class.getName()
                        + " cannot put checkpoint ids into the names of shared files, because this job's configuration "
                        + because
                        + ": set "
                        + instead
                        + ", or use Flink's own checkpoint storage.");
    }

    private static ConfigOption<Boolean> flag(String key, String older) {
        return ConfigOptions.key(key).booleanType().defaultValue(false).withDeprecatedKeys(older);
    }
}
