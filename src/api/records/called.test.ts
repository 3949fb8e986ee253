import { expect } from 'chai'
import { fittingName, sampleName, sampleSpec } from '../../../test/make/samples.ts'
import { recordsWorld } from '../../../test/worlds/recordsWorld.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject, ObjectRef } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'
import { holderOf } from '../../crds/parts.ts'
import { KubeError, type KubeErrorReason } from '../../kube/errors.ts'
import type { Caller } from '../http/context.ts'
import { toPlatformError } from '../http/problem.ts'
import { SERVED_ROUTES } from '../index.ts'

const boundaryId = '11111111-1111-4111-8111-111111111111'
const principalId = '22222222-2222-4222-8222-222222222222'
const caller: Caller = { principalId, principalType: 'User', expiresAt: 0 }
const outdated = [{ uidPrefix: 'never', generation: 0 }]

/** The literal segments of all paths, which include the names of collections. */
const WORDS = new Set(SERVED_ROUTES.flatMap(({ path }) => path.split('/').filter((word) => !word.startsWith('{'))))
/** Kinds whose objects callers do not name. */
const WITHIN = new Set(['NameClaim', 'QuotaLedger', 'ComputePlan', 'PlatformClient'])

const messageOf = async (work: () => Promise<unknown>): Promise<string> => {
  try {
    await work()
  } catch (error) {
    return toPlatformError(error).message
  }
  throw new Error('It was not refused.')
}

describe('the message of a refused write', () => {
  for (const kind of KINDS.filter((each) => !WITHIN.has(each.kind) && each.writtenByPlatform === undefined)) {
    it(`names the collection and the object as in paths, not as in Kubernetes: ${kind.kind}`, async () => {
      const given = sampleSpec(kind, { boundaryId, ownerId: principalId, memberId: principalId })
      const spec = kind.spec.parse(given)
      const name = kind.name === 'free' ? nameOf(kind, given) : fittingName(kind, given)
      const { ofRecords, ofServer } = await refusalsOf(kind, { namespace: spaceOf(kind), name }, spec)
      const texts = [...ofRecords, ...ofServer]
      const allMessages = texts.join('\n')
      const collections = texts.flatMap((text) => /^"[^"]+" of (\w[\w-]*)/.exec(text)?.[1] ?? [])
      expect(collections, allMessages).to.have.length.least(ofRecords.length)
      expect(
        collections.filter((word) => !WORDS.has(word)),
        allMessages,
      ).to.deep.equal([])
      if (kind.name === 'free') expect(allMessages).to.not.include(name)
      for (const text of ofRecords) expect(text).to.include(holderOf(kind, name, spec) ?? '')
    })
  }
})

/** The messages while the object exists, and those for errors of the API server. */
async function refusalsOf(kind: AnyKind, ref: ObjectRef, spec: object) {
  const { records, client, caches } = recordsWorld()
  for (const { resource } of KINDS) if (!caches.has(resource)) caches.add(resource)
  const seed = (more: object) => {
    const { apiVersion, kind: type } = kind
    client.seed(kind.resource, { apiVersion, kind: type, metadata: { ...ref, ...more }, spec } as KubeObject)
  }
  const create = () => records.create(kind, { ...ref, spec, caller, isSame: () => false })
  seed({})
  const ofRecords = [
    await messageOf(create),
    await messageOf(() => records.update(kind, ref, { caller, ifMatch: outdated, change: () => spec })),
    await messageOf(() => records.remove(kind, ref, { caller, ifMatch: outdated })),
  ]
  seed({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['freehold.dev/teardown'] })
  ofRecords.push(await messageOf(create))
  const reasons = ['Conflict', 'AlreadyExists', 'NotFound'] as const
  const detail = { status: 409, resource: kind.resource, ...ref }
  const refused = (reason: KubeErrorReason) => messageOf(() => Promise.reject(new KubeError(reason, 'inside', detail)))
  return { ofRecords, ofServer: await Promise.all(reasons.map(refused)) }
}

/** An object name that does not occur in requests. */
const nameOf = (kind: AnyKind, spec: object) =>
  kind.partOf === undefined ? `inner-${kind.resource.plural}` : sampleName(kind, spec)

function spaceOf({ placement }: AnyKind): string | undefined {
  if (placement === 'cluster') return undefined
  if (placement === 'group') return groupNamespace(boundaryId, 'shop')
  return placement === 'platform' ? SYSTEM_NAMESPACE : boundaryNamespace(boundaryId)
}
