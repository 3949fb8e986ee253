import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { PRINCIPAL_INCARNATIONS_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { DenyAssignment, PrincipalGroup } from '../../crds/rbac.ts'
import type { Services } from '../http/context.ts'
import { refuseEscapingDenies } from './denies.ts'
import { groupsIn } from './grants.ts'

const [BOUNDARY, CALLER] = [randomUUID(), randomUUID()]

describe('groupsIn', () => {
  it('reads the annotation of a group once, not once per member', () => {
    let reads = 0
    const memberIds = Array.from({ length: 500 }, () => randomUUID())
    const namespace = boundaryNamespace(BOUNDARY)
    const metadata = {
      ...{ name: randomUUID(), namespace },
      get annotations() {
        reads += 1
        return { [PRINCIPAL_INCARNATIONS_ANNOTATION]: JSON.stringify({ [memberIds[0] ?? '']: 'former' }) }
      },
    }
    const peekAll = (_kind: unknown, at: { namespace: string }) =>
      at.namespace === namespace ? [{ metadata, spec: { memberIds } }] : []
    const services = { records: { peek: () => undefined, peekAll } } as unknown as Services
    expect(groupsIn(services, BOUNDARY).get(metadata.name)).to.deep.equal(memberIds.slice(1))
    expect(reads).to.equal(1)
  })
})

describe('refuseEscapingDenies, with many denies', () => {
  const namespace = boundaryNamespace(BOUNDARY)
  const team = randomUUID()
  const groups = [{ metadata: { name: team, namespace }, spec: { displayName: 'Team', memberIds: [CALLER] } }]
  const denies = Array.from({ length: 500 }, () => ({
    metadata: { name: randomUUID(), namespace },
    spec: { principalId: team, isEveryone: false, excludedPrincipalIds: [], actions: ['jobs/write'], dataActions: [] },
  }))
  let lists = 0
  const services = {
    clock: { now: () => 0 },
    records: {
      peek: () => undefined,
      peekAll: (kind: { kind: string }, at: { namespace: string }) => {
        if (at.namespace !== namespace) return []
        lists += kind.kind === PrincipalGroup.kind ? 1 : 0
        return kind.kind === DenyAssignment.kind ? denies : groups
      },
    },
  } as unknown as Services
  const change = (memberIds: string[]) => () =>
    refuseEscapingDenies(services, { principalId: CALLER }, BOUNDARY, new Map([[team, memberIds]]))

  it('lists the groups once, not once per deny', () => {
    lists = 0
    expect(change([CALLER, randomUUID()])).not.to.throw()
    expect(lists).to.equal(1)
  })

  it('refuses a change by which the caller escapes a deny', () => {
    expect(change([])).to.throw('A deny applies to you through a group')
  })
})
