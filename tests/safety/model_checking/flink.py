"""What Flink does, one step at a time, as the theorems of gc/RULES.md rest on it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from safety.model_checking.world import (
    ACKNOWLEDGED,
    PRIVATE,
    SNAPPED,
    UPLOADED,
    Entry,
    File,
    Flight,
    Handles,
    Job,
    Part,
    Place,
    Rest,
    Retained,
    Root,
    Task,
    Upload,
    World,
    next_instant,
    told_root,
)


class Version(Enum):
    """Release lines that treat a second upload of one table differently (2.2)."""

    V14 = "1.14"
    V15 = "1.15"
    V16 = "1.16-1.20"
    V20 = "2.0-2.3"

    @property
    def has_table_keys(self) -> bool:
        """Return whether the registry's key is the table, not the physical file."""
        return self in {Version.V14, Version.V15}


class Mode(Enum):
    """How a job takes over another one's checkpoint (3)."""

    CLAIM = "CLAIM"
    NO_CLAIM = "NO_CLAIM"
    LEGACY = "LEGACY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """How far the exploration goes."""

    version: Version = Version.V16  # of Flink
    checkpoints: int = 3  # highest id that a job may issue
    concurrent: int = 1  # checkpoints that may be pending at once
    retained: int = 1  # members of the completed store
    tasks: int = 1  # subtasks with files of their own; table t is task ``t % tasks``'s
    changes: int = 0  # tables that appear or disappear
    deaths: int = 0  # JobManagers and TaskManagers that die
    aborts: int = 0  # checkpoints that time out
    has_private: bool = False  # each checkpoint has a file that no registry knows
    has_late: bool = False  # acknowledgements and uploads may come after the checkpoint's end
    keeps_files: bool = True  # Flink's own deletions of files always fail: a superset for safety
    keeps_roots: bool = False  # Flink deletes subsumed ``_metadata`` at any later time, or never
    is_split: bool = False  # ``_metadata`` is written before the completed store knows of it
    has_cache: bool = False  # REST answers may be old
    # A job may be started again without state, its ids from 1 (fixed job id)
    has_reset: bool = False
    restores: tuple[tuple[int, int, Mode], ...] = ()  # new job, old job, mode: may happen once each


Steps = Iterator[tuple[str, World]]


def fresh_job(scope: Scope) -> Job:
    tasks = tuple(Task((each,), -1, ()) for each in range(scope.tasks))
    return Job(is_running=True, tasks=tasks, next_table=scope.tasks)


def steps(world: World, scope: Scope) -> Steps:
    for index, job in enumerate(world.jobs):
        if job.is_running:
            yield from _of_job(world, index, job, scope)
    for new, old, mode in scope.restores:
        if not world.jobs[new].is_running:
            yield from _restores(world, new, old, mode)
    if scope.keeps_roots:
        yield from _unlinked(world)


def _of_job(world: World, index: int, job: Job, scope: Scope) -> Steps:  # noqa: C901 - the list of what may happen
    name = f"{'ABC'[index]}:"
    if job.following <= scope.checkpoints and len(job.flights) < scope.concurrent:
        yield f"{name} trigger {job.following}", _trigger(world, index, job, scope)
    for flight in job.flights:
        yield from _progress(world, index, flight, scope)
    for number, task in enumerate(job.tasks):
        for upload in task.uploads:
            if upload.is_completed and upload.number > task.base:
                label = f"{name} task {number} hears that {upload.number} is complete"
                yield label, _noticed(world, index, number, upload.number)
    if world.changes < scope.changes:
        yield from _changes(world, index, job, name)
    if world.deaths < scope.deaths and job.store:
        died = world._replace(deaths=world.deaths + 1)
        yield f"{name} JobManager dies, restart", fail_over(died, index, scope)
        yield f"{name} TaskManager dies, restart", _restart_tasks(died, index, scope)
    if scope.has_reset and job.store and world.deaths == 0:
        yield f"{name} started again without state", _reset(world, index, job)
    for late in job.late:
        yield from _late(world, index, job, late, scope=scope)
    if scope.has_cache and job.cached != (now := rest_of(job)):
        yield f"{name} REST cache is renewed", world.with_job(index, cached=now)


def _changes(world: World, index: int, job: Job, name: str) -> Steps:
    """Yield a flush (a table appears) and compactions (one disappears for ever)."""
    changed = world._replace(changes=world.changes + 1)
    for number, task in enumerate(job.tasks):
        if job.next_table % len(job.tasks) == number:
            tables = (*task.tables, job.next_table)
            tasks = _put(job.tasks, number, task._replace(tables=tables))
            yield (
                f"{name} table {job.next_table} appears",
                changed.with_job(index, tasks=tasks, next_table=job.next_table + 1),
            )
        for table in task.tables if len(task.tables) > 1 else ():
            tables = tuple(each for each in task.tables if each != table)
            tasks = _put(job.tasks, number, task._replace(tables=tables))
            yield f"{name} table {table} disappears", changed.with_job(index, tasks=tasks)


def _progress(world: World, index: int, flight: Flight, scope: Scope) -> Steps:
    name = f"{'ABC'[index]}:"
    number = flight.number
    for task, part in enumerate(flight.parts):
        if part.state == SNAPPED:
            label = f"{name} task {task} uploads for {number}"
            yield label, _uploaded(world, index, flight, task)
        elif part.state == UPLOADED:
            label = f"{name} task {task} acknowledges {number}"
            yield label, _acknowledged(world, index, flight, task, scope=scope)
    if all(part.state == ACKNOWLEDGED for part in flight.parts):
        if scope.is_split and flight.written < 0:
            yield f"{name} _metadata of {number} is written", _written(world, index, flight)[0]
        else:
            yield f"{name} {number} completes", complete(world, index, flight, scope)
    if world.aborts < scope.aborts and flight.written < 0:
        aborted = world._replace(aborts=world.aborts + 1)
        yield f"{name} {number} is aborted", _ended(aborted, index, (number,), scope)


def _trigger(world: World, index: int, job: Job, scope: Scope) -> World:
    """Issue an id; every task takes its snapshot at once, upon what it knows to be complete."""
    number, at = job.following, next_instant(world)
    parts, tasks = [], []
    for task_number, task in enumerate(job.tasks):
        base = {} if job.is_full else _base(task, job, scope)
        handles = tuple((t, base.get(t, (index, number, t))) for t in task.tables)
        fresh = tuple(file for t, file in handles if t not in base)
        if scope.has_private and task_number == 0:
            private = (index, number, PRIVATE)
            parts.append(Part(SNAPPED, (*handles, (PRIVATE, private)), (*fresh, private)))
        else:
            parts.append(Part(SNAPPED, handles, fresh))
        uploads = (*task.uploads, Upload(number, is_completed=False, handles=handles))
        tasks.append(task._replace(uploads=uploads))
    flight = Flight(number, at + world.ahead, tuple(parts))
    flights = (*job.flights, flight)
    return world.with_job(index, following=number + 1, flights=flights, tasks=tuple(tasks))


def _base(task: Task, job: Job, scope: Scope) -> dict[int, File]:
    """Return the uploads to build upon; 2.x leaves out what a later upload brought anew."""
    found = {each.number: dict(each.handles) for each in task.uploads}
    base = found.get(task.base, {})
    if scope.version is Version.V20:
        done = {
            flight.number
            for flight in job.flights
            if any(part.state != SNAPPED for part in flight.parts)
        }
        for number, handles in found.items():
            if number > task.base and (number in done or number not in _numbers(job)):
                base = {t: f for t, f in base.items() if handles.get(t, f) == f}
    return base


def _numbers(job: Job) -> set[int]:
    return {flight.number for flight in job.flights}


def _uploaded(world: World, index: int, flight: Flight, task: int) -> World:
    part = flight.parts[task]
    world = _stored(world, part.fresh)
    return _with_flight(
        world, index, flight._replace(parts=_put(flight.parts, task, part._replace(state=UPLOADED)))
    )


def _stored(world: World, fresh: tuple[File, ...]) -> World:
    at = next_instant(world)
    return world._replace(files=(*world.files, *((file, at) for file in fresh)))


def _acknowledged(world: World, index: int, flight: Flight, task: int, *, scope: Scope) -> World:
    """Register first; a placeholder without an entry ends the checkpoint (the hinge of T2)."""
    part = flight.parts[task]
    if scope.version is not Version.V14:
        world, part = _registered(world, index, flight.number, part, scope=scope)
        if part is None:
            return _ended(world, index, (flight.number,), scope)
    parts = _put(flight.parts, task, part._replace(state=ACKNOWLEDGED))
    return _with_flight(world, index, flight._replace(parts=parts))


def _registered(
    world: World, index: int, number: int, part: Part, *, scope: Scope
) -> tuple[World, Part | None]:
    entries = {entry.key: entry for entry in world.jobs[index].registry}
    handles: list[tuple[int, File]] = []
    dropped: list[File] = []
    for table, file in part.handles:
        key = table if scope.version.has_table_keys else file
        known = entries.get(key)
        if table == PRIVATE:
            handles.append((table, file))
            continue
        if known is None and file not in part.fresh:
            return world, None
        if known is None or (file in part.fresh and known.file != file and not known.is_confirmed):
            if known is not None:
                dropped.append(known.file)
            used = number if known is None else max(number, known.used)
            entries[key] = Entry(key, file, used, is_confirmed=False)
        else:
            if known.file != file and file in part.fresh:
                dropped.append(file)
            entries[key] = known._replace(used=max(number, known.used))
        handles.append((table, entries[key].file))
    world = world.with_job(index, registry=tuple(sorted(entries.values())))
    return _dropped(world, dropped, scope), part._replace(handles=tuple(handles))


def _written(world: World, index: int, flight: Flight) -> tuple[World, Root]:
    """Write ``_metadata``."""
    at = next_instant(world)
    handles = tuple(sorted(each for part in flight.parts for each in part.handles))
    root = Root(index, flight.number, handles, at)
    world = _with_flight(world, index, flight._replace(written=at))
    return world._replace(roots=(*world.roots, root)), root


def complete(world: World, index: int, flight: Flight, scope: Scope) -> World:
    """Finish a checkpoint: store, subsume, unregister, end older ones."""
    if scope.version is Version.V14:
        resolved = _resolved(world, index, flight, scope)
        if resolved is None:
            return _ended(world, index, (flight.number,), scope)
        world, flight = resolved
    if flight.written < 0:
        world, _ = _written(world, index, flight)
    job = world.jobs[index]
    number = flight.number
    store = (*job.store, Retained((index, number), is_claimed=True))
    subsumed, store = store[: -scope.retained], store[-scope.retained :]
    older = tuple(each.number for each in job.flights if each.number < number)
    world = world.with_job(
        index,
        store=store,
        flights=tuple(each for each in job.flights if each.number != number),
        tasks=tuple(_confirmed(task, number) for task in job.tasks),
        latest=number,
        shown=tuple(n for n in (*job.shown, number) if (index, n) in {r.place for r in store}),
        is_full=False,
    )
    world = _unregistered(world, index, number, scope)
    world = _discarded(world, subsumed, scope)
    return _ended(world, index, older, scope)


def _confirmed(task: Task, number: int) -> Task:
    uploads = tuple(
        each._replace(is_completed=True) if each.number == number else each for each in task.uploads
    )
    return task._replace(uploads=uploads)


def _resolved(
    world: World, index: int, flight: Flight, scope: Scope
) -> tuple[World, Flight] | None:
    """Return what <= 1.14 does at completion: the registry is what retained checkpoints name."""
    held = {
        table: file
        for each in world.jobs[index].store
        if (root := world.root(each.place)) is not None
        for table, file in root.handles
        if table != PRIVATE
    }
    parts, dropped = [], []
    for part in flight.parts:
        if any(t not in held and f not in part.fresh for t, f in part.handles):
            return None
        dropped += [f for t, f in part.handles if t in held and held[t] != f]
        handles = tuple((t, held.get(t, f)) for t, f in part.handles)
        parts.append(part._replace(handles=handles))
    flight = flight._replace(parts=tuple(parts))
    return _dropped(_with_flight(world, index, flight), dropped, scope), flight


def _unregistered(world: World, index: int, number: int, scope: Scope) -> World:
    """Drop the entries that nothing at or above the lowest retained checkpoint used."""
    job = world.jobs[index]
    lowest = min((r.place[1] for r in job.store if r.is_claimed), default=number)
    named = {file for root in world.roots if root.place == (index, number) for file in root.files}
    kept = tuple(
        each._replace(is_confirmed=each.is_confirmed or each.file in named)
        for each in job.registry
        if each.used >= lowest
    )
    gone = {e.file for e in job.registry} - {e.file for e in kept}
    world = world.with_job(index, registry=kept)
    return _dropped(world, sorted(gone), scope)


def _discarded(world: World, subsumed: tuple[Retained, ...], scope: Scope) -> World:
    """Delete subsumed checkpoints that are the job's own or claimed: private files, then roots."""
    places = {each.place for each in subsumed if each.is_claimed}
    roots = [root for root in world.roots if root.place in places]
    private = [file for root in roots for table, file in root.handles if table == PRIVATE]
    world = _dropped(world, private, scope)
    if scope.keeps_roots:
        return world
    return world._replace(roots=tuple(each for each in world.roots if each.place not in places))


def _unlinked(world: World) -> Steps:
    """Yield the deletions of ``_metadata`` that are due, each of which may never happen."""
    kept = {each.place for job in world.jobs for each in job.store}
    kept |= {
        (index, flight.number)
        for index, job in enumerate(world.jobs)
        for flight in job.flights
        if flight.written >= 0
    }
    for root in world.roots:
        if root.place not in kept and world.jobs[root.home].is_running:
            roots = tuple(each for each in world.roots if each is not root)
            yield f"{told_root(root.place)}/_metadata is deleted", world._replace(roots=roots)


def _dropped(world: World, files: list[File], scope: Scope) -> World:
    if scope.keeps_files or not files:
        return world
    return world._replace(files=tuple(each for each in world.files if each[0] not in files))


def _noticed(world: World, index: int, number: int, base: int) -> World:
    job = world.jobs[index]
    task = job.tasks[number]
    uploads = tuple(each for each in task.uploads if each.number >= base)
    task = task._replace(base=base, uploads=uploads)
    return world.with_job(index, tasks=_put(job.tasks, number, task))


def _ended(world: World, index: int, numbers: tuple[int, ...], scope: Scope) -> World:
    """Forget pending checkpoints; what their tasks are still doing goes on, if that is modelled."""
    job = world.jobs[index]
    ended = [flight for flight in job.flights if flight.number in numbers]
    if not ended:
        return world
    late = job.late
    if scope.has_late:
        parts = [(f.number, p) for f in ended for p in f.parts if p.state != ACKNOWLEDGED]
        late = tuple(sorted((*late, *parts)))
    tasks = tuple(
        task._replace(uploads=tuple(u for u in task.uploads if u.number not in numbers))
        for task in job.tasks
    )
    flights = tuple(each for each in job.flights if each.number not in numbers)
    return world.with_job(index, flights=flights, late=late, tasks=tasks)


def _late(world: World, index: int, job: Job, late: tuple[int, Part], *, scope: Scope) -> Steps:
    """Yield what happens after a checkpoint's end: uploads nobody waits for, entries for none."""
    number, part = late
    rest = tuple(each for each in job.late if each != late)
    name = f"{'ABC'[index]}:"
    if part.state == SNAPPED:
        after = (number, part._replace(state=UPLOADED))
        stored = _stored(world, part.fresh).with_job(index, late=tuple(sorted((*rest, after))))
        yield f"{name} an upload for the dead {number} ends", stored
    else:
        forgotten = world.with_job(index, late=rest)
        if scope.version is Version.V14:
            yield f"{name} a late acknowledgement of {number} is dropped", forgotten
        else:
            after_all, _ = _registered(forgotten, index, number, part, scope=scope)
            yield f"{name} a late acknowledgement of {number} is registered", after_all


def fail_over(world: World, index: int, scope: Scope) -> World:
    """Start a new JobManager: pending ones are forgotten, the registry is that of the store."""
    job = world.jobs[index]
    entries: dict[object, Entry] = {}
    for each in job.store:
        root = world.root(each.place)
        for table, file in () if root is None else root.handles:
            key = table if scope.version.has_table_keys else file
            if table != PRIVATE:
                entries[key] = Entry(key, file, each.place[1], is_confirmed=True)
    newest = job.store[-1].place
    world = world.with_job(
        index,
        epoch=job.epoch + 1,
        late=(),
        registry=tuple(sorted(entries.values())),
        latest=-1,
        shown=(),
        restored=newest,
    )
    return _restart_tasks(world, index, scope)


def _reset(world: World, index: int, job: Job) -> World:
    """Start the job anew under its old id; its roots stay, and are nobody's."""
    tasks = tuple(Task((job.next_table + each,), -1, ()) for each in range(len(job.tasks)))
    after = Job(
        is_running=True, epoch=job.epoch + 1, tasks=tasks, next_table=job.next_table + len(tasks)
    )
    return world._replace(
        deaths=world.deaths + 1, jobs=(*world.jobs[:index], after, *world.jobs[index + 1 :])
    )


def _restart_tasks(world: World, index: int, scope: Scope) -> World:
    job = world.jobs[index]
    place = job.store[-1].place
    world = world.with_job(index, flights=(), restored=place, late=())
    return _continue_from(world, index, place, scope.tasks, is_built_upon=True)


def _continue_from(
    world: World, index: int, place: Place, tasks: int, *, is_built_upon: bool
) -> World:
    root = world.root(place)
    handles = () if root is None else tuple(each for each in root.handles if each[0] != PRIVATE)
    parts: list[Task] = []
    for number in range(tasks):
        own: Handles = tuple((t, f) for t, f in handles if t % tasks == number)
        upload = Upload(place[1], is_completed=True, handles=own)
        tables = tuple(t for t, _ in own)
        if is_built_upon:
            parts.append(Task(tables, place[1], (upload,)))
        else:
            parts.append(Task(tables, -1, ()))
    return world.with_job(index, tasks=tuple(parts))


def _restores(world: World, new: int, old: int, mode: Mode) -> Steps:
    """Yield a start of a job from each root in another one's directory."""
    for root in world.roots:
        if root.home == old:
            label = f"{'ABC'[new]}: starts from {told_root(root.place)}, {mode.value}"
            yield label, restored(world, new, root, mode)


def restored(world: World, new: int, root: Root, mode: Mode) -> World:
    """Start a job from a root that lies anywhere; ids go on behind the restored one's."""
    handles = tuple(each for each in root.handles if each[0] != PRIVATE)
    registered = () if mode is Mode.NO_CLAIM else handles
    entries = (Entry(file, file, root.number, is_confirmed=True) for _, file in registered)
    world = world.with_job(
        new,
        is_running=True,
        following=root.number + 1,
        next_table=max((t for t, _ in handles), default=-1) + 1,
        registry=tuple(sorted(entries)),
        store=(Retained(root.place, is_claimed=mode is Mode.CLAIM),),
        restored=root.place,
        is_full=mode is Mode.NO_CLAIM,
    )
    return _continue_from(world, new, root.place, 1, is_built_upon=mode is not Mode.NO_CLAIM)


def rest_of(job: Job) -> Rest:
    """Return what REST would say now."""
    held = {each.place[1] for each in job.store}
    lasting = tuple(number for number in job.shown if number in held)
    return Rest(job.is_running, job.epoch, job.latest, job.restored, lasting)


def _with_flight(world: World, index: int, flight: Flight) -> World:
    flights = tuple(
        flight if each.number == flight.number else each for each in world.jobs[index].flights
    )
    return world.with_job(index, flights=flights)


def _put(values: tuple, index: int, value: object) -> tuple:
    return (*values[:index], value, *values[index + 1 :])
