import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.connector.source.lib.util.IteratorSourceEnumerator;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * A job that keeps an account of every number it was given, so that each checkpoint can be checked to the last number.
 *
 * <p>Arguments: as LedgerJob, whose parts it uses. Numbers come in lanes; in each they follow each other without a gap. "gates" knows
 * the next number of each lane, and every number that comes must be it: so state and the source's offsets agree. "accounts" keeps count,
 * sum and a digest of each key's numbers, and state of every kind that follows from them. What is wrong ends the job, and leaves a file
 * "wrong-..." in the control folder.
 *
 * <p>With --audit DIR the job reads what a checkpoint holds, and ends: "lanes-..." with "lane next", "keys-..." with "key count sum digest".
 */
public final class AccountJob {

    private static final int LANES = 6;
    private static final long LANE = 1L << 40;
    private static final int VISITS_TO_AN_ENTRY = 16;

    public static void main(String[] argv) throws Exception {
        Map<String, String> args = new HashMap<>();
        for (int i = 0; i + 1 < argv.length; i += 2) {
            args.put(argv[i], argv[i + 1]);
        }
        int keys = Integer.parseInt(args.get("--keys"));
        String control = args.get("--control");
        String audit = args.get("--audit");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(LedgerJob.settings(args.get("--settings")));
        env.setMaxParallelism(32);
        numbers(env, keys, Integer.parseInt(args.get("--rate")), audit != null)
                .map(new Gates(control, audit)).name("gates").uid("gates")
                .keyBy(new LedgerJob.Remainder(keys))
                .process(new Accounts(Integer.parseInt(args.get("--payload")), control, audit)).name("accounts").uid("accounts");
        env.execute("accounts");
    }

    static DataStream<Long> numbers(StreamExecutionEnvironment env, long keys, int rate, boolean isAudit) {
        if (isAudit) {
            return env.fromSource(new NumberSequenceSource(0, keys - 1), WatermarkStrategy.noWatermarks(), "roll call").uid("roll-call");
        }
        return env.fromSource(new Lanes(), WatermarkStrategy.noWatermarks(), "numbers").uid("numbers")
                .map(new LedgerJob.Throttle(rate)).name("throttle").uid("throttle");
    }

    private static IllegalStateException wrong(String control, String what) throws IOException {
        Files.write(new File(control, "wrong-" + UUID.randomUUID()).toPath(), what.getBytes(StandardCharsets.UTF_8));
        return new IllegalStateException(what);
    }

    private static void write(String folder, String kind, String text) throws IOException {
        Files.write(new File(folder, kind + "-" + UUID.randomUUID()).toPath(), text.getBytes(StandardCharsets.UTF_8));
    }

    /** As many splits at any parallelism, so that each subtask finds one. */
    static final class Lanes extends NumberSequenceSource {
        private static final long serialVersionUID = 1L;

        Lanes() {
            super(0, LANES * LANE - 1);
        }

        @Override
        public SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> createEnumerator(
                SplitEnumeratorContext<NumberSequenceSplit> context) {
            return new IteratorSourceEnumerator<>(context, splitNumberRange(getFrom(), getTo(), LANES));
        }
    }

    /** Lets nothing pass but the next number of a lane. */
    static final class Gates extends RichMapFunction<Long, Long> implements CheckpointedFunction {
        private final String control;
        private final String audit;
        private transient ListState<String> lines;
        private transient Map<Long, Long> next;

        Gates(String control, String audit) {
            this.control = control;
            this.audit = audit;
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            lines = context.getOperatorStateStore().getUnionListState(new ListStateDescriptor<>("next", Types.STRING));
            next = new TreeMap<>();
            for (String line : lines.get()) {
                String[] words = line.split(" ");
                next.merge(Long.parseLong(words[0]), Long.parseLong(words[1]), Math::max);
            }
            if (audit != null) {
                StringBuilder text = new StringBuilder();
                next.forEach((lane, number) -> text.append(lane).append(' ').append(number - lane * LANE).append('\n'));
                write(audit, "lanes", text.toString());
            }
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            lines.clear();
            for (Map.Entry<Long, Long> each : next.entrySet()) {
                lines.add(each.getKey() + " " + each.getValue());
            }
        }

        @Override
        public Long map(Long number) throws Exception {
            if (audit == null) {
                long lane = number / LANE;
                long expected = next.getOrDefault(lane, lane * LANE);
                if (number != expected) {
                    throw wrong(control, "lane " + lane + " goes on with " + number + " instead of " + expected);
                }
                next.put(lane, number + 1);
            }
            return number;
        }
    }

    /** The states of the key that is at hand. */
    interface Book {
        String account() throws Exception;

        void account(String statement) throws Exception;

        String opening() throws Exception;

        void opening(String statement) throws Exception;

        Iterable<Long> entries() throws Exception;

        void entry(long count) throws Exception;

        /** Returns how many numbers of each lane came. */
        Iterable<Long> visits() throws Exception;

        void visited(long lane) throws Exception;
    }

    private static final class StoredBook implements Book {
        private final ValueState<String> account;
        private final ValueState<String> opening;
        private final ListState<Long> entries;
        private final MapState<Long, Long> perLane;

        StoredBook(KeyedStateStore store) {
            account = store.getState(new ValueStateDescriptor<>("account", Types.STRING));
            opening = store.getState(new ValueStateDescriptor<>("opening", Types.STRING));
            entries = store.getListState(new ListStateDescriptor<>("entries", Types.LONG));
            perLane = store.getMapState(new MapStateDescriptor<>("per-lane", Types.LONG, Types.LONG));
        }

        @Override
        public String account() throws Exception {
            return account.value();
        }

        @Override
        public void account(String statement) throws Exception {
            account.update(statement);
        }

        @Override
        public String opening() throws Exception {
            return opening.value();
        }

        @Override
        public void opening(String statement) throws Exception {
            opening.update(statement);
        }

        @Override
        public Iterable<Long> entries() throws Exception {
            return entries.get();
        }

        @Override
        public void entry(long count) throws Exception {
            entries.add(count);
        }

        @Override
        public Iterable<Long> visits() throws Exception {
            return perLane.values();
        }

        @Override
        public void visited(long lane) throws Exception {
            Long before = perLane.get(lane);
            perLane.put(lane, before == null ? 1 : before + 1);
        }
    }

    static class Accounts extends KeyedProcessFunction<Long, Long, Void> implements CheckpointedFunction {
        private final int payload;
        private final String control;
        private final String audit;
        private transient Book book;
        private transient ListState<String> signature;
        private transient String self;
        private transient Set<Long> visited;
        private transient StringBuilder found;

        Accounts(int payload, String control, String audit) {
            this.payload = payload;
            this.control = control;
            this.audit = audit;
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            book = book(context.getKeyedStateStore());
            signature = context.getOperatorStateStore().getListState(
                    new ListStateDescriptor<>("signature", new LedgerJob.HoldSerializer(control)));
            self = UUID.randomUUID().toString();
            visited = new HashSet<>();
            found = new StringBuilder();
        }

        Book book(KeyedStateStore store) {
            return new StoredBook(store);
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            signature.update(Collections.singletonList(self));
        }

        @Override
        public void processElement(Long number, Context context, Collector<Void> out) throws Exception {
            long key = context.getCurrentKey();
            String was = book.account();
            long count = 0;
            long sum = 0;
            long digest = 0;
            if (was != null) {
                String[] words = was.split(" ");
                count = Long.parseLong(words[0]);
                sum = Long.parseLong(words[1]);
                digest = Long.parseLong(words[2]);
                if (!was.equals(statement(key, count, sum, digest))) {
                    throw wrong(control, "the account of key " + key + " is not what was written");
                }
            }
            if (visited.add(key)) {
                check(key, count);
            }
            if (audit != null) {
                found.append(key).append(' ').append(count).append(' ').append(sum).append(' ').append(digest).append('\n');
                return;
            }
            if (count == 0) {
                book.opening(statement(key, 0, 0, 0));
            }
            count++;
            book.account(statement(key, count, sum + number, digest + mixed(number)));
            book.visited(number / LANE);
            if (count % VISITS_TO_AN_ENTRY == 0) {
                book.entry(count);
            }
        }

        private void check(long key, long count) throws Exception {
            long expected = VISITS_TO_AN_ENTRY;
            for (long entry : book.entries()) {
                if (entry != expected) {
                    throw wrong(control, "key " + key + " has entry " + entry + " instead of " + expected);
                }
                expected += VISITS_TO_AN_ENTRY;
            }
            long visits = 0;
            for (long each : book.visits()) {
                visits += each;
            }
            String opened = count == 0 ? null : statement(key, 0, 0, 0);
            boolean isWhole = visits == count && expected / VISITS_TO_AN_ENTRY == count / VISITS_TO_AN_ENTRY + 1;
            if (!isWhole || !Objects.equals(opened, book.opening())) {
                throw wrong(control, "the states of key " + key + " do not fit its count of " + count);
            }
        }

        private static long mixed(long number) {
            long mixed = (number + 1) * 0x9E3779B97F4A7C15L;
            return mixed ^ (mixed >>> 29);
        }

        private String statement(long key, long count, long sum, long digest) {
            Random random = new Random(key * 1_000_003L + count * 31 + sum * 17 + digest);
            StringBuilder text = new StringBuilder().append(count).append(' ').append(sum).append(' ').append(digest).append(' ');
            for (int i = 0; i < payload; i++) {
                text.append((char) ('a' + random.nextInt(26)));
            }
            return text.toString();
        }

        @Override
        public void close() throws Exception {
            if (audit != null && found != null) {
                write(audit, "keys", found.toString());
            }
        }
    }
}
