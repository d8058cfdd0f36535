"""`explorer inspect|train|convert|quantize|prune|benchmark`: a spec from flags, run as a job."""

import asyncio
import sys

from explorer.cli.flags import spec_from, spec_parser, toml_text
from explorer.cli.following import submit_and_follow
from explorer.cli.show import result_lines
from explorer.engine.client import connect
from explorer.schemas.specs import InspectSpec


def main(words: list[str]) -> int:
    options = spec_parser(words[0]).parse_args(words[1:])
    spec = spec_from(options)
    if options.toml:
        print(toml_text(spec))
        return 0
    if isinstance(spec, InspectSpec):
        return asyncio.run(_inspect(spec, options.json))
    try:
        return asyncio.run(submit_and_follow(spec, as_json=options.json, detach=options.detach))
    except KeyboardInterrupt:
        print("\nthe job goes on; `explorer jobs list` shows it, `explorer jobs cancel ID` ends it", file=sys.stderr)
        raise


async def _inspect(spec: InspectSpec, as_json: bool) -> int:
    engine = await connect()
    try:
        result = await engine.answer(spec)
    finally:
        await engine.aclose()
    print(result.model_dump_json() if as_json else "\n".join(result_lines(result)))
    return 0
