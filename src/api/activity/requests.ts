import type { ResourcePath } from '../../adapters/activity/port.ts'
import { redacted } from '../../core/redaction.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { levelsOf } from '../callers/scopes.ts'
import type { FinishedRequest } from '../http/requestObserver.ts'
import type { Route } from '../http/route.ts'
import type { ActivityReport } from '../records/activity/recorder.ts'
import { kindOfSegment, outcomeOf, resourcePathOf, writtenStateOf } from '../records/activity/subjects.ts'

const MESSAGE_MAX = 512

/**
 * Returns a request as an activity entry of the resource in its path. Left out are reads, no-ops, requests that are not
 * about one resource, and failures at a resource that does not exist, since callers can invent names.
 */
export function activityOfRequest(
  request: FinishedRequest,
  isThere: (resource: ResourcePath) => boolean,
): ActivityReport | undefined {
  const { route, segments } = request.match
  const resource = resourceOf(request)
  if (resource === undefined || route.authorization.kind !== 'iam') return undefined
  const { action } = route.authorization
  if (/\/read[A-Za-z]*$/.test(action)) return undefined
  const outcome = outcomeOf(request.status)
  if (outcome === 'Succeeded' && request.isUnchanged) return undefined
  if (outcome === undefined || (outcome !== 'Succeeded' && !isThere(resource))) return undefined
  const kind = kindOfSegment(resource.resourceType)
  const matching = request.written.filter(
    ({ resource: { plural }, object }) => plural === kind?.plural && object.metadata.name === resource.resourceName,
  )
  const newest = matching.at(-1)?.object
  // A part that may contain arbitrary text, such as a row key, is not recorded.
  const part = route.opaque.length > 0 ? '' : segments.slice(7).join('/')
  const { depth } = levelsOf(route)
  return {
    resource,
    observed: {
      id: request.id,
      occurredAt: new Date(request.beganAt).toISOString(),
      action,
      operation: route.operation ?? `${route.method} ${route.path.split('/').slice(OWN_INDEX[depth]).join('/')}`,
      actor: { principalId: request.caller.principalId },
      channel: 'Rest',
      outcome,
      statusCode: request.status,
      message: request.error && redacted(request.error.message).slice(0, MESSAGE_MAX),
      metadata: {
        ...(request.error !== undefined && { code: request.error.code }),
        ...(part !== '' && { path: redacted(part).slice(0, 256) }),
      },
      correlationId: request.correlationId,
      traceId: request.traceId,
      remoteAddress: request.address,
      version: newest?.metadata.resourceVersion,
      after: writtenStateOf(newest, request.status === 201),
    },
  }
}

/** By depth of a path, the index of its own segments; those before name the container. */
const OWN_INDEX = [1, 1, 3, 6] as const

/** Whether a route below a boundary changes the boundary itself: its quota, its tenant, general access to it. */
const isAboutBoundary = ({ authorization }: Route) =>
  authorization.kind === 'iam' && /^boundaries\/(create|manage|delete|tenant\/admin)$/.test(authorization.action)

function resourceOf({ match: { route, segments }, written }: FinishedRequest): ResourcePath | undefined {
  const [, boundaryId = '', , resourceGroup = '', , resourceType = '', resourceName = ''] = segments
  const { depth } = levelsOf(route)
  if (depth === 3)
    return kindOfSegment(resourceType) && resourcePathOf(resourceType, { boundaryId, resourceGroup }, resourceName)
  if (depth === 2 && segments.length === 4) return resourcePathOf(ResourceGroup.segment, { boundaryId }, resourceGroup)
  if (depth === 1 && (segments.length === 2 || isAboutBoundary(route)))
    return resourcePathOf(Boundary.segment, undefined, boundaryId)
  // The boundary that the request created.
  const own = written.find(({ resource }) => resource.plural === Boundary.plural)
  return own && resourcePathOf(Boundary.segment, undefined, own.object.metadata.name)
}
