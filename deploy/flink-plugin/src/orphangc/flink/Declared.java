package orphangc.flink;

import java.io.InputStream;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
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

    /** By each id of each. */
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
                Declared declared = new Declared(operators, true);
                LOG.info("state declarations of {} operators read from {}", declared.operators().size(), uri);
                return declared;
            }
        } catch (Exception | LinkageError e) { // the parser is Flink's own
            throw new UnreadableDeclarationsException(uri, e);
        }
    }

    /** Returns whether there is a file at all. */
    boolean isKnown() {
        return isKnown;
    }

    /** Returns the operators of the file, each once. */
    Set<DeclarationsReader.Operator> operators() {
        return new LinkedHashSet<>(operators.values());
    }

    /** Returns whether the file names an operator that has these ids. */
    boolean names(Collection<String> ids) {
        return !named(ids).isEmpty();
    }

    Optional<String> uidOf(Collection<String> ids) {
        return named(ids).stream().map(each -> each.uid).filter(Objects::nonNull).findFirst();
    }

    boolean hasCoordinator(Collection<String> ids) {
        return named(ids).stream().anyMatch(each -> each.hasCoordinator);
    }

    /** Returns the names among some that an operator does not declare under any of its ids. */
    Set<String> undeclared(Collection<String> ids, String kind, Set<String> names) {
        Set<String> left = new TreeSet<>(names);
        named(ids).forEach(each -> left.removeAll(kind.equals(Claim.KEYED) ? each.keyed : each.lists));
        return left;
    }

    private Set<DeclarationsReader.Operator> named(Collection<String> ids) {
        Set<DeclarationsReader.Operator> found = new LinkedHashSet<>();
        ids.stream().map(operators::get).filter(Objects::nonNull).forEach(found::add);
        return found;
    }
}
