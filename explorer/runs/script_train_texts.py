"""The Python text of a script's training: loss, validation, and the steps and epochs around them."""

PLACE = '''
def place(batch: Any) -> Any:
    """The same on the device; 64-bit floats become 32-bit."""
    if isinstance(batch, Tensor):
        return (batch.float() if batch.dtype == torch.float64 else batch).to(DEVICE)
    if isinstance(batch, dict):
        return {name: place(value) for name, value in batch.items()}
    return type(batch)(place(value) for value in batch) if isinstance(batch, list | tuple) else batch
'''
PLACE_PAIR = '''
def place(pair: Pair) -> Pair:
    """The same on the device."""
    return pair[0].to(DEVICE), pair[1].to(DEVICE)
'''
STEPS_PER_EPOCH = '''
def steps_per_epoch(train: Any) -> int:
    """Updates of the weights in an epoch."""
    full, rest = divmod(len(train<inputs>), BATCH_SIZE)  ##!loader several
    return full + (rest > 1)  ##!loader several !accumulate
    return -(-(full + (rest > 1)) // ACCUMULATE_BATCHES)  ##!loader several accumulate
    return len(train<inputs>)  ##!loader !several !accumulate
    return -(-len(train<inputs>) // ACCUMULATE_BATCHES)  ##!loader !several accumulate
    return len(train)  ##loader !accumulate
    return -(-len(train) // ACCUMULATE_BATCHES)  ##loader accumulate
'''
LOSS = '''
def loss_of(model: nn.Module, batch: Any) -> Tensor:
    """The loss that a step lowers."""
    given = own_step(model, batch)  ##own_step
    return (given["loss"] if isinstance(given, dict) else given).reshape(())  ##own_step
    inputs, targets = batch  ##!own_step
    return F.cross_entropy(model(inputs), targets<smoothing>)  ##!own_step classes
    outputs = model(inputs)  ##!own_step !classes
    return F.mse_loss(outputs, targets.reshape(outputs.shape))  ##!own_step !classes
'''
SIZE = '''
def size_of(batch: Any) -> int:
    """Samples in a batch: the length of its first tensor."""
    return len(batch[0])  ##arrays
    while not isinstance(batch, torch.Tensor):  ##!arrays
        batch = next(iter(batch.values() if isinstance(batch, dict) else batch))  ##!arrays
    return len(batch)  ##!arrays
'''
VALIDATE = '''
@torch.no_grad()
def validate(model: nn.Module, held_out: Any) -> dict[str, float]:
    """Means over the held-out samples."""
    model.eval()
    totals: dict[str, float] = {}
    samples = 0
    for batch in held_out_batches(held_out):
        for name, value in values_of(model, batch).items():
            totals[name] = totals.get(name, 0.0) + value * size_of(batch)
        samples += size_of(batch)
    return {name: total / samples for name, total in totals.items()}


def values_of(model: nn.Module, batch: Any) -> dict[str, float]:
    """Means over a batch."""
    given = own_step(model, batch)  ##own_step
    values = given if isinstance(given, dict) else {"loss": given}  ##own_step
    return {name: float(value) for name, value in values.items()}  ##own_step
    inputs, targets = batch  ##!own_step
    outputs = model(inputs).float()  ##!own_step
    loss = F.cross_entropy(outputs, targets).item()  ##!own_step classes
    accuracy = (outputs.argmax(dim=1) == targets).float().mean().item()  ##!own_step classes
    return {"loss": loss, "accuracy": accuracy}  ##!own_step classes
    targets = targets.reshape(outputs.shape)  ##!own_step !classes
    loss, error = F.mse_loss(outputs, targets).item(), (outputs - targets).abs().mean().item()  ##!own_step !classes
    return {"loss": loss, "mean absolute error": error}  ##!own_step !classes
'''
HELD_OUT_ARRAYS = '''
def held_out_batches(held_out: Pair) -> Iterator[Pair]:
    """All of it, in order."""
    inputs, targets = held_out
    yield from zip(inputs.split(HELD_OUT_BATCH_SIZE), targets.split(HELD_OUT_BATCH_SIZE), strict=True)
'''
STEPS = '''
def steps(train: Any, epoch: int) -> Iterator[list[Any]]:
    """The batches of each step of an epoch; the last step may have fewer."""
    rest = batches(train, epoch)
    while some := list(itertools.islice(rest, ACCUMULATE_BATCHES)):
        yield some
'''
MAIN = '''
def main() -> None:
    """Train, validate after each epoch, save the weights."""  ##held_out
    """Train and save the weights."""  ##!held_out
    torch.set_num_threads(THREADS)  ##threads
    torch.use_deterministic_algorithms(True)  ##deterministic
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False  ##deterministic
    seed_all()
    model = make_model().to(DEVICE)
    train, held_out = load_data()  ##held_out
    train = load_data()  ##!held_out
    train, held_out = place(train), place(held_out)  ##arrays held_out
    train = place(train)  ##arrays !held_out
    optimizer = <optimizer>
    scaler = torch.amp.GradScaler(DEVICE.type)  ##scaler
    total_steps = <total>  ##by_step
    rate, lowest_loss, stalled = LEARNING_RATE, math.inf, 0  ##plateau
    best_score, waited = -math.inf, 0  ##best
    best_weights: dict[str, Tensor] = {}  ##keep_best
    step = 0  ##counted
    seed_all()  # again, so that nothing depends on what the model and the data drew
    for epoch in range(EPOCHS):
        model.train()
        for batch in batches(train, epoch):  ##!accumulate
        for some in steps(train, epoch):  ##accumulate
            for group in optimizer.param_groups:  ##by_step
                group["lr"] = learning_rate(step, total_steps)  ##by_step
            optimizer.zero_grad()
            with torch.autocast(DEVICE.type, dtype=torch.<precision>):  ##mixed !accumulate
                loss = loss_of(model, batch)  ##mixed !accumulate
            loss = loss_of(model, batch)  ##!mixed !accumulate
            loss.backward()  ##!scaler !accumulate
            scaler.scale(loss).backward()  ##scaler !accumulate
            planned = ACCUMULATE_BATCHES * BATCH_SIZE  ##accumulate endless
            planned = len(some) * <nominal> if len(some) > 1 else size_of(some[0])  ##accumulate !endless
            share = 0.0  ##accumulate
            for batch in some:  ##accumulate
                weight = size_of(batch) / planned  ##accumulate
                share += weight  ##accumulate
                with torch.autocast(DEVICE.type, dtype=torch.<precision>):  ##mixed accumulate
                    loss = loss_of(model, batch)  ##mixed accumulate
                loss = loss_of(model, batch)  ##!mixed accumulate
                (loss * weight).backward()  ##!scaler accumulate
                scaler.scale(loss * weight).backward()  ##scaler accumulate
            if abs(share - 1) > 1e-9:  # the last batch of an epoch has fewer samples  ##accumulate
                for parameter in model.parameters():  ##accumulate
                    if parameter.grad is not None:  ##accumulate
                        parameter.grad.div_(share)  ##accumulate
            scaler.unscale_(optimizer)  ##scaler clip
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP_GRAD_NORM)  ##clip
            optimizer.step()  ##!scaler
            scaler.step(optimizer)  ##scaler
            scaler.update()  ##scaler
            step += 1  ##counted
            if step == MAX_STEPS:  ##max_steps
                break  ##max_steps
        metrics = validate(model, held_out)  ##held_out
        words = ", ".join(f"held-out {name} {value:.4f}" for name, value in metrics.items())  ##held_out
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}, {words}")  ##held_out
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}")  ##!held_out
        if metrics["loss"] < lowest_loss - 1e-4 * abs(metrics["loss"]):  ##plateau
            lowest_loss, stalled = metrics["loss"], 0  ##plateau
        else:  ##plateau
            stalled += 1  ##plateau
        if stalled == 3:  ##plateau
            rate, stalled = rate * 0.5, 0  ##plateau
            for group in optimizer.param_groups:  ##plateau
                group["lr"] = rate  ##plateau
        score = metrics.get("accuracy", -metrics["loss"])  ##best
        waited += 1  ##best
        if score > best_score:  ##best
            best_score, waited = score, 0  ##best
            best_weights = {name: value.cpu().clone() for name, value in model.state_dict().items()}  ##keep_best
        if waited == EARLY_STOPPING_EPOCHS:  ##early
            break  ##early
        if step == MAX_STEPS:  ##max_steps
            break  ##max_steps
    model.load_state_dict(best_weights)  ##keep_best
    torch.save({name: value.cpu() for name, value in model.state_dict().items()}, OUTPUT_FILE)
    print(f"saved {OUTPUT_FILE}")
'''
