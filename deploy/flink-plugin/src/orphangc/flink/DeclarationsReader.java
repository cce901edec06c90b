package orphangc.flink;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

import org.apache.flink.shaded.jackson2.org.yaml.snakeyaml.Yaml;
import org.apache.flink.shaded.jackson2.org.yaml.snakeyaml.events.AliasEvent;
import org.apache.flink.shaded.jackson2.org.yaml.snakeyaml.events.Event;
import org.apache.flink.shaded.jackson2.org.yaml.snakeyaml.nodes.MappingNode;
import org.apache.flink.shaded.jackson2.org.yaml.snakeyaml.nodes.Node;
import org.apache.flink.shaded.jackson2.org.yaml.snakeyaml.nodes.NodeTuple;
import org.apache.flink.shaded.jackson2.org.yaml.snakeyaml.nodes.ScalarNode;
import org.apache.flink.shaded.jackson2.org.yaml.snakeyaml.nodes.SequenceNode;

/**
 * Reads a declarations file and refuses what {@code orphangc unclaimed} refuses: what is passed over would count as "not
 * declared", and undeclared state may be dropped.
 */
final class DeclarationsReader {

    private static final int MAX_BYTES = 4_000_000;
    private static final String TAG = "tag:yaml.org,2002:";
    private static final Set<String> TOP = set("version", "operators");
    private static final Set<String> OPERATOR =
            set("uid", "id", "uid_hash", "name", "keyed_states", "operator_states", "coordinator", "new");
    private static final Set<String> KEYED = set("id", "type", "serializer", "queryable_name", "new");
    private static final Set<String> LIST = set("id", "redistribution", "serializer", "new");
    private static final Set<String> TYPES = set("value", "list", "map", "reducing", "aggregating");
    private static final Set<String> REDISTRIBUTIONS = set("split", "union", "broadcast");
    private static final String TIMERS = "_timer_state/";

    private DeclarationsReader() {}

    /** One operator of the file. */
    static final class Operator {
        final String uid;

        /** The id under which it runs, which its uid gives if it has one, and its uid hash. */
        final Set<String> ids;

        final boolean hasCoordinator;
        final Set<String> keyed;
        final Set<String> lists;

        Operator(String uid, Set<String> ids, boolean hasCoordinator, Set<String> keyed, Set<String> lists) {
            this.uid = uid;
            this.ids = ids;
            this.hasCoordinator = hasCoordinator;
            this.keyed = keyed;
            this.lists = lists;
        }

        /** Returns the id under which it runs, if that is known. */
        String id() {
            return ids.iterator().next();
        }
    }

    /**
     * Returns the operators by each of their ids.
     *
     * @throws IllegalArgumentException if it is no declarations file; the message says why
     */
    static Map<String, Operator> read(InputStream in) throws IOException {
        String text = text(in);
        Map<String, Node> top;
        try {
            for (Event each : new Yaml().parse(new StringReader(text))) {
                refuse(each instanceof AliasEvent, "an alias, which is not allowed here");
            }
            top = mapping(new Yaml().compose(new StringReader(text)), "the file", TOP);
        } catch (StackOverflowError e) {
            throw new IllegalArgumentException("it is nested without end");
        }
        Node version = top.get("version");
        refuse(!isTagged(version, "int") || !((ScalarNode) version).getValue().equals("1"), "version must be the number 1");
        refuse(!top.containsKey("operators"), "operators are missing");
        Map<String, Operator> operators = new LinkedHashMap<>();
        int position = 0;
        for (Node each : list(top, "operators", "the file")) {
            operator(each, "operator " + ++position, operators);
        }
        return operators;
    }

    private static void operator(Node node, String where, Map<String, Operator> operators) {
        Map<String, Node> content = mapping(node, where, OPERATOR);
        String uid = text(content, "uid", where);
        text(content, "name", where);
        flag(content, "new", where);
        refuse("".equals(uid), "uid of " + where + " is empty");
        String given = id(content, "id", where);
        String uidHash = id(content, "uid_hash", where);
        refuse(uid == null && given == null && uidHash == null, where + " needs a uid or an id (or a uid_hash)");
        Set<String> ids = new LinkedHashSet<>(Arrays.asList(uid == null ? given : OperatorIds.of(uid), uidHash));
        ids.remove(null);
        Set<String> keyed = states(content, "keyed_states", where, KEYED, "type", TYPES);
        refuse(keyed.stream().anyMatch(each -> each.startsWith(TIMERS)), where + " declares a timer of Flink's own");
        Set<String> lists = states(content, "operator_states", where, LIST, "redistribution", REDISTRIBUTIONS);
        Operator operator = new Operator(uid, ids, flag(content, "coordinator", where), keyed, lists);
        ids.forEach(id -> refuse(operators.put(id, operator) != null, where + " has the id of another operator, " + id));
    }

    private static String id(Map<String, Node> operator, String field, String where) {
        String id = text(operator, field, where);
        refuse(id != null && !id.matches("[0-9a-f]{32}"), field + " of " + where + " is not of 32 hex digits 0-9 a-f: " + id);
        return id;
    }

    private static Set<String> states(
            Map<String, Node> operator, String field, String where, Set<String> keys, String form, Set<String> forms) {
        Set<String> names = new TreeSet<>();
        for (Node each : list(operator, field, where)) {
            String place = "an entry of " + field + " of " + where;
            Map<String, Node> state = mapping(each, place, keys);
            String name = text(state, "id", place);
            refuse(name == null || name.isEmpty(), place + " has no id");
            String found = text(state, form, place);
            refuse(!forms.contains(found), form + " of '" + name + "' in " + where + " is none of " + forms);
            text(state, "serializer", place);
            text(state, "queryable_name", place);
            flag(state, "new", place);
            refuse(!names.add(name), "'" + name + "' in " + field + " of " + where + " is declared twice");
        }
        return names;
    }

    private static Map<String, Node> mapping(Node node, String where, Set<String> known) {
        refuse(!isTagged(node, "map"), where + " is no mapping");
        Map<String, Node> found = new LinkedHashMap<>();
        for (NodeTuple each : ((MappingNode) node).getValue()) {
            Node key = each.getKeyNode();
            String name = key instanceof ScalarNode ? ((ScalarNode) key).getValue() : key.getTag().getValue();
            refuse(!isTagged(key, "str") || !known.contains(name), "unknown key " + name + " in " + where);
            refuse(found.put(name, each.getValueNode()) != null, "key " + name + " a second time in " + where);
        }
        return found;
    }

    private static Collection<Node> list(Map<String, Node> owner, String field, String where) {
        Node node = owner.get(field);
        if (node == null) {
            return Collections.emptyList();
        }
        refuse(!isTagged(node, "seq"), field + " of " + where + " is no list");
        List<Node> found = ((SequenceNode) node).getValue();
        return found;
    }

    /** Returns {@code null} for an absent text and for YAML's null. */
    private static String text(Map<String, Node> owner, String field, String where) {
        Node node = owner.get(field);
        if (node == null || isTagged(node, "null")) {
            return null;
        }
        refuse(!isTagged(node, "str"), field + " of " + where + " is no text");
        return ((ScalarNode) node).getValue();
    }

    private static boolean flag(Map<String, Node> owner, String field, String where) {
        Node node = owner.get(field);
        if (node == null) {
            return false;
        }
        refuse(!isTagged(node, "bool"), field + " of " + where + " is neither true nor false");
        return set("true", "yes", "on").contains(((ScalarNode) node).getValue().toLowerCase(java.util.Locale.ROOT));
    }

    private static boolean isTagged(Node node, String type) {
        return node != null && node.getTag().getValue().equals(TAG + type);
    }

    private static String text(InputStream in) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] buffer = new byte[8192];
        for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
            bytes.write(buffer, 0, count);
            refuse(bytes.size() > MAX_BYTES, "it has more than " + MAX_BYTES + " bytes");
        }
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes.toByteArray())).toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("it is no UTF-8 text");
        }
    }

    private static void refuse(boolean isWrong, String problem) {
        if (isWrong) {
            throw new IllegalArgumentException(problem);
        }
    }

    private static Set<String> set(String... words) {
        return Collections.unmodifiableSet(new HashSet<>(Arrays.asList(words)));
    }
}
