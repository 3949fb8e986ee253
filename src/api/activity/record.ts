import { z } from 'zod'
import type { Entry, ResourcePath } from '../../adapters/activity/port.ts'
import { CHANNELS, OUTCOMES } from '../../contracts/activity.ts'
import type { Principal } from '../callers/principals.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { scopeOf } from '../records/activity/subjects.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'

const ACTOR_TYPES = ['User', 'ServicePrincipal', 'Platform', 'Kubernetes'] as const

const ActivityActor = namedRecord('ActivityActor', {
  principalId: Uuid.nullable(),
  principalType: z.enum(ACTOR_TYPES).describe('Kubernetes: known only to the cluster, by its name there'),
  displayName: z.string().describe('The current name; the id of a deleted principal'),
})

const Value = z.union([z.string(), z.number(), z.boolean()]).meta({ id: 'ActivityValue' }).nullable()
const ActivityChange = z
  .object({ path: z.string().describe('JSON pointer below the spec'), from: Value, to: Value })
  .describe('Secrets are "***" on both sides')
  .meta({ id: 'ActivityChange' })

export const ActivityEntry = namedRecord('ActivityEntry', {
  id: Uuid,
  occurredAt: DateTime,
  action: z.string().describe("The action of access control; for reported entries, the caller's own word"),
  operation: z.string().nullable(),
  resourceType: z.string(),
  resourceName: z.string(),
  resourceGroup: z.string().describe('Empty in what is told of the boundary itself'),
  boundaryId: Uuid,
  scope: z.string(),
  actor: ActivityActor,
  channel: z.enum(CHANNELS).describe('Reported: written by a caller, not seen by the platform'),
  outcome: z.enum(OUTCOMES),
  statusCode: z.int().nullable(),
  message: z.string().nullable(),
  changes: z.array(ActivityChange),
  metadata: z.record(z.string(), z.string()),
  correlationId: z.string().nullable(),
  traceId: z.string().nullable(),
  remoteAddress: z.string().nullable(),
})
export type ActivityEntry = z.output<typeof ActivityEntry>

export function entryDto(entry: Entry, resource: ResourcePath, known: ReadonlyMap<string, Principal>): ActivityEntry {
  return wholeRecord(ActivityEntry, {
    ...entry,
    ...resource,
    scope: scopeOf(resource),
    actor: actorDto(entry, known),
    changes: [...entry.changes],
  })
}

function actorDto({ actor }: Entry, known: ReadonlyMap<string, Principal>): ActivityEntry['actor'] {
  if ('platform' in actor) return { principalId: null, principalType: 'Platform', displayName: 'Freehold' }
  if ('kubernetes' in actor) return { principalId: null, principalType: 'Kubernetes', displayName: actor.kubernetes }
  const { principalId } = actor
  const { principalType: type, displayName } = known.get(principalId) ?? {}
  const principalType = type === 'ServicePrincipal' ? type : 'User'
  return { principalId, principalType, displayName: displayName ?? principalId }
}
