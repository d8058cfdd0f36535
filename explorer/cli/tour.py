"""`explorer tour`: the whole journey on the digits sample."""

import argparse
import asyncio
import json
import sys

from explorer.cli.following import Ticker
from explorer.cli.show import benchmark_lines
from explorer.engine.client import connect
from explorer.tour import Tour


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="explorer tour",
        description="Train the digits CNN, convert it to ONNX and Core ML, quantize it, prune it, and measure what came of it.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, progress on standard error")
    options = parser.parse_args(words[1:])
    return asyncio.run(_main(options.json))


async def _main(as_json: bool) -> int:
    engine = await connect()
    ticker = Ticker()
    try:
        tour = Tour(engine, said=lambda text: print(text, file=sys.stderr, flush=True), heard=ticker.show)
        summary = await tour.run()
    finally:
        ticker.close()
        await engine.aclose()
    if as_json:
        print(json.dumps(summary.figures))
    else:
        print("\n".join([*benchmark_lines(summary.benchmark), "", *summary.sentences]))
    return 0
