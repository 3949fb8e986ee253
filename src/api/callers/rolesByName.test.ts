import { expect } from 'chai'
import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import type { Resource } from '../../core/object.ts'
import { RoleDefinition } from '../../crds/rbac.ts'
import type { CacheHandler } from '../../kube/cache.ts'
import type { KubeObject } from '../../kube/object.ts'
import { createAccess } from './access.ts'
import { RolesByName } from './rolesByName.ts'

const role = (name: string, displayName: string, more: { createdAt?: string; isBuiltIn?: boolean } = {}) => ({
  metadata: { name, creationTimestamp: more.createdAt ?? '2026-01-01T00:00:00Z' },
  spec: { displayName, isBuiltIn: more.isBuiltIn ?? false },
})

describe('RolesByName', () => {
  it('chooses the oldest role of a name, and the next one after its removal', () => {
    const roles = new RolesByName()
    roles.add(role('young', 'Auditor', { createdAt: '2026-02-01T00:00:00Z' }))
    roles.add(role('old', 'Auditor'))
    roles.add(role('other', 'Operator'))
    expect(roles.choose('Auditor')).to.deep.equal({ first: 'old', others: ['young'] })
    roles.remove('Auditor', 'old')
    expect(roles.choose('Auditor')).to.deep.equal({ first: 'young', others: [] })
    roles.remove('Auditor', 'young')
    expect(roles.choose('Auditor')).to.deep.equal({ first: undefined, others: [] })
  })

  it('chooses the built-in role of a name', () => {
    const roles = new RolesByName()
    roles.add(role('old', 'Reader', { createdAt: '2020-01-01T00:00:00Z' }))
    roles.add(role('reader', 'Reader', { isBuiltIn: true }))
    expect(roles.choose('Reader').first).to.equal('reader')
  })
})

describe('createAccess', () => {
  it('compares each role with those of its name only', () => {
    let looked = 0
    const objects = Array.from({ length: 200 }, (_, at) => ({
      apiVersion: RoleDefinition.apiVersion,
      kind: RoleDefinition.kind,
      metadata: { name: `role-${at}` },
      spec: {
        get displayName() {
          looked += 1
          return `Role ${at}`
        },
        ...{ actions: ['jobs/read'], dataActions: [], notActions: [], notDataActions: [], assignableScopes: ['/'] },
        isBuiltIn: false,
      },
    }))
    const get = (resource: Resource) => {
      const held = resource.plural === RoleDefinition.plural ? objects : []
      return {
        get: (_namespace: string | undefined, name: string) => held.find(({ metadata }) => metadata.name === name),
        list: () => held,
        subscribe: (handler: CacheHandler<KubeObject>) => {
          for (const object of held) handler({ type: 'added', object: object as never })
          return () => undefined
        },
      }
    }
    createAccess({ caches: { has: () => false, get } as never, clock: systemClock, log: silentLog }).stop()
    expect(looked).to.be.lessThan(10 * objects.length)
  })
})
