import { timestamp } from '../core/clock.ts'
import { CREATED_BY_ANNOTATION, INCARNATION_ANNOTATION } from '../core/labels.ts'
import { type KubeObject, refOf } from '../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../core/outcome.ts'
import { parseScope } from '../core/scope.ts'
import { namesCurrentPrincipal, type PrincipalLookup } from '../crds/principals.ts'
import { JitRequest, RoleAssignment } from '../crds/rbac.ts'
import { scopeIncarnationOf, scopeObject } from '../crds/scopeObjects.ts'
import { activeUntil, jitAssignmentName, jitAssignmentSpec, jitState, pendingUntil } from '../iam/jit.ts'
import { ignoreKubeAlreadyExists } from '../kube/errors.ts'
import type { Observed, Pass } from './engine/controller.ts'

type Assignment = RoleAssignment & KubeObject
type JitPass = Pass<typeof JitRequest>

/** An assignment wakes its request, because it may be revoked early. */
export const JIT_OBSERVES: readonly Observed[] = [
  {
    resource: RoleAssignment.resource,
    in: 'records',
    keysOf: ({ metadata, spec }) => {
      const { jitRequestId } = (spec ?? {}) as Partial<RoleAssignment['spec']>
      return jitRequestId === undefined ? [] : [`${metadata.namespace}/${jitRequestId}`]
    },
  },
]

/**
 * Milliseconds after an approval within which only the facade writes the assignment. A concurrent write of the
 * controller could re-create a role that was ended meanwhile. Later it writes it, in case the facade died.
 */
const FACADE_WRITE_TIMEOUT_MS = 2_000

/**
 * Gives an approved request its assignment, once, and revokes it when the request is ended early. The assignment itself
 * expires by its `expiresAt`. Timers only fire at ends.
 */
export async function keepTemporaryGrant(pass: JitPass): Promise<Outcome> {
  const request = pass.object
  const now = pass.clock.now()
  const state = jitState(request, now)
  const before = request.status?.state
  const until = activeUntil(request)
  if (state !== 'Active') {
    await withdraw(pass)
    pass.report({ state })
    if (before === 'Active') pass.event('Normal', 'Stopped', `${describe(request)} has ended.`)
    return state === 'Pending' ? done({ after: Math.max(0, (pendingUntil(request) ?? now) - now) }) : done()
  }
  const after = Math.max(0, (until ?? now) - now)
  if (assignmentOf(pass) === undefined) {
    if (request.status?.grantedAt !== undefined) {
      pass.report({ state: 'Ended' })
      pass.event('Normal', 'Stopped', `${describe(request)} was revoked before its end.`)
      return done()
    }
    const remainingMs = Date.parse(request.spec.decidedAt ?? '') + FACADE_WRITE_TIMEOUT_MS - now
    if (remainingMs > 0) return done({ after: remainingMs })
    const obstacle = await grant(pass)
    if (obstacle !== undefined) return obstacle
  }
  pass.report({
    state,
    grantedAt: request.status?.grantedAt ?? pass.now,
    ...(until === undefined ? {} : { activeUntil: timestamp(until) }),
  })
  if (before !== 'Active') pass.event('Normal', 'Available', `${describe(request)} until ${timestamp(until ?? now)}.`)
  return done({ after })
}

/**
 * Revokes the role before its request is deleted, so that no role outlives the record of why it was granted. Shortly
 * after an approval it waits, because the facade may still be writing the assignment.
 */
export async function revokeOnDeletion(pass: JitPass): Promise<Outcome> {
  const { metadata, spec } = pass.object
  if (spec.decision !== 'Approved') return done()
  const remainingMs = Date.parse(spec.decidedAt ?? '') + FACADE_WRITE_TIMEOUT_MS - pass.clock.now()
  // Not from the cache, which may lack what the facade wrote.
  const ref = { namespace: metadata.namespace, name: jitAssignmentName(pass.object) }
  await pass.records.client.remove(RoleAssignment.resource, ref)
  return remainingMs > 0 ? waiting('TearingDown', 'The role is being revoked.', remainingMs) : done()
}

function describe({ spec }: JitRequest): string {
  return `The role "${spec.roleDefinitionName}" at ${spec.scope} for ${spec.principalId}`
}

function assignmentOf(pass: JitPass): Assignment | undefined {
  const { namespace } = pass.object.metadata
  return pass.records.cache(RoleAssignment).get(namespace, jitAssignmentName(pass.object))
}

async function grant(pass: JitPass): Promise<Outcome | undefined> {
  const request = pass.object
  const incarnation = scopeIncarnationOf(request)
  const scope = parseScope(request.spec.scope)
  const target = scope === undefined ? undefined : scopeObject(scope)
  const isKnown = target !== undefined && pass.records.isCached(target.resource)
  const object = isKnown ? pass.records.cache(target.resource).get(target.namespace, target.name) : undefined
  const spec = jitAssignmentSpec(request, incarnation)
  if (spec === undefined || object?.metadata.annotations?.[INCARNATION_ANNOTATION] !== incarnation) {
    return stalled('ReferenceMissing', `What was at ${request.spec.scope} at the time of the request no longer exists.`)
  }
  const find: PrincipalLookup = (resource, principalNamespace, name) =>
    pass.records.cache(resource).get(principalNamespace, name)
  if (!namesCurrentPrincipal(find, request, request.spec.principalId))
    return stalled('ReferenceMissing', `${request.spec.principalId} did not make this request.`)
  const { namespace } = request.metadata
  // Read again: if the request was ended a moment ago, the facade's revocation must not be undone.
  const now = await pass.records.client.get<JitRequest & KubeObject>(JitRequest.resource, refOf(request as KubeObject))
  if (jitState(now, pass.clock.now()) !== 'Active') return done({ after: 1_000 })
  const annotations = request.spec.decidedBy === undefined ? {} : { [CREATED_BY_ANNOTATION]: request.spec.decidedBy }
  const { apiVersion, kind } = RoleAssignment
  const metadata = { name: jitAssignmentName(request), ...(namespace === undefined ? {} : { namespace }), annotations }
  const assignment = { apiVersion, kind, metadata, spec }
  // The facade also writes it, so that the next request already has the role; its event wakes us.
  if (
    (await pass.records.client.create(RoleAssignment.resource, assignment).catch(ignoreKubeAlreadyExists)) === undefined
  )
    return done({ after: 1_000 })
  return undefined
}

async function withdraw(pass: JitPass): Promise<void> {
  const found = assignmentOf(pass)
  if (found === undefined) return
  const { uid } = found.metadata
  await pass.records.client.remove(RoleAssignment.resource, refOf(found), uid === undefined ? {} : { uid })
}
