import java.util.Collections;
import java.util.HashMap;
import java.util.Map;

import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.v2.ListState;
import org.apache.flink.api.common.state.v2.ListStateDescriptor;
import org.apache.flink.api.common.state.v2.MapState;
import org.apache.flink.api.common.state.v2.MapStateDescriptor;
import org.apache.flink.api.common.state.v2.ValueState;
import org.apache.flink.api.common.state.v2.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * AccountJob over asynchronous keyed state (Flink 2), for which ForSt keeps its working files in the checkpoint storage.
 *
 * <p>Arguments: as AccountJob, whose parts it uses.
 */
public final class AsyncAccountJob {

    public static void main(String[] argv) throws Exception {
        Map<String, String> args = new HashMap<>();
        for (int i = 0; i + 1 < argv.length; i += 2) {
            args.put(argv[i], argv[i + 1]);
        }
        int keys = Integer.parseInt(args.get("--keys"));
        String control = args.get("--control");
        String audit = args.get("--audit");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setMaxParallelism(32);
        AccountJob.numbers(env, keys, Integer.parseInt(args.get("--rate")), audit != null)
                .map(new AccountJob.Gates(control, audit)).name("gates").uid("gates")
                .keyBy(new LedgerJob.Remainder(keys))
                .enableAsyncState()
                .process(new Accounts(Integer.parseInt(args.get("--payload")), control, audit)).name("accounts").uid("accounts");
        env.execute("accounts");
    }

    static final class Accounts extends AccountJob.Accounts {
        private static final long serialVersionUID = 1L;

        Accounts(int payload, String control, String audit) {
            super(payload, control, audit);
        }

        @Override
        AccountJob.Book book(KeyedStateStore store) {
            return new AsyncBook(store);
        }
    }

    /** Waits for each answer: the job is about files, not about speed. */
    private static final class AsyncBook implements AccountJob.Book {
        private final ValueState<String> account;
        private final ValueState<String> opening;
        private final ListState<Long> entries;
        private final MapState<Long, Long> perLane;

        AsyncBook(KeyedStateStore store) {
            account = store.getValueState(new ValueStateDescriptor<>("account", Types.STRING));
            opening = store.getValueState(new ValueStateDescriptor<>("opening", Types.STRING));
            entries = store.getListState(new ListStateDescriptor<>("entries", Types.LONG));
            perLane = store.getMapState(new MapStateDescriptor<>("per-lane", Types.LONG, Types.LONG));
        }

        @Override
        public String account() {
            return account.value();
        }

        @Override
        public void account(String statement) {
            account.update(statement);
        }

        @Override
        public String opening() {
            return opening.value();
        }

        @Override
        public void opening(String statement) {
            opening.update(statement);
        }

        @Override
        public Iterable<Long> entries() {
            Iterable<Long> found = entries.get();
            return found == null ? Collections.emptyList() : found;
        }

        @Override
        public void entry(long count) {
            entries.add(count);
        }

        @Override
        public Iterable<Long> visits() {
            return perLane.values();
        }

        @Override
        public void visited(long lane) {
            Long before = perLane.get(lane);
            perLane.put(lane, before == null ? 1 : before + 1);
        }
    }
}
