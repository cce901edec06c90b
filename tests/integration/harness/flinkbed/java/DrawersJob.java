import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * A job of which each version declares other state.
 *
 * <p>Arguments: --version 1|2|3|6 --keys K --lazy true|false --settings S, others are passed over. It only uses API that is the same from Flink 1.15 to
 * 2.3.
 *
 * <p>Version 1: operator "chest" with keyed states "labels" and "forgotten" and operator states "kept" (split) and "dropped" (union);
 * operator "attic" with operator state "boxes" (union). Version 2: no "attic", and of "chest" only "labels" and "kept". Version 3 as
 * version 2, with a second source whose uid is "attic". Version 6: as version 3, and "numbers" is no source any more. With --lazy true
 * "labels" is registered with the first record.
 *
 * <p>Accumulators, all counted from the start of the attempt: "kept", "dropped", "boxes" (restored elements that are what was written),
 * "wrong" (those that are not), "labels" (keys whose restored label was read and found right), "fresh" (keys that had none), "remembered" (keys
 * whose "forgotten" was restored).
 */
public final class DrawersJob {

    private static final int ELEMENTS = 5;

    public static void main(String[] argv) throws Exception {
        Map<String, String> args = new HashMap<>();
        for (int i = 0; i + 1 < argv.length; i += 2) {
            args.put(argv[i], argv[i + 1]);
        }
        int version = Integer.parseInt(args.get("--version"));
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(settings(args.get("--settings")));
        env.setMaxParallelism(32);
        DataStream<Long> numbers = source(env, version == 6 ? "numbers-6" : "numbers");
        if (version == 6) {
            numbers = numbers.map(new Same()).name("numbers").uid("numbers");
        }
        if (version == 1) {
            numbers = numbers.map(new Attic()).name("attic").uid("attic");
        } else if (version == 3 || version == 6) {
            numbers = numbers.union(source(env, "attic"));
        }
        long keys = Long.parseLong(args.get("--keys"));
        numbers.keyBy(number -> Math.floorMod(number, keys), Types.LONG)
                .process(new Chest(version == 1, Boolean.parseBoolean(args.get("--lazy")))).name("chest").uid("chest");
        env.execute("drawers");
    }

    private static DataStream<Long> source(StreamExecutionEnvironment env, String uid) {
        return env.fromSource(new NumberSequenceSource(0, Long.MAX_VALUE / 4), WatermarkStrategy.noWatermarks(), uid).uid(uid)
                .map(new Throttle()).name(uid + " throttled").uid(uid + "-throttled");
    }

    /** Flink 1.15 and 1.16 take a job's settings from nobody else than the job: "key=value" joined by semicolons. */
    private static Configuration settings(String text) {
        Map<String, String> settings = new HashMap<>();
        for (String each : text == null ? new String[0] : text.split(";")) {
            settings.put(each.substring(0, each.indexOf('=')), each.substring(each.indexOf('=') + 1));
        }
        return Configuration.fromMap(settings);
    }

    private static List<String> elements(String name) {
        List<String> elements = new ArrayList<>();
        for (int i = 0; i < ELEMENTS; i++) {
            elements.add(name + " " + i);
        }
        return elements;
    }

    /** Counts what a state was restored with. */
    private static void check(String name, ListState<String> state, LongCounter right, LongCounter wrong) throws Exception {
        List<String> known = elements(name);
        for (String element : state.get()) {
            (known.contains(element) ? right : wrong).add(1L);
        }
    }

    /** Has no state, and no coordinator. */
    static final class Same implements MapFunction<Long, Long> {
        @Override
        public Long map(Long number) {
            return number;
        }
    }

    /** Slower than what follows, so that no checkpoint waits behind records that are on their way. */
    static final class Throttle implements MapFunction<Long, Long> {
        @Override
        public Long map(Long number) throws Exception {
            Thread.sleep(5);
            return number;
        }
    }

    static final class Attic extends RichMapFunction<Long, Long> implements CheckpointedFunction {
        private transient ListState<String> boxes;

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            boxes = context.getOperatorStateStore().getUnionListState(new ListStateDescriptor<>("boxes", Types.STRING));
            LongCounter right = new LongCounter();
            LongCounter wrong = new LongCounter();
            getRuntimeContext().addAccumulator("boxes", right);
            getRuntimeContext().addAccumulator("wrong", wrong);
            check("boxes", boxes, right, wrong);
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            boxes.update(elements("boxes"));
        }

        @Override
        public Long map(Long number) {
            return number;
        }
    }

    static final class Chest extends KeyedProcessFunction<Long, Long, Void> implements CheckpointedFunction {
        private final boolean isOld;
        private final boolean isLazy;
        private transient KeyedStateStore keyed;
        private transient ValueState<String> labels;
        private transient ValueState<String> forgotten;
        private transient ListState<String> kept;
        private transient ListState<String> dropped;
        private transient Set<Long> visited;
        private transient LongCounter right;
        private transient LongCounter wrong;
        private transient LongCounter fresh;
        private transient LongCounter remembered;

        Chest(boolean isOld, boolean isLazy) {
            this.isOld = isOld;
            this.isLazy = isLazy;
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            visited = new HashSet<>();
            right = count("labels");
            wrong = count("wrong");
            fresh = count("fresh");
            remembered = count("remembered");
            keyed = context.getKeyedStateStore();
            labels = isLazy ? null : keyed.getState(new ValueStateDescriptor<>("labels", Types.STRING));
            kept = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("kept", Types.STRING));
            check("kept", kept, count("kept"), wrong);
            if (isOld) {
                forgotten = context.getKeyedStateStore().getState(new ValueStateDescriptor<>("forgotten", Types.STRING));
                dropped = context.getOperatorStateStore().getUnionListState(new ListStateDescriptor<>("dropped", Types.STRING));
                check("dropped", dropped, count("dropped"), wrong);
            }
        }

        private LongCounter count(String name) {
            LongCounter counter = new LongCounter();
            getRuntimeContext().addAccumulator(name, counter);
            return counter;
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            kept.update(elements("kept"));
            if (isOld) {
                dropped.update(elements("dropped"));
            }
        }

        @Override
        public void processElement(Long number, Context context, Collector<Void> out) throws Exception {
            long key = context.getCurrentKey();
            labels = labels == null ? keyed.getState(new ValueStateDescriptor<>("labels", Types.STRING)) : labels;
            String label = labels.value();
            if (visited.add(key)) {
                remembered.add(isOld && forgotten.value() != null ? 1L : 0L);
                (label == null ? fresh : label.equals("label " + key) ? right : wrong).add(1L);
            }
            labels.update("label " + key);
            if (isOld) {
                forgotten.update("forgotten " + key);
            }
        }
    }
}
