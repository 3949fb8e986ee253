import { randomUUID } from 'node:crypto'
import { RoleDefinition } from '../../src/crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../src/iam/roles.ts'
import { makeRegistry, testKeys } from '../make/registry.ts'
import { startFacade } from '../worlds/facadeServer.ts'
import { atMost } from './goals.ts'
import { type Arm, compare, fetchJson, load, ratio } from './load.ts'
import type { BenchmarkOptions } from './options.ts'

const ASSIGNMENTS = 10_000
const BOUNDARIES = 100
/** Milliseconds (median). */
const GOAL = 5
const DAY = 86_400_000

/**
 * A registry token, decided among many assignments and signed, compared with an anonymous request to the same facade
 * that decides and signs nothing. One process answers; the API server is in memory.
 */
export async function runRegistry({ rounds, seconds, count = ASSIGNMENTS }: BenchmarkOptions): Promise<object> {
  const { service } = makeRegistry()
  const limits = { anonymousRequestsPerMinute: 100_000_000, requestsPerMinute: 100_000_000 }
  const facade = await startFacade({ limits, checkReplies: false }, { registry: service })
  try {
    for (const role of BUILT_IN_ROLES) facade.put(RoleDefinition, role.name, specOf(role))
    const boundaries = Array.from({ length: BOUNDARIES }, () => randomUUID())
    for (const id of boundaries) facade.boundary(id)
    for (const id of boundaries) facade.group(id, 'shop')
    const people = Array.from({ length: count }, () => randomUUID())
    people.forEach((person, index) => {
      facade.grant(person, 'Contributor', `/boundaries/${boundaries[index % BOUNDARIES]}`)
    })
    const origin = `http://127.0.0.1:${(await facade.facade.listen(0, '127.0.0.1')).port}`
    const [person = ''] = people
    const repository = `${boundaries[0]}/shop/jobs/report`
    const expiresAt = Date.now() + DAY
    const who = { principalId: person, principalType: 'User' } as const
    const password = await testKeys().issue({ kind: 'Build', ...who, expiresAt })
    const authorization = `Basic ${Buffer.from(`build:${password}`).toString('base64')}`
    const scope = `repository:${repository}:pull,push`
    const paths = [`/registry/auth/token?scope=${scope}`]
    const token: Arm = { name: 'token', origin, headers: { authorization }, paths }
    const version: Arm = { name: 'version', origin, headers: {}, paths: ['/version'] }
    const answer = (await fetchJson(token, paths[0] ?? '')) as { scope: string | null }
    if (answer.scope !== scope) throw new Error(`The token opens ${answer.scope}.`)
    const result = await compare(token, version, { connections: 1, rounds, milliseconds: seconds * 1000 })
    const processor = { token: await processorTime(token, seconds), version: await processorTime(version, seconds) }
    const p50 = ratio(result.rounds.map(({ ours }) => ours.p50)).median
    const goals = [atMost(`a token of the registry among ${count} assignments, p50`, 'ms', GOAL, p50)]
    return { benchmark: 'registry', assignments: count, processor, ...result, goals }
  } finally {
    await facade.stop()
  }
}

/** Milliseconds of processor time per request, including the client's, which other load changes little. */
async function processorTime(arm: Arm, seconds: number): Promise<number> {
  const before = process.cpuUsage()
  const { requests } = await load(arm, 1, seconds * 1000)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / requests
}

function specOf({ name: _name, ...role }: (typeof BUILT_IN_ROLES)[number]): object {
  const { displayName, description, actions, notActions, dataActions, notDataActions, assignableScopes } = role
  return {
    displayName,
    description,
    actions,
    notActions,
    dataActions,
    notDataActions,
    assignableScopes,
    isBuiltIn: true,
  }
}
