import { expect } from 'chai'
import { RelationalWorld } from '../../../test/worlds/relationalWorld.ts'
import { StatefulWorld } from '../../../test/worlds/statefulWorld.ts'
import { resourceId } from '../../core/object.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import type { AnyKind } from '../../crds/define.ts'
import { FunctionNamespace } from '../../crds/functions.ts'
import { KINDS } from '../../crds/index.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'
import { VectorCluster } from '../../crds/vector.ts'

/** Calls to the API server and events for a new stopped object until it is at rest. */
async function callsOfNew(kind: AnyKind, spec: object): Promise<string[]> {
  const isRelational = kind.kind === RelationalCluster.kind
  const world = await (isRelational ? new RelationalWorld() : new StatefulWorld()).start()
  const { bench, home } = world
  try {
    // The first Secret of a namespace starts a watch of Secrets, which replaces requests for them.
    bench.seed(kind, 'first', kind.spec.parse(spec) as object, { namespace: home })
    await bench.rest()
    bench.writes()
    const events = bench.events.length
    bench.seed(kind, 'second', kind.spec.parse(spec) as object, { namespace: home })
    await bench.rest()
    return [...bench.writes(), ...bench.events.slice(events).map(({ reason }) => `event ${reason}`)]
  } finally {
    await bench.stop()
  }
}

type Bound = { kind: AnyKind; spec: object; most: number }

const BOUNDS: readonly Bound[] = [
  { kind: VectorCluster, spec: { running: false }, most: 11 },
  { kind: SqlInstance, spec: { running: false, engine: 'MariaDb' }, most: 11 },
  { kind: ContainerInstance, spec: { running: false, components: [{ name: 'web', image: 'site:1' }] }, most: 11 },
  // Including its deployment, whose number the API server assigns.
  { kind: PlatformApp, spec: { running: false, sourceKind: 'Image', image: 'site:1' }, most: 16 },
  { kind: StaticWebApp, spec: { running: false, image: 'site:1' }, most: 16 },
  { kind: FunctionNamespace, spec: { running: false, runtime: 'nodejs' }, most: 11 },
  // Three Secrets of logins, and a Cluster instead of a StatefulSet.
  { kind: RelationalCluster, spec: { running: false }, most: 11 },
]

describe('calls to the API server for a new resource', () => {
  it('are counted for every kind that has a compute plan and can be stopped', () => {
    const sized = KINDS.filter((kind) => kind.sized !== undefined && 'running' in kind.spec.shape).map(
      ({ kind }) => kind,
    )
    expect(BOUNDS.map(({ kind }) => kind.kind)).to.have.members(sized)
  })

  for (const { kind, spec, most } of BOUNDS) {
    it(`are at most ${most}, with at most one read, with kubectl as with REST: ${kind.kind}`, async () => {
      const byKubectl = await callsOfNew(kind, spec)
      // REST stores the defaults of the plan; kubectl leaves them out.
      const byRest = 'replicas' in kind.spec.shape ? await callsOfNew(kind, { ...spec, replicas: 1 }) : byKubectl
      expect(byKubectl.length, byKubectl.join('\n')).to.be.at.most(most)
      expect(byKubectl.length, byKubectl.join('\n')).to.be.at.most(byRest.length)
      // The last read of the owner before a StatefulSet creates claims.
      const isLastLook = (call: string) => call.startsWith(`get ${resourceId(kind.resource)} `)
      const looks = byKubectl.filter((call) => call.startsWith('get '))
      expect(looks.length, looks.join('\n')).to.be.at.most(1)
      expect(looks.filter((call) => !isLastLook(call))).to.deep.equal([])
    })
  }
})
