package orphangc.flink;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import org.apache.flink.configuration.Configuration;

/**
 * What the plugin makes of declarations files: a line for each, for each policy a line with what becomes of the keyed state "kept" and
 * "left" of the operator whose uid is "a" and whose uid hash is of 32 times "f", the same again with the first file in the place of the last.
 *
 * <p>Arguments: the files.
 */
public final class DeclarationsProbe {

    private static final List<String> IDS = Arrays.asList(OperatorIds.of("a"), "ffffffffffffffffffffffffffffffff");

    public static void main(String[] files) throws Exception {
        for (String file : files) {
            say("read", file, read(file));
            verdicts(file);
        }
        Path last = Paths.get(files[files.length - 1]);
        Files.copy(Paths.get(files[0]), last, StandardCopyOption.REPLACE_EXISTING);
        say("again", last.toString(), read(last.toString()));
    }

    private static String read(String file) {
        try {
            Declared declared = Declared.of(Paths.get(file).toUri().toString());
            StringBuilder text = new StringBuilder("ok");
            Set<String> names = new TreeSet<>(Arrays.asList("kept", "left"));
            for (DeclarationsReader.Operator each : declared.operators()) {
                text.append(' ').append(each.ids).append(' ').append(declared.uidOf(each.ids).orElse("-")).append(' ')
                        .append(declared.hasCoordinator(each.ids)).append(' ')
                        .append(declared.undeclared(each.ids, Claim.KEYED, names))
                        .append(declared.undeclared(each.ids, Claim.OPERATOR, names));
            }
            return text.toString();
        } catch (UnreadableDeclarationsException e) {
            return "refused " + e.getMessage();
        }
    }

    private static void verdicts(String file) {
        Map<String, Set<String>> unclaimed = new TreeMap<>();
        unclaimed.put(Claim.KEYED, new TreeSet<>(Arrays.asList("kept", "left")));
        for (String policy : new String[] {"report", "fail", "ignore"}) {
            Configuration configuration = new Configuration();
            configuration.setString("orphangc.unclaimed-state.policy", policy);
            if (!file.endsWith("none")) {
                configuration.setString("orphangc.declarations", Paths.get(file).toUri().toString());
            }
            Verdict verdict = Verdict.of(new UnclaimedSettings(configuration), IDS, unclaimed);
            String does = verdict.isFatal ? "fails" : verdict.isDropped ? "drops" : "reports";
            String why = verdict.unreadable == null
                    ? String.valueOf(verdict.objection)
                    : Claim.unreadable("a", Collections.emptyMap(), verdict.unreadable);
            say("verdict", file, policy + " " + does + " "
                    + verdict.undeclared.getOrDefault(Claim.KEYED, Collections.emptySet()) + "\t" + why);
        }
    }

    private static void say(String what, String file, String found) {
        String line = what + "\t" + file + "\t" + found.replace('\n', ' ') + "\n";
        System.out.write(line.getBytes(StandardCharsets.UTF_8), 0, line.getBytes(StandardCharsets.UTF_8).length);
        System.out.flush();
    }
}
