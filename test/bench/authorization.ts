import { cpus, loadavg } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Evaluator } from '../../src/iam/evaluate.ts'
import { PolicyIndex } from '../../src/iam/policyIndex.ts'
import { NOW } from '../make/authorizationPolicy.ts'
import { comparePeers, type PeerFigure } from './authorizationPeers.ts'
import {
  assignment,
  drawQuestions,
  fill,
  processorTime,
  QUERIES,
  type Question,
  type World,
  world,
} from './authorizationWorld.ts'
import { atLeast, atMost, type Goal } from './goals.ts'

const SIZES = [100, 1_000, 10_000, 100_000] as const
/** Sizes at which other engines answer in time. */
const PEER_SIZES = [100, 1_000, 10_000]
const ROUNDS = 7
const REPEATS = 100
/** Sets of distinct questions: with large policies there are more than any cache may hold. */
const SETS = 12

export type AuthorizationFigure = {
  assignments: number
  denies: number
  principals: number
  /** Median processor time of the rounds for a whole decision, from texts to a boolean. */
  nanosecondsPerDecision: number
  /** The same with scopes that are new strings each time, as when they were just cut from a request. */
  nanosecondsPerFreshText: number
  /** The same with twelve times as many questions, which reach every scope of the largest policy. */
  nanosecondsPerDifferentQuestion: number
  /** Fastest and slowest round. */
  range: [number, number]
  /** Share of allowed questions: a run in which all are refused would measure nothing. */
  allowed: number
  /** Heap of the whole index, denies and groups included, per assignment. */
  bytesPerAssignment: number
  /** Replacing one assignment by one at another scope, in the full index. */
  nanosecondsPerChange: number
}

export type AuthorizationReport = {
  node: string
  figures: AuthorizationFigure[]
  /** Exponent by which the time of a decision grows with the number of assignments. */
  growthExponent: number
  /** The same with new strings, as requests bring them. */
  growthExponentOnFreshTexts: number
  /** The same over twelve times as many questions. */
  growthExponentOnDifferentQuestions: number
  /** The same questions to other engines, on the same policies. */
  peers: PeerFigure[]
  goals: Goal[]
  /** Load averages over one, five and fifteen minutes, before and after: results of a busy machine are too high. */
  load: { before: number[]; after: number[] }
  processor: string
}

/** A string without a cached hash, as far as V8 knows. */
function withFreshScope({ scope, ...question }: Question): Question {
  return { ...question, scope: Buffer.from(scope).toString('latin1') }
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function heapUsed(): number {
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().heapUsed
}

const clock = processorTime
const median = (values: number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

function measure(size: number): AuthorizationFigure {
  const drawn = world(size)
  const before = heapUsed()
  const index = new PolicyIndex()
  const denies = fill(index, size, drawn)
  const bytes = heapUsed() - before
  const evaluator = new Evaluator(index)
  const questions = drawQuestions(drawn)
  let allowed = 0
  // Processor time is reported in steps of milliseconds, so a round repeats the questions often enough.
  const round = (repeated: readonly (readonly Question[])[]) => {
    allowed = 0
    const start = clock()
    for (const asked of repeated) {
      for (const { principal, action, scope } of asked)
        if (evaluator.isAllowed(principal, action, scope, NOW)) allowed += 1
    }
    allowed /= repeated.length
    return (clock() - start) / QUERIES / repeated.length
  }
  const again = Array.from({ length: REPEATS }, () => questions)
  round(again)
  const rounds = Array.from({ length: ROUNDS }, () => round(again))
  const freshRounds = Array.from({ length: ROUNDS }, () => round(again.map((asked) => asked.map(withFreshScope))))
  const others = Array.from({ length: SETS }, () => drawQuestions(drawn))
  const otherRounds = Array.from({ length: ROUNDS }, () => round(others))
  return {
    assignments: size,
    denies,
    principals: drawn.people.length,
    nanosecondsPerDecision: Math.round(median(rounds)),
    nanosecondsPerFreshText: Math.round(median(freshRounds)),
    nanosecondsPerDifferentQuestion: Math.round(median(otherRounds)),
    range: [Math.round(Math.min(...rounds)), Math.round(Math.max(...rounds))],
    allowed: allowed / QUERIES,
    bytesPerAssignment: Math.round(bytes / size),
    nanosecondsPerChange: Math.round(measureChanges(index, drawn)),
  }
}

function measureChanges(index: PolicyIndex, { random, people, places }: World): number {
  const changes = Array.from({ length: 2_000 }, () => assignment(random, random.pick(people), random.pick(places)))
  for (const change of changes) index.upsertAssignment(change)
  const moved = changes.map((change) => ({ ...change, scope: random.pick(places) }))
  const start = clock()
  for (const change of moved) index.upsertAssignment(change)
  return (clock() - start) / moved.length
}

/** How many times faster than another engine, at the largest size that the other can answer. */
const FASTER: Readonly<Record<string, number>> = { 'node-casbin': 2_000, 'cedar-wasm, sliced per principal': 150 }

function goalOfPeer({ engine, assignments, ratio }: PeerFigure): Goal[] {
  const goal = FASTER[engine]
  if (goal === undefined || assignments !== PEER_SIZES.at(-1)) return []
  return [atLeast(`decisions in the time of one of ${engine}, ${assignments} assignments`, '', goal, ratio)]
}

/**
 * Our evaluator at four sizes, then compared with node-casbin and Cedar at the sizes that those can answer in time.
 *
 * @param seconds per engine and size for the comparison of answers
 */
export async function run(seconds: number, write: (line: string) => void = console.log): Promise<AuthorizationReport> {
  const before = loadavg()
  // Otherwise the first size would include compiling the evaluator.
  measure(1_000)
  const figures = SIZES.map(measure)
  for (const figure of figures) {
    const { assignments, nanosecondsPerDecision, nanosecondsPerFreshText, range, allowed } = figure
    const { bytesPerAssignment, nanosecondsPerChange, nanosecondsPerDifferentQuestion } = figure
    write(
      `${assignments} assignments: ${nanosecondsPerDecision} ns a decision (${range.join('..')}), ${nanosecondsPerFreshText} ns on new texts, ${nanosecondsPerDifferentQuestion} ns on many, ${Math.round(allowed * 100)} % allowed, ${bytesPerAssignment} bytes an assignment, ${nanosecondsPerChange} ns a change`,
    )
  }
  const [first, last] = [figures.at(0), figures.at(-1)]
  const growthOf = (
    figure: 'nanosecondsPerDecision' | 'nanosecondsPerFreshText' | 'nanosecondsPerDifferentQuestion',
  ) => {
    const ratio = (last?.[figure] ?? 0) / (first?.[figure] ?? 1)
    const growth = Math.log10(ratio) / Math.log10((last?.assignments ?? 0) / (first?.assignments ?? 1))
    return Number(growth.toFixed(3))
  }
  const growthExponent = growthOf('nanosecondsPerDecision')
  const growthExponentOnFreshTexts = growthOf('nanosecondsPerFreshText')
  const growthExponentOnDifferentQuestions = growthOf('nanosecondsPerDifferentQuestion')
  write(
    `growth exponent ${growthExponent}, on new texts ${growthExponentOnFreshTexts}, on many questions ${growthExponentOnDifferentQuestions}`,
  )
  const peers = await comparePeers(PEER_SIZES, seconds, write)
  const load = { before, after: loadavg() }
  write(
    `load of the machine ${load.before.map((value) => value.toFixed(1))} before, ${load.after.map((value) => value.toFixed(1))} after`,
  )
  return {
    node: process.version,
    figures,
    growthExponent,
    growthExponentOnFreshTexts,
    growthExponentOnDifferentQuestions,
    peers,
    goals: [
      atMost('a decision among 100,000 assignments', 'ns', 700, last?.nanosecondsPerDecision ?? Number.NaN),
      atMost('growth exponent of a decision', '', 0.15, growthExponent),
      atMost('growth exponent of a decision on new texts', '', 0.15, growthExponentOnFreshTexts),
      atMost('heap of an assignment', 'bytes', 600, last?.bytesPerAssignment ?? Number.NaN),
      ...peers.flatMap(goalOfPeer),
    ],
    load,
    processor: `${cpus().length} x ${cpus()[0]?.model}`,
  }
}
