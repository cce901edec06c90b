package orphangc.flink;

import java.time.Duration;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.core.fs.Path;

/** The exporter's options in Flink's configuration of the JobManager. */
final class Settings {

    static final ConfigOption<String> TYPE = text("high-availability.type").noDefaultValue();
    static final ConfigOption<String> TYPE_BEFORE_1_17 = text("high-availability").noDefaultValue();

    /** What {@link #TYPE} would be without us. */
    static final ConfigOption<String> DELEGATE_TYPE =
            text("orphangc.high-availability.type").defaultValue("NONE");

    /** Where snapshots go; without it nothing is exported. */
    static final ConfigOption<String> DIRECTORY = text("orphangc.registry.dir").noDefaultValue();

    /** The longest time between two snapshots. */
    static final ConfigOption<Duration> INTERVAL = time("orphangc.registry.interval", Duration.ofSeconds(60));

    /** The shortest time between the end of one export and the begin of the next, whatever happens. */
    static final ConfigOption<Duration> MIN_PAUSE = time("orphangc.registry.min-pause", Duration.ofSeconds(10));

    /** How often the nonce is looked for. */
    static final ConfigOption<Duration> NONCE_INTERVAL =
            time("orphangc.registry.nonce-interval", Duration.ofSeconds(5));

    /** How many snapshots of a job are kept. */
    static final ConfigOption<Integer> KEPT =
            ConfigOptions.key("orphangc.registry.num-retained").intType().defaultValue(5);

    static final ConfigOption<Boolean> GZIP =
            ConfigOptions.key("orphangc.registry.gzip").booleanType().defaultValue(true);

    final Path directory;
    final long intervalMillis;
    final long minPauseMillis;
    final long nonceMillis;
    final int kept;
    final boolean gzip;

    private Settings(ReadableConfig config, String directory) {
        this.directory = new Path(directory);
        this.intervalMillis = noLessThan(config, INTERVAL, 1);
        this.minPauseMillis = noLessThan(config, MIN_PAUSE, 0);
        this.nonceMillis = noLessThan(config, NONCE_INTERVAL, 1);
        this.kept = Math.max(2, config.get(KEPT)); // a cycle of the collector needs two
        this.gzip = config.get(GZIP);
    }

    /** Returns {@code null} if nobody asked for snapshots. */
    static Settings from(ReadableConfig config) {
        String directory = config.get(DIRECTORY);
        return directory == null || directory.trim().isEmpty() ? null : new Settings(config, directory.trim());
    }

    private static long noLessThan(ReadableConfig config, ConfigOption<Duration> option, long least) {
        return Math.max(least, config.get(option).toMillis());
    }

    private static ConfigOptions.TypedConfigOptionBuilder<String> text(String key) {
        return ConfigOptions.key(key).stringType();
    }

    private static ConfigOption<Duration> time(String key, Duration usual) {
        return ConfigOptions.key(key).durationType().defaultValue(usual);
    }
}
