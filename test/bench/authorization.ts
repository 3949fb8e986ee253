import { Evaluator } from '../../src/iam/evaluate.ts'
import { PolicyIndex } from '../../src/iam/policyIndex.ts'
import { NOW } from '../make/authorizationPolicy.ts'
import { SeededRandom } from '../make/random.ts'

const SIZES = [100, 1_000, 10_000, 100_000] as const
const QUERIES = 10_000
const ROUNDS = 7
const ROLES = [
  'Owner',
  'Contributor',
  'Reader',
  'Secrets Reader',
  'Secrets Officer',
  'Deployer',
  'Platform Reader',
] as const
const ACTIONS = [
  'vectorcluster/read',
  'vectorcluster/write',
  'vectorcluster/readSecrets',
  'jobs/read',
  'apps/readLogs',
  'rbac/members/write',
] as const

export type AuthorizationFigure = {
  assignments: number
  denies: number
  principals: number
  /** Median of the rounds, whole decision: texts in, boolean out. */
  nanosecondsPerDecision: number
  /** Fastest and slowest round. */
  range: [number, number]
  /** Share of the questions that were allowed: an all-refused run would measure nothing. */
  allowed: number
  /** Heap of the whole index, denies and groups included, by assignment. */
  bytesPerAssignment: number
  /** Replacing one assignment by one at another scope, in the full index. */
  nanosecondsPerChange: number
}

export type AuthorizationReport = {
  node: string
  figures: AuthorizationFigure[]
  /** Exponent by which the time of a decision grows with the assignments, from the smallest to the largest size. */
  growthExponent: number
}

type World = { random: SeededRandom; people: string[]; resources: string[]; places: string[] }

/**
 * As large platforms look: ten assignments a person, a boundary for ten people with three groups of resources; 2 % of
 * assignments at the root, the rest at boundaries, resource groups and resources.
 */
function world(size: number): World {
  const random = new SeededRandom(size)
  const people = Array.from({ length: Math.max(10, size / 10) }, () => random.uuid())
  const places: string[] = []
  const resources: string[] = []
  for (let boundary = 0; boundary < Math.max(3, size / 100); boundary += 1) {
    const scope = `/boundaries/${random.uuid()}`
    places.push(scope)
    for (const group of ['production', 'staging', 'shop-1']) {
      places.push(`${scope}/resourcegroups/${group}`)
      for (let number = 0; number < 5; number += 1) {
        resources.push(`${scope}/resourcegroups/${group}/resources/vectorclusters/index-${number}`)
      }
    }
  }
  return { random, people, resources, places }
}

function fill(index: PolicyIndex, size: number, { random, people, places, resources }: World): number {
  const groups = Array.from({ length: Math.ceil(people.length / 10) }, () => random.uuid())
  // Two deep: every second group stands in the one before it.
  groups.forEach((id, number) => {
    const inner = groups[number + 1]
    const memberIds = random.some(people, 20)
    index.upsertGroup({ id, memberIds: number % 2 === 0 && inner !== undefined ? [...memberIds, inner] : memberIds })
  })
  const somebody = () => (random.chance(0.2) ? random.pick(groups) : random.pick(people))
  const somewhere = () => random.pick(random.chance(0.4) ? resources : places)
  for (let number = 0; number < size; number += 1) index.upsertAssignment(assignment(random, somebody(), somewhere()))
  const denies = Math.ceil(size / 50)
  for (let number = 0; number < denies; number += 1) {
    const principal = number % 10 === 0 ? 'everyone' : { id: somebody() }
    const excludedPrincipalIds = random.some(people, 2)
    index.upsertDeny({
      id: random.uuid(),
      principal,
      excludedPrincipalIds,
      actions: ['*/write'],
      dataActions: ['*'],
      scope: somewhere(),
    })
  }
  return denies
}

function assignment(random: SeededRandom, principalId: string, place: string) {
  const scope = random.chance(0.02) ? '/' : place
  return { id: random.uuid(), principalId, principalType: 'User', roleName: random.pick(ROLES), scope } as const
}

function heapUsed(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

const clock = () => Number(process.hrtime.bigint())
const median = (values: number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

function measure(size: number): AuthorizationFigure {
  const drawn = world(size)
  const { random, people, resources, places } = drawn
  const before = heapUsed()
  const index = new PolicyIndex()
  const denies = fill(index, size, drawn)
  const bytes = heapUsed() - before
  const evaluator = new Evaluator(index)
  const questions = Array.from({ length: QUERIES }, () => {
    const scope = random.chance(0.7) ? random.pick(resources) : random.pick(places)
    return { principal: random.pick(people), action: random.pick(ACTIONS), scope: Buffer.from(scope).toString() }
  })
  let allowed = 0
  const round = () => {
    allowed = 0
    const start = clock()
    for (const { principal, action, scope } of questions)
      if (evaluator.isAllowed(principal, action, scope, NOW)) allowed += 1
    return (clock() - start) / QUERIES
  }
  for (let number = 0; number < 10; number += 1) round()
  const rounds = Array.from({ length: ROUNDS }, round)
  return {
    assignments: size,
    denies,
    principals: people.length,
    nanosecondsPerDecision: Math.round(median(rounds)),
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

/** Run with `--expose-gc`; without it the bytes hold garbage too. */
export function run(write: (line: string) => void = console.log): AuthorizationReport {
  // The first size would otherwise pay for compiling the evaluator.
  measure(1_000)
  const figures = SIZES.map(measure)
  for (const figure of figures) {
    const { assignments, nanosecondsPerDecision, range, allowed, bytesPerAssignment, nanosecondsPerChange } = figure
    write(
      `${assignments} assignments: ${nanosecondsPerDecision} ns a decision (${range.join('..')}), ${Math.round(allowed * 100)} % allowed, ${bytesPerAssignment} bytes an assignment, ${nanosecondsPerChange} ns a change`,
    )
  }
  const [first, last] = [figures.at(0), figures.at(-1)]
  const ratio = (last?.nanosecondsPerDecision ?? 0) / (first?.nanosecondsPerDecision ?? 1)
  const growth = Math.log10(ratio) / Math.log10((last?.assignments ?? 0) / (first?.assignments ?? 1))
  const report = { node: process.version, figures, growthExponent: Number(growth.toFixed(3)) }
  write(`growth exponent ${report.growthExponent}`)
  write(JSON.stringify(report))
  return report
}
