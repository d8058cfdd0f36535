import pytest

from explorer.inference import timing


class FakeMachine:
    """A clock that only calls move: `call(seconds)` gives a callable that takes so long and notes what it was given."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log: list[tuple[str, object]] = []

    def clock(self) -> float:
        return self.now

    def call(self, name: str, seconds: float) -> timing.Call:
        def run(value: object) -> None:
            self.log.append((name, value))
            self.now += seconds

        return run


def test_every_round_times_each_call_once_on_the_same_input() -> None:
    machine = FakeMachine()
    calls = [machine.call("a", 1.0), machine.call("b", 2.0), machine.call("c", 4.0)]
    seconds = timing.interleaved(calls, ["x", "y"], rounds=6, calls_per_sample=1, seed=0, clock=machine.clock)
    assert seconds.tolist() == [[1.0, 2.0, 4.0]] * 6
    groups = [machine.log[start : start + 6] for start in range(0, 36, 6)]
    assert all(sorted(name for name, _ in group) == ["a", "a", "b", "b", "c", "c"] for group in groups)
    assert [group[0][1] for group in groups] == ["x", "y"] * 3
    assert all(len({value for _, value in group}) == 1 for group in groups)


def test_the_order_within_a_round_changes_and_repeats_with_the_seed() -> None:
    def orders(seed: int) -> list[tuple[str, ...]]:
        machine = FakeMachine()
        calls = [machine.call(name, 1.0) for name in "abc"]
        timing.interleaved(calls, [0], rounds=20, calls_per_sample=1, seed=seed, clock=machine.clock)
        names = [name for name, _ in machine.log[::2]]
        return [tuple(names[start : start + 3]) for start in range(0, 60, 3)]

    assert len(set(orders(0))) > 3
    assert orders(0) == orders(0)
    assert orders(0) != orders(1)


def test_several_calls_make_one_sample_and_the_time_is_of_one_call() -> None:
    machine = FakeMachine()
    seconds = timing.interleaved([machine.call("a", 3.0)], [0], 2, calls_per_sample=5, seed=0, clock=machine.clock)
    assert seconds.tolist() == [[3.0], [3.0]]
    assert len(machine.log) == 12


def test_what_another_call_left_in_the_caches_is_not_timed() -> None:
    machine = FakeMachine()
    last = ""

    def cold_first(name: str) -> timing.Call:
        def run(value: object) -> None:
            nonlocal last
            machine.now += 1.0 if last == name else 10.0
            last = name

        return run

    seconds = timing.interleaved([cold_first("a"), cold_first("b")], [0], 10, 2, seed=0, clock=machine.clock)
    assert seconds.tolist() == [[1.0, 1.0]] * 10


def test_each_round_is_reported() -> None:
    done: list[int] = []
    timing.interleaved([lambda value: None], [0], 4, 1, seed=0, on_round=done.append)
    assert done == [1, 2, 3, 4]


@pytest.mark.parametrize(("fastest", "expected"), [(1e-3, 1), (60e-6, 1), (20e-6, 3), (1.1e-6, 46)])
def test_short_calls_are_batched_to_fill_a_sample(fastest: float, expected: int) -> None:
    machine = FakeMachine()
    medians = timing.warm_up([machine.call("a", fastest), machine.call("b", 1.0)], [0], seed=0, clock=machine.clock)
    assert medians == pytest.approx([fastest, 1.0])
    assert timing.calls_per_sample(medians) == expected


def test_the_warm_up_goes_on_until_the_calls_are_steady() -> None:
    machine = FakeMachine()
    calls = 0

    def warming(value: object) -> None:
        nonlocal calls
        calls += 1
        machine.now += 0.01 if calls <= 30 else 0.001

    assert timing.warm_up([warming], [0], seed=0, clock=machine.clock) == pytest.approx([0.001])
    assert calls == 80


def test_the_warm_up_ends_after_its_time_when_nothing_gets_steady() -> None:
    machine = FakeMachine()
    step = 0.1

    def slower_and_slower(value: object) -> None:
        nonlocal step
        step *= 1.05
        machine.now += step

    timing.warm_up([slower_and_slower], [0], seed=0, clock=machine.clock)
    assert timing.WARM_UP_MAX_SECONDS <= machine.now < 4 * timing.WARM_UP_MAX_SECONDS
