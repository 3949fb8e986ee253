import { expect } from 'chai'
import { recordsWorld } from '../../../test/worlds/recordsWorld.ts'
import {
  INCARNATION_ANNOTATION,
  PRINCIPAL_INCARNATIONS_ANNOTATION,
  ROLE_INCARNATION_ANNOTATION,
} from '../../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { PlatformClient, PlatformUser } from '../../crds/identity.ts'
import { JitRequest, PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import type { Caller } from '../http/context.ts'

const B = '11111111-1111-4111-8111-111111111111'
const caller: Caller = { principalId: '22222222-2222-4222-8222-222222222222', principalType: 'User', expiresAt: 0 }

describe('records that name principals', () => {
  it('are annotated with the incarnations of these and of the role', async () => {
    const { client, caches, records } = recordsWorld()
    const [ANNA, BERT, TEAM] = ['a', 'b', 'c'].map((digit) => `${digit.repeat(8)}-1111-4111-8111-111111111111`) as [
      string,
      string,
      string,
    ]
    for (const kind of [PlatformUser, PlatformClient, PrincipalGroup, RoleDefinition, RoleAssignment, JitRequest])
      caches.add(kind.resource)
    caches.start()
    await caches.whenAllSynced()
    const namespaceOfBoundary = boundaryNamespace(B)
    const createLive = async (kind: AnyKind, name: string, namespace: string | undefined, spec: object) =>
      client.create(kind.resource, {
        apiVersion: kind.apiVersion,
        kind: kind.kind,
        metadata: {
          name,
          ...(namespace === undefined ? {} : { namespace }),
          annotations: { [INCARNATION_ANNOTATION]: `life of ${name}` },
        },
        spec: kind.spec.parse(spec),
      } as KubeObject)
    for (const name of [ANNA, BERT]) await createLive(PlatformUser, name, SYSTEM_NAMESPACE, { userName: name })
    await createLive(RoleDefinition, 'custom', undefined, {
      displayName: 'Custom',
      actions: ['apps/read'],
      assignableScopes: ['/'],
    })
    const incarnationsOf = ({ metadata }: { metadata: KubeObject['metadata'] }) => [
      metadata.annotations?.[PRINCIPAL_INCARNATIONS_ANNOTATION],
      metadata.annotations?.[ROLE_INCARNATION_ANNOTATION],
    ]
    const grant = { principalId: ANNA, principalType: 'User', roleDefinitionName: 'Custom', scope: `/boundaries/${B}` }
    const requestFields = { justification: 'x', durationMinutes: 60 }
    const annas = JSON.stringify({ [ANNA]: `life of ${ANNA}` })
    for (const [kind, spec] of [
      [RoleAssignment, grant],
      [JitRequest, { ...grant, ...requestFields }],
    ] as const) {
      const { object } = await records.create(kind as AnyKind, {
        namespace: namespaceOfBoundary,
        name: BERT,
        spec,
        caller,
      })
      expect(incarnationsOf(object), kind.kind).to.deep.equal([annas, 'life of custom'])
    }
    const first = await records.create(Boundary, {
      name: TEAM,
      spec: { displayName: 'Shop', initialOwner: { principalId: ANNA, principalType: 'User' } },
      caller,
    })
    expect(incarnationsOf(first.object)).to.deep.equal([annas, undefined])
    const group = { namespace: namespaceOfBoundary, name: TEAM }
    const { object } = await records.create(PrincipalGroup, {
      ...group,
      spec: { displayName: 'Team', memberIds: [ANNA] },
      caller,
    })
    expect(incarnationsOf(object)).to.deep.equal([annas, undefined])
    const members = (memberIds: string[]) =>
      records.update(PrincipalGroup, group, { caller, change: ({ spec }) => ({ ...spec, memberIds }) })
    const both = JSON.stringify({ [ANNA]: `life of ${ANNA}`, [BERT]: `life of ${BERT}` })
    expect(incarnationsOf((await members([ANNA, BERT])).object)).to.deep.equal([both, undefined])
    expect(incarnationsOf((await members([])).object)).to.deep.equal([undefined, undefined])
    await caches.stopAll()
  })
})
