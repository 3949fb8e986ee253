import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { uuidV5 } from '../../src/core/ids.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { lease } from '../../src/kube/builtin.ts'
import type { ProxiedRequest } from '../faults/proxy.ts'
import { differences, type Replacements, snapshot } from '../make/snapshot.ts'
import { until } from '../make/until.ts'
import { isReady, objectOf } from '../worlds/fleet.ts'
import { borrowPlatform, giveBack } from './lent.ts'
import type { OwnPlatform } from './platform.ts'

const isWrite = ({ verb }: ProxiedRequest) => ['create', 'update', 'patch', 'delete', 'deletecollection'].includes(verb)

/** A separate group for one run of a scenario. */
export type Stage = {
  readonly own: OwnPlatform
  readonly boundaryId: string
  /** The namespace of the group. */
  readonly home: string
  /** Distinguishes names that are unique on the platform from those of other runs. */
  readonly suffix: string
  /** Creates an object as a Git tool does: as soon as the server accepts it. */
  create(kind: AnyKind, name: string, spec: object, namespace?: string): Promise<void>
  untilReady(kind: AnyKind, name: string, namespace?: string): Promise<void>
}

/** The actions; their final state is compared. Waits in them must survive a restart of the operator. */
export type Scenario = (stage: Stage) => Promise<void>
export type Scenarios = Readonly<Record<string, Scenario>>
/** The stored state at the end, by scenario and object. */
type End = Record<string, unknown>

/** Longer than a dead operator's lease plus the next start, on a machine where ten others work. */
export const WAIT = 300_000
/** The position of the last kill, as a fraction of all writes. */
const LAST_PLACE = 0.75
const LEASE = { namespace: SYSTEM_NAMESPACE, name: 'freehold-controllers' }
/** Starts with a letter, so that it is not part of the boundary's id. */
const suffixOf = (boundaryId: string) => `r${boundaryId.slice(0, 8)}`

function stageOf(own: OwnPlatform, boundaryId: string): Stage {
  const home = groupNamespace(boundaryId, 'search')
  const { admin } = own
  return {
    own,
    boundaryId,
    home,
    suffix: suffixOf(boundaryId),
    async create(kind, name, spec, namespace = home) {
      const object = objectOf(kind, name, kind.resource.namespaced ? namespace : undefined, spec)
      await until(
        `the API server takes ${kind.kind} ${name}`,
        async () => (await admin.create(kind.resource, object)) !== undefined,
        WAIT,
      )
    },
    async untilReady(kind, name, namespace = home) {
      const ref = kind.resource.namespaced ? { namespace, name } : { name }
      await until(`${kind.kind} ${name} is ready`, async () => isReady(await admin.get(kind.resource, ref)), WAIT)
    },
  }
}

/** Runs all scenarios at once, each in its own boundary. */
async function play(scenarios: Scenarios, own: OwnPlatform): Promise<End> {
  const ends = await Promise.all(
    Object.entries(scenarios).map(async ([name, scenario]) => {
      const end = await playOne(scenario, own, randomUUID())
      return Object.entries(end).map(([key, object]) => [`${name}: ${key}`, object])
    }),
  )
  return Object.fromEntries(ends.flat())
}

async function playOne(scenario: Scenario, own: OwnPlatform, boundaryId: string): Promise<End> {
  const stage = stageOf(own, boundaryId)
  const outer = boundaryNamespace(boundaryId)
  const initialOwner = { principalId: uuidV5('somebody'), principalType: 'User' }
  await stage.create(Boundary, boundaryId, { displayName: 'Crash', initialOwner })
  await stage.create(ResourceGroup, 'search', {}, outer)
  await scenario(stage)
  await stage.untilReady(Boundary, boundaryId)
  await stage.untilReady(ResourceGroup, 'search', outer)
  const replaced: Replacements = [
    [stage.home, 'GROUP'],
    [boundaryId, 'BOUNDARY'],
    [stage.home.slice(-10), 'HASH'],
    [stage.suffix, 'RUN'],
  ]
  return snapshot(own.admin, [outer, stage.home], replaced)
}

/**
 * Runs the scenarios undisturbed, then repeatedly with the operator killed at one of its writes: before it is sent, or
 * after it was done and before the answer. The final state must always be the same.
 *
 * @param kills the number of kills, distributed evenly over the writes
 */
export function describeCrashes(scenarios: Scenarios, kills: number): void {
  describe('an operator that is killed during its work', () => {
    let own: OwnPlatform
    let expected: End
    let writes: number

    before(async () => {
      own = await borrowPlatform('proxied')
      await own.startOperator()
      // The first run also writes what a platform starts with: incarnations of its principals, finalizers, defaults.
      await play(scenarios, own)
      own.proxies?.controllers.reset()
      expected = await play(scenarios, own)
      writes = own.proxies?.controllers.requests().filter(isWrite).length ?? 0
    })
    after(() => giveBack(own))

    it('writes more often than it is killed, for each scenario', () => {
      expect(writes).to.be.greaterThan(kills)
      for (const name of Object.keys(scenarios)) {
        const objects = Object.keys(expected).filter((key) => key.startsWith(`${name}: `))
        expect(objects, name).to.have.length.greaterThan(10)
      }
    })

    /** The final state of a run in which the operator dies at a write; undefined if everything was done before. */
    async function playKilled(kind: 'drop' | 'loseAnswer', at: number, hasNoLease: boolean): Promise<End | undefined> {
      // An earlier test may have failed while it was dead.
      if (own.operatorPid === undefined) await own.startOperator()
      let seen = 0
      let killed: Promise<void> | undefined
      const lift = own.proxies?.controllers.fault({
        fault: { kind },
        when: (request) => {
          if (isWrite(request)) seen += 1
          return isWrite(request) && seen === at
        },
        times: 1,
        onStrike: () => {
          killed = own.endOperator('SIGKILL')
        },
      })
      const playing = play(scenarios, own)
      await Promise.race([until('the operator is killed', () => killed !== undefined, WAIT), playing]).finally(lift)
      if (killed === undefined) return undefined
      await killed
      // In the first run the next process waits until the lease of the dead one ends; once is enough to show that.
      if (hasNoLease) await own.admin.remove(lease, LEASE)
      await own.startOperator()
      return playing
    }

    for (let kill = 1; kill <= kills; kill += 1) {
      const kind = kill % 2 === 0 ? ('drop' as const) : ('loseAnswer' as const)
      const when = kind === 'drop' ? 'before' : 'after'
      it(`ends in the same state, killed ${when} a write: ${kill} of ${kills}`, async () => {
        // Concurrent passes are merged, so some runs take fewer writes: the last position is before the end. On a
        // machine that has become slower it may still not be reached; then another run dies earlier.
        let at = Math.max(1, Math.floor((kill / kills) * LAST_PLACE * writes))
        let end: End | undefined
        for (; end === undefined && at > 0; at = Math.floor(at / 2)) end = await playKilled(kind, at, kill > 1)
        if (end === undefined) throw new Error('Every run ended before the operator was killed.')
        const found = differences(expected, end)
        expect(found, found.join('\n')).to.deep.equal([])
      })
    }
  })
}
