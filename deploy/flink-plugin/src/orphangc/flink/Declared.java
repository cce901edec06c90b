package orphangc.flink;

import java.io.InputStream;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.flink.core.fs.Path;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A declarations file, as {@code orphangc declare} writes it: what each operator of the job may register. */
final class Declared {

    private static final Logger LOG = LoggerFactory.getLogger(Declared.class);
    private static final Declared NOTHING = new Declared(Collections.emptyMap(), false);
    private static final Map<String, Declared> READ = new ConcurrentHashMap<>();

    private final Map<String, JsonNode> operators;
    private final boolean isKnown;

    private Declared(Map<String, JsonNode> operators, boolean isKnown) {
        this.operators = operators;
        this.isKnown = isKnown;
    }

    /**
     * Returns the declarations in a file on any file system that Flink knows; nothing for {@code null}.
     *
     * @throws IllegalStateException if it cannot be read: what it names must not be dropped
     */
    static Declared of(String uri) {
        return uri == null ? NOTHING : READ.computeIfAbsent(uri, Declared::read);
    }

    private static Declared read(String uri) {
        Path path = new Path(uri);
        try (InputStream in = path.getFileSystem().open(path)) {
            JsonNode root = new ObjectMapper(new YAMLFactory()).readTree(in);
            if (root.path("version").asInt() != 1 || !root.path("operators").isArray()) {
                throw new IllegalStateException("it is no declarations file of version 1");
            }
            Map<String, JsonNode> operators = new HashMap<>();
            for (JsonNode each : root.path("operators")) {
                operators.put(each.hasNonNull("id") ? each.path("id").asText() : OperatorIds.of(each.path("uid").asText()), each);
            }
            LOG.info("state declarations of {} operators read from {}", operators.size(), uri);
            return new Declared(operators, true);
        } catch (Exception e) {
            throw new IllegalStateException(UnclaimedSettings.DECLARATIONS.key() + ": cannot read " + uri, e);
        }
    }

    /** Returns whether there is a file at all. */
    boolean isKnown() {
        return isKnown;
    }

    Set<String> operators() {
        return operators.keySet();
    }

    Optional<String> uidOf(String id) {
        return Optional.ofNullable(operators.get(id)).map(each -> each.path("uid").asText(null));
    }

    boolean hasCoordinator(String id) {
        return operators.containsKey(id) && operators.get(id).path("coordinator").asBoolean();
    }

    /** Returns the names among some that an operator does not declare. */
    Set<String> undeclared(String id, String kind, Set<String> names) {
        Set<String> declared = new HashSet<>();
        JsonNode operator = operators.get(id);
        String field = kind.equals(Claim.KEYED) ? "keyed_states" : "operator_states";
        if (operator != null) {
            operator.path(field).forEach(each -> declared.add(each.path("id").asText()));
        }
        Set<String> left = new TreeSet<>(names);
        left.removeAll(declared);
        return left;
    }
}
