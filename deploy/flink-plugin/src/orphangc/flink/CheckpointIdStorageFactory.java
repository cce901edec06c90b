package orphangc.flink;

import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.state.CheckpointStorageFactory;
import org.apache.flink.runtime.state.storage.FileSystemCheckpointStorage;

/**
 * What {@code execution.checkpointing.storage} ({@code state.checkpoint-storage} before 1.20) names: Flink's file system
 * storage, but for the names of shared files, which begin with the id of the checkpoint that wrote them.
 */
public final class CheckpointIdStorageFactory implements CheckpointStorageFactory<CheckpointIdStorage> {

    /**
     * Stands for the checkpoint directory up to Flink 1.18, where a job that knows {@code state.checkpoints.dir} makes a
     * storage for it by itself and asks no factory.
     */
    private static final ConfigOption<String> DIRECTORY =
            ConfigOptions.key("orphangc.checkpoints.dir").stringType().noDefaultValue();

    @Override
    public CheckpointIdStorage createFromConfig(ReadableConfig config, ClassLoader classLoader)
            throws IllegalConfigurationException {
        Unsupported.refuse(config);
        String directory = config.get(DIRECTORY);
        ReadableConfig effective = config;
        if (directory != null && config instanceof Configuration) {
            Configuration with = new Configuration((Configuration) config);
            with.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, directory);
            effective = with;
        }
        return new CheckpointIdStorage(FileSystemCheckpointStorage.createFromConfig(effective, classLoader));
    }
}
