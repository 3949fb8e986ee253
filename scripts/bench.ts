import { writeFileSync } from 'node:fs'
import { type Goal, lineOf } from '../test/bench/goals.ts'
import { BENCHMARKS } from '../test/bench/index.ts'
import { endWith, parsed, UsageError, wholeNumber } from './commandLine.ts'

const USAGE = `Usage: npm run bench -- NAME [options]
The names: ${Object.keys(BENCHMARKS).join(', ')}.
  --rounds COUNT     rounds of each arm (default 5)
  --seconds COUNT    seconds of each arm of a round (default 10)
  --count COUNT      objects; each benchmark has its own default
  --json FILE        where the result is written as well`

try {
  await main(process.argv.slice(2))
} catch (error) {
  endWith(error)
}
// Child processes of a benchmark must not keep this process alive.
process.exit()

async function main(words: readonly string[]): Promise<void> {
  const options = {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '10' },
    count: { type: 'string' },
    json: { type: 'string' },
  } as const
  const { values, positionals } = parsed(words, USAGE, options, true)
  const benchmark = BENCHMARKS[positionals[0] ?? '']
  if (benchmark === undefined || positionals.length > 1) throw new UsageError(USAGE)
  const result = await benchmark({
    rounds: wholeNumber('--rounds', values.rounds, 1000, USAGE),
    seconds: wholeNumber('--seconds', values.seconds, 3600, USAGE),
    count: values.count === undefined ? undefined : wholeNumber('--count', values.count, 1_000_000, USAGE),
  })
  const text = JSON.stringify(result, null, 2)
  console.log(text)
  for (const goal of (result as { goals?: Goal[] }).goals ?? []) console.log(lineOf(goal))
  if (values.json !== undefined) writeFileSync(values.json, `${text}\n`)
}
