import { loadavg } from 'node:os'
import { lineOf, type Oracle } from '../test/faults/oracle.ts'
import { COUNTED, MANY, type Runs, WIRED } from '../test/faults/runs.ts'
import { Scene } from '../test/faults/scene.ts'
import { sequencesInMemory } from '../test/faults/teardown.ts'
import { ownWords } from './commandLine.ts'
import { playFullSeries } from './test/fullSeries.ts'

const IN_MEMORY = 'sequences in memory'
/** The tests of which `npm test` plays a sample. */
const SERIES = 'series'
const NAMES = [...Object.keys(MANY), ...Object.keys(WIRED), ...Object.keys(COUNTED), IN_MEMORY, SERIES]

const USAGE = `Usage: npm run faults [-- NAME...]
Plays each fault, one line for each thing that must hold. All of them take about an hour. The names:
${NAMES.map((name) => `  "${name}"`).join('\n')}`
const chosen = ownWords(USAGE, {}, NAMES).positionals
let failed = 0

/** A run that breaks off counts as failed, and the next one still runs. */
async function report(title: string, run: () => Promise<Oracle[]>): Promise<void> {
  const breaksOff = (error: unknown): Oracle[] => [
    { holds: false, sentence: 'it is played to its end', seen: String(error) },
  ]
  for (const oracle of await run().catch(breaksOff)) {
    console.log(lineOf(title, oracle))
    if (!oracle.holds) failed += 1
  }
  console.log(`       ${title}: load of the machine ${loadavg()[0]?.toFixed(1)}`)
}

async function runFaults(runs: Runs, set: () => Promise<Scene>): Promise<void> {
  const wanted = Object.entries(runs).filter(([name]) => chosen.length === 0 || chosen.includes(name))
  if (wanted.length === 0) return
  const scene = await set()
  try {
    for (const [name, run] of wanted) await report(name, () => run(scene))
  } finally {
    await scene.stop()
  }
}

process.env.FREEHOLD_TEST_FULL = 'true'
await runFaults(MANY, () => Scene.set({ PLATFORM_LEADER_ELECTION: 'true' }, {}))
await runFaults(WIRED, () => Scene.set())
await runFaults(COUNTED, () => Scene.set({}, { proxied: true }))
if (chosen.length === 0 || chosen.includes(IN_MEMORY)) await report(IN_MEMORY, () => sequencesInMemory(20, 200))
if (chosen.length === 0 || chosen.includes(SERIES)) failed += await playFullSeries()
process.exit(failed > 0 ? 1 : 0)
