package orphangc.flink;

import java.io.InputStream;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

import org.apache.flink.core.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A declarations file, as {@code orphangc declare} writes it: what each operator of the job may register. */
final class Declared {

    static final Declared NOTHING = new Declared(Collections.emptyMap(), false);
    private static final Logger LOG = LoggerFactory.getLogger(Declared.class);

    private final Map<String, DeclarationsReader.Operator> operators;
    private final boolean isKnown;

    private Declared(Map<String, DeclarationsReader.Operator> operators, boolean isKnown) {
        this.operators = operators;
        this.isKnown = isKnown;
    }

    /**
     * Returns the declarations in a file on any file system that Flink knows, as they are now; nothing for {@code null}. They
     * are not kept: a process outlives jobs, and the file may be replaced in place.
     *
     * @throws UnreadableDeclarationsException if it cannot be read: what it names must not be dropped
     */
    static Declared of(String uri) {
        if (uri == null) {
            return NOTHING;
        }
        try {
            Path path = new Path(uri);
            try (InputStream in = path.getFileSystem().open(path)) {
                Map<String, DeclarationsReader.Operator> operators = DeclarationsReader.read(in);
                LOG.info("state declarations of {} operators read from {}", operators.size(), uri);
                return new Declared(operators, true);
            }
        } catch (Exception | LinkageError e) { // the parser is Flink's own
            throw new UnreadableDeclarationsException(uri, e);
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
        return Optional.ofNullable(operators.get(id)).map(each -> each.uid);
    }

    boolean hasCoordinator(String id) {
        return operators.containsKey(id) && operators.get(id).hasCoordinator;
    }

    /** Returns the names among some that an operator does not declare. */
    Set<String> undeclared(String id, String kind, Set<String> names) {
        DeclarationsReader.Operator operator = operators.get(id);
        Set<String> left = new TreeSet<>(names);
        if (operator != null) {
            left.removeAll(kind.equals(Claim.KEYED) ? operator.keyed : operator.lists);
        }
        return left;
    }
}
