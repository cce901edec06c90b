import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;

import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.common.typeutils.base.TypeSerializerSingleton;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * A job whose state proves itself: what is read back must be what the key implies, and no key may be missing.
 *
 * <p>Arguments: --control DIR --keys K --payload BYTES --rate N (records per second and subtask) --settings S. It only uses API that is
 * the same from Flink 1.15 to 2.3; every checkpoint setting comes from outside.
 *
 * <p>Accumulators, all counted from the start of the attempt: "restored" (keys that the restored checkpoint says to hold),
 * "verified" (keys whose restored state was read and found right), "fresh" (keys that had no state), "records".
 */
public final class LedgerJob {

    public static void main(String[] argv) throws Exception {
        Map<String, String> args = new HashMap<>();
        for (int i = 0; i + 1 < argv.length; i += 2) {
            args.put(argv[i], argv[i + 1]);
        }
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(settings(args.get("--settings")));
        env.setMaxParallelism(32);
        env.fromSource(new NumberSequenceSource(0, Long.MAX_VALUE / 4), WatermarkStrategy.noWatermarks(), "numbers")
                .uid("numbers")
                .map(new Throttle(Integer.parseInt(args.get("--rate")))).name("throttle").uid("throttle")
                .keyBy(new Remainder(Integer.parseInt(args.get("--keys"))))
                .process(new Ledger(Integer.parseInt(args.get("--payload")), args.get("--control")))
                .name("ledger").uid("ledger");
        env.execute("ledger");
    }

    /** Flink 1.15 and 1.16 take a job's settings from nobody else than the job: "key=value" joined by semicolons. */
    static Configuration settings(String text) {
        Map<String, String> settings = new HashMap<>();
        for (String each : text == null ? new String[0] : text.split(";")) {
            settings.put(each.substring(0, each.indexOf('=')), each.substring(each.indexOf('=') + 1));
        }
        return Configuration.fromMap(settings);
    }

    /** Numbers in sequence, so that every subtask of the source visits every key in turn. */
    static final class Remainder implements KeySelector<Long, Long> {
        private final long keys;

        Remainder(long keys) {
            this.keys = keys;
        }

        @Override
        public Long getKey(Long number) {
            return Math.floorMod(number, keys);
        }
    }

    static final class Throttle implements MapFunction<Long, Long> {
        private final long pauseNanos;
        private long due;

        Throttle(int rate) {
            this.pauseNanos = 1_000_000_000L / rate;
        }

        @Override
        public Long map(Long number) throws Exception {
            long now = System.nanoTime();
            due = Math.max(due + pauseNanos, now - 100_000_000L);
            if (due > now) {
                Thread.sleep((due - now) / 1_000_000L);
            }
            return number;
        }
    }

    /** Per key a value rewritten at each visit and one written once, whose files therefore stay in use for long. */
    static final class Ledger extends KeyedProcessFunction<Long, Long, Void> implements CheckpointedFunction {
        private final int payload;
        private final String control;
        private transient ValueState<String> newest;
        private transient ValueState<String> oldest;
        private transient ListState<String> tally;
        private transient String self;
        private transient long known;
        private transient Set<Long> visited;
        private transient LongCounter verified;
        private transient LongCounter fresh;
        private transient LongCounter records;

        Ledger(int payload, String control) {
            this.payload = payload;
            this.control = control;
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            newest = context.getKeyedStateStore().getState(new ValueStateDescriptor<>("newest", Types.STRING));
            oldest = context.getKeyedStateStore().getState(new ValueStateDescriptor<>("oldest", Types.STRING));
            tally = context.getOperatorStateStore().getListState(
                    new ListStateDescriptor<>("tally", new HoldSerializer(control)));
            self = UUID.randomUUID().toString();
            visited = new HashSet<>();
            known = 0;
            for (String line : tally.get()) {
                known += Long.parseLong(line.split(" ")[1]);
            }
            count("restored").add(known);
            verified = count("verified");
            fresh = count("fresh");
            records = count("records");
        }

        private LongCounter count(String name) {
            LongCounter counter = new LongCounter();
            getRuntimeContext().addAccumulator(name, counter);
            return counter;
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            tally.update(Collections.singletonList(self + " " + known));
        }

        @Override
        public void processElement(Long number, Context context, Collector<Void> out) throws Exception {
            long key = context.getCurrentKey();
            String was = newest.value();
            long visits = was == null ? 0 : check(key, was);
            if (visited.add(key)) {
                (visits == 0 ? fresh : verified).add(1L);
            }
            if (visits == 0) {
                known++;
                oldest.update(entry(key, 0));
            }
            newest.update(entry(key, visits + 1));
            records.add(1L);
        }

        private long check(long key, String was) throws Exception {
            long visits = Long.parseLong(was.substring(0, was.indexOf(' ')));
            if (!was.equals(entry(key, visits)) || !entry(key, 0).equals(oldest.value())) {
                throw new IllegalStateException("the state of key " + key + " is not what was written");
            }
            return visits;
        }

        private String entry(long key, long visits) {
            Random random = new Random(key * 1_000_003L + visits);
            StringBuilder text = new StringBuilder().append(visits).append(' ');
            for (int i = 0; i < payload; i++) {
                text.append((char) ('a' + random.nextInt(26)));
            }
            return text.toString();
        }
    }

    /**
     * A string serializer that waits while the control file "hold" is there.
     *
     * <p>Flink writes operator state in the asynchronous part of a snapshot, after the same subtask's keyed state went to
     * storage and before the subtask acknowledges. Each waiting subtask leaves a file "held-..." beside "hold".
     */
    public static final class HoldSerializer extends TypeSerializerSingleton<String> {
        private static final long serialVersionUID = 1L;
        private static final long HOLD_LIMIT_MILLIS = 1_800_000;
        private final String control;

        public HoldSerializer() {
            this("");
        }

        HoldSerializer(String control) {
            this.control = control;
        }

        @Override
        public void serialize(String line, DataOutputView out) throws IOException {
            File hold = new File(control, "hold");
            if (!control.isEmpty() && hold.exists()) {
                wait(hold, new File(control, "held-" + line.split(" ")[0]));
            }
            StringSerializer.INSTANCE.serialize(line, out);
        }

        private static void wait(File hold, File mark) throws IOException {
            Files.write(mark.toPath(), new byte[0]);
            long end = System.currentTimeMillis() + HOLD_LIMIT_MILLIS;
            try {
                while (hold.exists() && System.currentTimeMillis() < end) {
                    Thread.sleep(40);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted while held", e);
            }
        }

        @Override
        public boolean isImmutableType() {
            return true;
        }

        @Override
        public String createInstance() {
            return "";
        }

        @Override
        public String copy(String from) {
            return from;
        }

        @Override
        public String copy(String from, String reuse) {
            return from;
        }

        @Override
        public int getLength() {
            return -1;
        }

        @Override
        public String deserialize(DataInputView in) throws IOException {
            return StringSerializer.INSTANCE.deserialize(in);
        }

        @Override
        public String deserialize(String reuse, DataInputView in) throws IOException {
            return deserialize(in);
        }

        @Override
        public void copy(DataInputView in, DataOutputView out) throws IOException {
            StringSerializer.INSTANCE.copy(in, out);
        }

        @Override
        public TypeSerializerSnapshot<String> snapshotConfiguration() {
            return new Snapshot();
        }

        public static final class Snapshot extends SimpleTypeSerializerSnapshot<String> {
            public Snapshot() {
                super(HoldSerializer::new);
            }
        }
    }
}
