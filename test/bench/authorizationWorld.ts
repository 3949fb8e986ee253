import type { PolicyIndex } from '../../src/iam/policyIndex.ts'
import { SeededRandom } from '../make/random.ts'

export const QUERIES = 10_000
export const ROLES = [
  'Owner',
  'Contributor',
  'Reader',
  'Secrets Reader',
  'Secrets Officer',
  'Deployer',
  'Platform Reader',
] as const
export const QUESTIONED = [
  'vectorcluster/read',
  'vectorcluster/write',
  'vectorcluster/readSecrets',
  'jobs/read',
  'apps/readLogs',
  'rbac/members/write',
] as const
export const DENIED = { actions: ['*/write'], dataActions: ['*'] }

/** Nanoseconds of processor time of this thread, so that other load on the machine does not count. */
export function processorTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) * 1000
}

export type Question = { principal: string; action: string; scope: string }
export type World = { random: SeededRandom; people: string[]; resources: string[]; places: string[] }
/** Receives the records: our index, or a list for other engines. */
export type Sink = Pick<PolicyIndex, 'upsertGroup' | 'upsertAssignment' | 'upsertDeny'>

/**
 * Modelled on large platforms: ten assignments per person, a boundary per ten people with three resource groups; 2 % of
 * the assignments at the root, the rest at boundaries, resource groups and resources.
 */
export function world(size: number): World {
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

/** Generates the records and passes them on. Returns the number of denies: 2 % of the assignments. */
export function fill(sink: Sink, size: number, { random, people, places, resources }: World): number {
  const groups = Array.from({ length: Math.ceil(people.length / 10) }, () => random.uuid())
  // Two levels: every second group is a member of the one before it.
  groups.forEach((id, number) => {
    const inner = groups[number + 1]
    const memberIds = random.some(people, 20)
    sink.upsertGroup({ id, memberIds: number % 2 === 0 && inner !== undefined ? [...memberIds, inner] : memberIds })
  })
  const somebody = () => (random.chance(0.2) ? random.pick(groups) : random.pick(people))
  const somewhere = () => random.pick(random.chance(0.4) ? resources : places)
  for (let number = 0; number < size; number += 1) sink.upsertAssignment(assignment(random, somebody(), somewhere()))
  const denies = Math.ceil(size / 50)
  for (let number = 0; number < denies; number += 1) {
    const principal = number % 10 === 0 ? 'everyone' : { id: somebody() }
    const excludedPrincipalIds = random.some(people, 2)
    sink.upsertDeny({ id: random.uuid(), principal, excludedPrincipalIds, ...DENIED, scope: somewhere() })
  }
  return denies
}

export function assignment(random: SeededRandom, principalId: string, place: string) {
  const scope = random.chance(0.02) ? '/' : place
  return { id: random.uuid(), principalId, principalType: 'User', roleName: random.pick(ROLES), scope } as const
}

export function drawQuestions({ random, people, resources, places }: World): Question[] {
  return Array.from({ length: QUERIES }, () => {
    const scope = random.chance(0.7) ? random.pick(resources) : random.pick(places)
    return { principal: random.pick(people), action: random.pick(QUESTIONED), scope: Buffer.from(scope).toString() }
  })
}
