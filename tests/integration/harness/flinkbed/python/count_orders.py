"""A PyFlink job whose state is declared on fields; run by ``test_pyflink_bridge_live.py``."""

import sys

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment

from flinkstate.declarations import ListState, MapState, ValueState, keyed_state
from flinkstate.declarations.pyflink_bridge import open_state


class Count(KeyedProcessFunction):
    """Counts words by key."""

    seen: ValueState[int] = keyed_state("orders-seen")
    names: ListState[str] = keyed_state()
    by_name: MapState[str, int] = keyed_state("by-name")

    def open(self, runtime_context: RuntimeContext) -> None:
        open_state(self, runtime_context)

    def process_element(self, value, ctx):  # noqa: ARG002 - PyFlink's signature
        n = (self.seen.value() or 0) + 1
        self.seen.update(n)
        self.names.add(value[1])
        self.by_name.put(value[1], (self.by_name.get(value[1]) or 0) + 1)
        yield f"{value[0]} {n} {sorted(self.names.get())} {sorted(self.by_name.items())}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.set_python_executable(sys.executable)
data = [(k, w) for w in ("a", "b", "a") for k in ("x", "y")]
(
    env.from_collection(data, type_info=Types.TUPLE([Types.STRING(), Types.STRING()]))
    .key_by(lambda each: each[0], key_type=Types.STRING())
    .process(Count(), output_type=Types.STRING())
    .uid("count-orders")
    .print()
)
env.execute("bridge")
