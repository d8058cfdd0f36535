from explorer.engine.headline import headline
from tests.cli.test_show import MEASURED, ceiling


def test_the_fastest_float_rate_with_the_bandwidth_of_its_device() -> None:
    on_cpu = [item for item in MEASURED.ceilings if item.device == "cpu"]
    assert headline(MEASURED.model_copy(update={"ceilings": on_cpu})) == "142 GFLOP/s float32, 18.0 GB/s"
    assert headline(MEASURED) == "10.0 TFLOP/s float16 on cuda"
    assert headline(MEASURED.model_copy(update={"ceilings": [ceiling("call_latency", 1e-6, "s")]})) == "no matmul rate measured"
