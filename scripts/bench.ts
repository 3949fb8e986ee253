import { parseArgs } from 'node:util'
import { type Goal, lineOf } from '../test/bench/goals.ts'
import { BENCHMARKS, type BenchmarkOptions } from '../test/bench/index.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '10' },
    count: { type: 'string' },
    json: { type: 'string' },
  },
})

const [name = ''] = positionals
const benchmark = BENCHMARKS[name]
if (benchmark === undefined) {
  console.error(
    `Usage: npm run bench -- ${Object.keys(BENCHMARKS).join('|')} [--rounds 5] [--seconds 10] [--count N] [--json FILE]`,
  )
  process.exit(2)
}
const options: BenchmarkOptions = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  count: values.count === undefined ? undefined : Number(values.count),
}
const result = await benchmark(options)
console.log(JSON.stringify(result, null, 2))
for (const goal of (result as { goals?: Goal[] }).goals ?? []) console.log(lineOf(goal))
if (values.json !== undefined)
  (await import('node:fs')).writeFileSync(values.json, `${JSON.stringify(result, null, 2)}\n`)
process.exit(0)
