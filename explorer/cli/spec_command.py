"""The commands that are a spec from flags: run as a job, or answered at once."""

import asyncio
import sys

from explorer.cli.flags import AT_ONCE, spec_from, spec_parser, toml_text
from explorer.cli.following import submit_and_follow
from explorer.cli.show import result_lines
from explorer.engine.client import connect
from explorer.schemas.convert_spec import EvaluateSpec
from explorer.schemas.model_specs import ValuesSpec
from explorer.schemas.specs import Spec


def main(words: list[str]) -> int:
    options = spec_parser(words[0]).parse_args(words[1:])
    spec = spec_from(options)
    if options.toml:
        print(toml_text(spec))
        return 0
    if answered_at_once(spec):
        return asyncio.run(_answer(spec, options.json))
    try:
        return asyncio.run(submit_and_follow(spec, as_json=options.json, detach=options.detach))
    except KeyboardInterrupt:
        print("\nthe job goes on; `explorer jobs list` shows it, `explorer jobs cancel ID` ends it", file=sys.stderr)
        raise


def answered_at_once(spec: Spec) -> bool:
    """Whether a spec is a question that takes a moment and leaves no job; an evaluation without `output` leaves it in one."""
    if isinstance(spec, EvaluateSpec):
        return spec.output is not None
    return spec.kind in AT_ONCE or (isinstance(spec, ValuesSpec) and spec.tensor is not None)


async def _answer(spec: Spec, as_json: bool) -> int:
    engine = await connect()
    try:
        result = await engine.answer(spec)
    finally:
        await engine.aclose()
    print(result.model_dump_json() if as_json else "\n".join(result_lines(result)))
    return 0
