package orphangc.flink;

import java.io.IOException;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.StateBackendFactory;
import org.apache.flink.runtime.state.StateBackendLoader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What {@code state.backend.type} names: the state backend of {@code orphangc.state.backend.type}, which does all the work,
 * and beside it a watch over the state that was restored and that the job does not claim.
 */
public final class UnclaimedStateFactory implements StateBackendFactory<StateBackend> {

    private static final Logger LOG = LoggerFactory.getLogger(UnclaimedStateFactory.class);
    private static final ConfigOption<String> TYPE = text("state.backend.type");
    private static final ConfigOption<String> TYPE_BEFORE_1_17 = text("state.backend");

    @Override
    public StateBackend createFromConfig(ReadableConfig config, ClassLoader loader) throws IOException {
        String type = config.get(UnclaimedSettings.DELEGATE);
        if (type.equals(UnclaimedStateFactory.class.getName())) {
            throw new IllegalConfigurationException(
                    UnclaimedSettings.DELEGATE.key() + " must name the real state backend, not this factory");
        }
        if (!(config instanceof Configuration)) {
            throw new IllegalConfigurationException("cannot choose the real state backend in a " + config.getClass());
        }
        Configuration real = new Configuration((Configuration) config);
        real.set(TYPE, type);
        real.set(TYPE_BEFORE_1_17, type);
        StateBackend delegate;
        try {
            delegate = StateBackendLoader.loadStateBackendFromConfig(real, loader, LOG);
        } catch (IOException | RuntimeException e) {
            throw e;
        } catch (Exception e) { // what it throws differs between releases
            throw new IOException(e);
        }
        return WatchedStateBackend.over(delegate, new UnclaimedSettings(config));
    }

    private static ConfigOption<String> text(String key) {
        return ConfigOptions.key(key).stringType().noDefaultValue();
    }
}
