import { expect } from 'chai'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import type { Workspace } from '../engine/controller.ts'
import { bindToOwner, OWNER_KINDS, RECORD_OBSERVERS, type RecordPass } from './owners.ts'

const owner = (kind: { apiVersion: string; kind: string }, annotations: Record<string, string>): KubeObject => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  metadata: { name: 'shop', namespace: 'home', uid: 'uid-of-shop', annotations },
  spec: {},
})
const LIVING = { [INCARNATION_ANNOTATION]: 'a-life' }

describe('a deployment whose owner has just been made', () => {
  for (const kind of OWNER_KINDS)
    it(`is woken when its ${kind.kind} is given its life`, () => {
      const observers = RECORD_OBSERVERS.flatMap((each) => ('resource' in each ? [each] : []))
      const observer = observers.find(({ resource }) => resource.kind === kind.kind)
      const seen = (annotations: Record<string, string>) => observer?.relevant?.(owner(kind, annotations))
      expect(seen(LIVING)).not.to.deep.equal(seen({}))
    })

  it('is not bound before: what it were bound to would soon not be its owner', async () => {
    const patches: unknown[] = []
    const records = {
      cache: (resource: Resource) => ({
        get: () => (resource.kind === PlatformApp.kind ? owner(PlatformApp, {}) : undefined),
      }),
      client: { mergePatch: async (...asked: unknown[]) => patches.push(asked) },
    } as unknown as Workspace
    const object = {
      ...owner(DeploymentRecord, {}),
      spec: { ownerCollection: 'apps', ownerName: 'shop', strategy: 'Reported' },
    } as unknown as RecordPass['object']
    const { kind } = await bindToOwner({ object, records } as RecordPass)
    expect({ kind, patches }).to.deep.equal({ kind: 'waiting', patches: [] })
  })
})
