"""The Python text with which a script reads the data of the user's own factory."""

STREAM = '''
class RandomStream:
    """Within its block, random numbers come from a stream of their own; all others go on undisturbed after it."""

    def __init__(self, *seeds: int) -> None:
        self.seed = int(np.random.SeedSequence(list(seeds)).generate_state(1)[0])
        self.own: Any = None

    def __enter__(self) -> None:
        self.outer = self.states()
        if self.own is None:
            torch.default_generator.manual_seed(self.seed)
            np.random.seed(self.seed)
            random.seed(self.seed)
        else:
            self.restore(self.own)

    def __exit__(self, *_: object) -> None:
        self.own = self.states()
        self.restore(self.outer)

    def states(self) -> Any:
        """Those of all three generators."""
        return torch.get_rng_state(), np.random.get_state(), random.getstate()

    def restore(self, states: Any) -> None:
        """Set all three generators."""
        torch.set_rng_state(states[0])
        np.random.set_state(states[1])
        random.setstate(states[2])
'''
LOAD = '''
def load_data() -> <type>:
    """What <function> gives."""
    <loaded>
    with RandomStream(0):
        given = <call>
    train, held_out = given  ##tuple
    train, held_out = given["train"], given["validation"]  ##dict held_out
    train = given["train"]  ##dict !held_out
    train = given[0]  ##first
    train = given  ##!tuple !dict !first
    train, train_targets = <train>  ##arrays
    held_out, held_out_targets = <held>  ##arrays own
    train, train_targets = inputs_of(train), targets_of(train_targets)  ##arrays
    held_out, held_out_targets = inputs_of(held_out), targets_of(held_out_targets)  ##arrays own
    return tensors(train, train_targets), tensors(held_out, held_out_targets)  ##arrays own
    return split(train, train_targets)  ##arrays held_out !own
    return tensors(train, train_targets)  ##arrays !held_out
    return train, held_out  ##!arrays own
    return split(train)  ##!arrays held_out !own
    return train  ##!arrays !held_out
'''
SPLIT_MAP = '''
def split(data: Any) -> tuple[Any, Any]:
    """Samples to train on and held out, the same on every run."""
    random = np.random.default_rng(0)
    held_out = np.zeros(len(data), dtype=bool)
    targets = np.asarray(data.<targets>)  ##each
    for label in np.unique(targets):  ##each
        positions = random.permutation(np.flatnonzero(targets == label))  ##each
        held_out[positions[: round(len(positions) * HELD_OUT_SHARE)]] = True  ##each
    wanted = min(len(data) - 1, max(1, round(len(data) * HELD_OUT_SHARE)))  ##all
    held_out[random.permutation(len(data))[:wanted]] = True  ##all
    return Subset(data, np.flatnonzero(~held_out).tolist()), Subset(data, np.flatnonzero(held_out).tolist())
'''
MAP = '''
def batches(train: Any, epoch: int) -> Iterator[Any]:
    """The batches of an epoch, in an order of its own."""  ##!several
    """The batches of an epoch, in an order of its own.  ##several
  ##several
    A last one of a single sample is left out, since batch normalization needs two.  ##several
    """  ##several
    order = torch.randperm(len(train), generator=torch.Generator().manual_seed(SEED + epoch)).tolist()
    for index, start in enumerate(range(0, len(order), BATCH_SIZE)):
        if len(order) - start > 1:  ##several
            yield place(collated(train, order[start : start + BATCH_SIZE], epoch, index))  ##several
        yield place(collated(train, order[start : start + BATCH_SIZE], epoch, index))  ##!several


def held_out_batches(held_out: Any) -> Iterator[Any]:  ##held_out
    """All of it, in order."""  ##held_out
    for index, start in enumerate(range(0, len(held_out), BATCH_SIZE)):  ##held_out
        yield place(collated(held_out, range(len(held_out))[start : start + BATCH_SIZE], 0, index))  ##held_out
  ##held_out
  ##held_out
def collated(data: Any, positions: Sequence[int], epoch: int, index: int) -> Any:
    """The samples as one batch; what reading them draws at random depends on epoch and batch alone."""
    with RandomStream(SEED, epoch, index, 0):
        return default_collate([data[position] for position in positions])
'''
LOADER = '''
def batches(train: Any, epoch: int) -> Iterator[Any]:
    """The batches of an epoch; what the loader draws at random depends on the epoch alone."""
    stream = RandomStream(SEED, epoch)
    with stream:
        for name in ("sampler", "batch_sampler", "dataset"):  ##told
            if hasattr(part := getattr(train, name, None), "set_epoch"):  ##told
                part.set_epoch(epoch)  ##told
        rest = iter(train)  ##!samples
        rest = grouped(train)  ##samples
    while True:
        with stream:
            batch = next(rest, None)
        if batch is None:
            return
        yield place(batch)


def held_out_batches(held_out: Any) -> Iterator[Any]:  ##held_out
    """All of it."""  ##held_out
    return batches(held_out, 0)  ##held_out
'''
GROUPED = '''
def grouped(samples: Any) -> Iterator[Any]:
    """Samples as batches.<alone>"""
    rest = iter(samples)
    while some := list(itertools.islice(rest, BATCH_SIZE)):
        if len(some) > 1:  ##several
            yield default_collate(some)  ##several
        yield default_collate(some)  ##!several
'''
