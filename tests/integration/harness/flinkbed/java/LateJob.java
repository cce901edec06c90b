import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.triggers.TriggerResult;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;
import org.apache.flink.util.Collector;

/**
 * A job that registers keyed state late. It only uses API that is the same from Flink 1.15 to 2.3.
 *
 * <p>Arguments: --keys K --late FILE --old true|false --uid-hash HASH --unkeyed true|false --settings S, others are passed over.
 *
 * <p>Operator "late labels" has the keyed state "labels", with --old true also "forgotten"; operator "late windows" the state "fires" of
 * its trigger and the state "sums" of each window. With --late FILE none of them is registered before FILE exists. With --uid-hash "late labels" has
 * that hash and no uid. With --unkeyed true the operator of its uid has no keys.
 *
 * <p>Accumulators: "labels", "sums" (keys whose value was read and found right), "wrong", "fresh" (keys that had none), "passed" (keys of
 * which a record passed).
 */
public final class LateJob {

    public static void main(String[] argv) throws Exception {
        Map<String, String> args = new HashMap<>();
        for (int i = 0; i + 1 < argv.length; i += 2) {
            args.put(argv[i], argv[i + 1]);
        }
        String late = args.get("--late");
        long keys = Long.parseLong(args.get("--keys"));
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(settings(args.get("--settings")));
        env.setMaxParallelism(32);
        DataStream<Long> all = env.fromSource(
                        new NumberSequenceSource(0, Long.MAX_VALUE / 4), WatermarkStrategy.noWatermarks(), "numbers")
                .uid("numbers").map(new Throttle()).name("throttle").uid("throttle");
        KeyedStream<Long, Long> numbers = all.keyBy(number -> Math.floorMod(number, keys), Types.LONG);
        SingleOutputStreamOperator<?> labels = Boolean.parseBoolean(args.get("--unkeyed"))
                ? all.map(new Throttle()).name("no labels")
                : numbers.process(new Labels(late, Boolean.parseBoolean(args.get("--old")))).name("late labels");
        if (args.containsKey("--uid-hash")) {
            labels.setUidHash(args.get("--uid-hash"));
        } else {
            labels.uid("labels");
        }
        numbers.window(GlobalWindows.create()).trigger(new Fires(late)).process(new Sums()).name("late windows").uid("windows");
        env.execute("late");
    }

    /** Flink 1.15 and 1.16 take a job's settings from nobody else than the job: "key=value" joined by semicolons. */
    private static Configuration settings(String text) {
        Map<String, String> settings = new HashMap<>();
        for (String each : text == null ? new String[0] : text.split(";")) {
            settings.put(each.substring(0, each.indexOf('=')), each.substring(each.indexOf('=') + 1));
        }
        return Configuration.fromMap(settings);
    }

    private static boolean isOpen(String late) {
        return late == null || Files.exists(Paths.get(late));
    }

    private static ValueStateDescriptor<String> text(String name) {
        return new ValueStateDescriptor<>(name, Types.STRING);
    }

    /** Counts each key once, by what its state holds. */
    private static final class Count {
        private final Set<Long> seen = new HashSet<>();
        private final String state;
        private final LongCounter right;
        private final LongCounter wrong;
        private final LongCounter fresh;

        Count(RuntimeContext context, String state) {
            this.state = state;
            this.right = context.getLongCounter(state);
            this.wrong = context.getLongCounter("wrong");
            this.fresh = context.getLongCounter("fresh");
        }

        void visit(long key, ValueState<String> held) throws Exception {
            String value = held.value();
            if (seen.add(key)) {
                (value == null ? fresh : value.equals(state + " " + key) ? right : wrong).add(1L);
            }
            held.update(state + " " + key);
        }
    }

    static final class Throttle implements MapFunction<Long, Long> {
        @Override
        public Long map(Long number) throws Exception {
            Thread.sleep(5);
            return number;
        }
    }

    static final class Labels extends KeyedProcessFunction<Long, Long, Void> {
        private final String late;
        private final boolean isOld;
        private transient Set<Long> passed;
        private transient Count count;

        Labels(String late, boolean isOld) {
            this.late = late;
            this.isOld = isOld;
        }

        @Override
        public void processElement(Long number, Context context, Collector<Void> out) throws Exception {
            passed = passed == null ? new HashSet<>() : passed;
            long key = context.getCurrentKey();
            if (passed.add(key)) {
                getRuntimeContext().getLongCounter("passed").add(1L);
            }
            if (!isOpen(late)) {
                return;
            }
            count = count == null ? new Count(getRuntimeContext(), "labels") : count;
            count.visit(key, getRuntimeContext().getState(text("labels")));
            if (isOld) {
                getRuntimeContext().getState(text("forgotten")).update("forgotten " + key);
            }
        }
    }

    static final class Fires extends Trigger<Long, GlobalWindow> {
        private final String late;

        Fires(String late) {
            this.late = late;
        }

        @Override
        public TriggerResult onElement(Long number, long time, GlobalWindow window, TriggerContext context) throws Exception {
            if (!isOpen(late)) {
                return TriggerResult.PURGE;
            }
            context.getPartitionedState(text("fires")).update("fired");
            return TriggerResult.FIRE_AND_PURGE;
        }

        @Override
        public TriggerResult onProcessingTime(long time, GlobalWindow window, TriggerContext context) {
            return TriggerResult.CONTINUE;
        }

        @Override
        public TriggerResult onEventTime(long time, GlobalWindow window, TriggerContext context) {
            return TriggerResult.CONTINUE;
        }

        @Override
        public void clear(GlobalWindow window, TriggerContext context) {}
    }

    static final class Sums extends ProcessWindowFunction<Long, Void, Long, GlobalWindow> {
        private transient Count count;

        @Override
        public void process(Long key, Context context, Iterable<Long> numbers, Collector<Void> out) throws Exception {
            count = count == null ? new Count(getRuntimeContext(), "sums") : count;
            count.visit(key, context.windowState().getState(text("sums")));
        }
    }
}
