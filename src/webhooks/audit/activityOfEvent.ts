import type { ActivityReport, ObservedAction, ResourcePath } from '../../api/records/activity/recorder.ts'
import { isActivityRecorded, outcomeOf, resourcePathOf, writtenStateOf } from '../../api/records/activity/subjects.ts'
import { type Actor, parseAuditId, UNCHANGED_ANNOTATION } from '../../contracts/activity.ts'
import { uuidV5 } from '../../core/ids.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { redacted } from '../../core/redaction.ts'
import { shownName } from '../../core/shownText.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'
import { actionsOfKinds, gatherKubernetesForms } from '../../iam/kubernetesForm.ts'
import { type OwnerOfPart, principalOfUser, type ScopeOfNamespace } from '../authorizer/question.ts'
import { type AuditEvent, isWrite, managerOf, objectsOf } from './events.ts'

const FORMS = gatherKubernetesForms(actionsOfKinds(KINDS))
const KIND_BY_RESOURCE: ReadonlyMap<string, AnyKind> = new Map(
  KINDS.filter(isActivityRecorded).map((kind) => [`${kind.resource.group}/${kind.resource.plural}`, kind]),
)
const ACCOUNT_PREFIX = `system:serviceaccount:${SYSTEM_NAMESPACE}:`
const FACADE = `${ACCOUNT_PREFIX}freehold-facade`

export type AuditLookups = {
  scopeOfNamespace: ScopeOfNamespace
  ownerOfPart: OwnerOfPart
  exists: (resource: ResourcePath) => boolean
}

/** Returns what an audit event reports about resources; nothing for most events. */
export function activityOfEvent(event: AuditEvent, lookups: AuditLookups): ActivityReport[] {
  const { objectRef, responseStatus } = event
  const kind = KIND_BY_RESOURCE.get(`${objectRef?.apiGroup}/${objectRef?.resource}`)
  const outcome = outcomeOf(responseStatus?.code ?? 0)
  if (kind === undefined || outcome === undefined || objectRef === undefined || !isWrite(event)) return []
  // The facade itself reports what was refused to it, and controllers retry.
  if (outcome !== 'Succeeded' && event.user.username.startsWith(ACCOUNT_PREFIX)) return []
  if (outcome === 'Succeeded' && isUnchanged(event)) return []
  const namespaceScope = lookups.scopeOfNamespace(objectRef.namespace)
  return objectsOf(event).flatMap(({ name, object }) => {
    const resourceName = ownerName(kind, { namespace: objectRef.namespace, name, object }, lookups)
    const resource =
      resourceName && resourcePathOf(kind.partOf?.collection ?? kind.segment, namespaceScope, resourceName)
    if (!resource) return []
    if (outcome !== 'Succeeded' && !lookups.exists(resource)) return []
    const observed = observedActionOf(event, kind, { name, object, outcome })
    return observed === undefined ? [] : [{ resource, observed }]
  })
}

/** The API server annotates no-op writes. A write for a REST request is reported even if it changed nothing. */
const isUnchanged = (event: AuditEvent) =>
  event.annotations[UNCHANGED_ANNOTATION] === 'true' && originOf(event).entryId === undefined

type Of = { namespace: string; name: string; object: unknown }

function ownerName(kind: AnyKind, { namespace, name, object }: Of, { ownerOfPart }: AuditLookups): string | undefined {
  const { partOf } = kind
  if (partOf === undefined) return name
  if ('nameOf' in partOf) return partOf.nameOf(name)
  const { spec } = (object ?? {}) as { spec?: Record<string, unknown> }
  const owner = spec?.[partOf.field]
  return typeof owner === 'string' ? owner : ownerOfPart(kind, namespace, name)
}

const isDeletion = (verb: string) => verb === 'delete' || verb === 'deletecollection'

type What = { name: string; object: unknown; outcome: 'Succeeded' | 'Refused' | 'Failed' }

function observedActionOf(
  event: AuditEvent,
  kind: AnyKind,
  { name, object, outcome }: What,
): ObservedAction | undefined {
  const { verb, objectRef, responseStatus } = event
  const subresource = objectRef?.subresource ?? ''
  const whole = subresource === '' ? kind.resource.plural : `${kind.resource.plural}/${subresource}`
  const isDelete = isDeletion(verb)
  const { metadata } = (object ?? {}) as { metadata?: { resourceVersion?: string } }
  const origin = originOf(event)
  const isOwnPart = kind.partOf !== undefined
  const { after, part } = stateOf(event, kind, { name, object, outcome })
  // A request may also write to the object that contains its target.
  const isOfRequest = origin.entryId !== undefined && kind.placement === 'group'
  // Updates of finalizers and annotations by controllers are not activity.
  if (origin.channel === 'Platform' && (isOwnPart || (after === undefined && !isDelete))) return undefined
  return {
    id:
      origin.entryId ?? uuidV5([event.auditID, userOf(event), event.requestReceivedTimestamp, whole, name].join('\n')),
    occurredAt: new Date(event.requestReceivedTimestamp).toISOString(),
    action:
      FORMS.actionOf(kind.resource.group, whole, verb) ??
      `${kind.actions ?? kind.segment}/${isDelete ? 'delete' : 'write'}`,
    operation: subresource === '' ? verb : `${verb} ${subresource}`,
    actor: origin.actor,
    channel: origin.channel,
    outcome,
    statusCode: responseStatus?.code,
    metadata: { ...metadataOf(event, origin), ...(isOwnPart && { part: `${kind.plural}/${name}` }) },
    // All addresses but the last are claims of the client.
    remoteAddress: origin.channel === 'Kubernetes' ? event.sourceIPs.at(-1)?.slice(0, 64) : undefined,
    version: isDelete ? undefined : metadata?.resourceVersion,
    after,
    part,
    ...(origin.entryId !== undefined && { isSecondHand: true }),
    ...(origin.channel === 'Platform' && { onlyIfKnown: true }),
    ...((after ?? part) !== undefined && verb !== 'create' && !isOfRequest && { onlyIfChanged: true }),
  }
}

/** Returns what the client says about itself, and the reason of a refusal. */
function metadataOf(event: AuditEvent, { channel }: EventOrigin): Record<string, string> {
  const { responseStatus, userAgent } = event
  const agent = channel === 'Kubernetes' ? shownName(userAgent, 200) : undefined
  const manager = shownName(managerOf(event) ?? '', 128)
  return {
    ...(responseStatus?.reason !== undefined && { reason: responseStatus.reason.slice(0, 64) }),
    ...(agent !== undefined && { userAgent: redacted(agent) }),
    ...(manager !== undefined && { fieldManager: redacted(manager) }),
  }
}

/** Returns the state of the object after the write; of a part only enough to see whether it changed. */
function stateOf(
  { verb, objectRef, responseStatus }: AuditEvent,
  kind: AnyKind,
  { object, outcome }: What,
): Pick<ObservedAction, 'after' | 'part'> {
  if (isDeletion(verb) || outcome !== 'Succeeded') return {}
  if (kind.partOf === undefined)
    return { after: afterWrite(kind, objectRef?.subresource ?? '', object, responseStatus?.code === 201) }
  const after = writtenStateOf(object, false)
  if (after === undefined || 'replicas' in after) return {}
  return { part: { uid: after.uid, state: `${after.generation} ${after.labelling}`.trimEnd() } }
}

function afterWrite(kind: AnyKind, subresource: string, object: unknown, isNew: boolean): ObservedAction['after'] {
  if (subresource === '') return writtenStateOf(object, isNew)
  const { spec } = (object ?? {}) as { spec?: { replicas?: unknown } }
  const pointer = kind.scale?.replicas.replace(/^\.?spec/, '').replaceAll('.', '/')
  const replicas = spec?.replicas ?? 0
  if (subresource !== 'scale' || pointer === undefined || typeof replicas !== 'number') return undefined
  return { replicas, pointer }
}

type EventOrigin = { channel: 'Rest' | 'Platform' | 'Kubernetes'; actor: Actor; entryId?: string }

const userOf = ({ user, impersonatedUser }: AuditEvent) => impersonatedUser?.username ?? user.username

/** Clients may choose the audit id, so only the one of the facade refers to an activity entry. */
function originOf(event: AuditEvent): EventOrigin {
  const user = userOf(event)
  if (user.startsWith(ACCOUNT_PREFIX)) {
    const origin = user === FACADE ? parseAuditId(event.auditID) : undefined
    if (origin === undefined) return { channel: 'Platform', actor: { platform: true } }
    return { channel: 'Rest', actor: { principalId: origin.principalId }, entryId: origin.entryId }
  }
  const principalId = principalOfUser(user)
  const actor = principalId === undefined ? { kubernetes: user.slice(0, 256) } : { principalId }
  return { channel: 'Kubernetes', actor }
}
