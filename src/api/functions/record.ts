import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { refusedFields } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import {
  BUILD_STATES,
  FunctionNamespace,
  type ServerlessFunction as Kind,
  ServerlessFunction,
  triggersOf,
} from '../../crds/functions.ts'
import { everRuns, isTimeZone } from '../../crds/schedule.ts'
import type { Context } from '../http/context.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import type { ResourceLocation } from '../resources/find.ts'
import { nextRunAt } from '../resources/nextRunAt.ts'
import { recordOf } from '../resources/record.ts'
import { refuseMissingReferences, requireReferenceRights, requireVaultRights } from '../resources/references.ts'
import type { ResourceView, WriteView } from '../resources/types.ts'
import { listReadableSecrets, secretsForNewCode } from './namespaceSecrets.ts'

export type FunctionView = ResourceView<typeof ServerlessFunction>
type Write = WriteView<typeof ServerlessFunction>
type Draft = Partial<Kind['spec']>

const namespaceOf = ({ services, object: { metadata, spec } }: Pick<FunctionView, 'services' | 'object'>) =>
  services.records.peek(FunctionNamespace, { namespace: metadata.namespace, name: spec.namespaceName })

/** FunctionDto (records: functions). */
const record = recordOf(ServerlessFunction, {
  id: 'FunctionDto',
  headless: ['name', 'collection', 'clusterName', 'region'],
  hidden: ['namespaceName', 'functionName', 'image', 'source', 'cancelledDeployment', 'namespaceSecrets'],
  computed: {
    name: [z.string(), ({ object }) => object.spec.functionName],
    namespaceName: [z.string(), ({ object }) => object.spec.namespaceName],
    sourceHash: [
      z.string().nullable().describe('SHA-256 of the stored source; null without one'),
      ({ object }) => object.spec.source?.hash,
    ],
    sourceUpdatedAt: [DateTime.nullable(), ({ object }) => object.spec.source?.uploadedAt],
    buildStatus: [
      z.enum(BUILD_STATES),
      ({ object }) => object.status?.buildStatus ?? (object.spec.source === undefined ? 'NoSource' : 'Queued'),
    ],
    lastDeploymentId: [
      Uuid.nullable(),
      ({ object }) => object.spec.source?.deploymentId ?? object.status?.lastDeploymentId,
    ],
    invokeUrl: [z.string().nullable().describe('Where its first path answers from outside'), invokeUrl],
    readyReplicas: z.int(),
  },
  items: {
    env: {},
    triggers: {
      nextRunAt: [DateTime.nullable().describe('Of a Timer, when it fires next'), nextRunOf],
      lastRunAt: [
        DateTime.nullable().describe('Of a Timer, the last time that it fired for'),
        ({ name }, { object }) => object.status?.lastRuns?.[String(name)],
      ],
    },
  },
  filled: { triggers: ({ object }) => triggersOf(object.spec) },
  refine: (draft, view) => {
    const { name, namespaceName } = view as Write & { namespaceName: string }
    // The default trigger is not stored if a record is sent back as read.
    const defaultTriggers = triggersOf({ functionName: name })
    const isDefault =
      draft.triggers !== undefined && isDeepStrictEqual(triggersOf({ functionName: name, ...draft }), defaultTriggers)
    const triggers = isDefault && view.previous?.spec.triggers === undefined ? undefined : draft.triggers
    refuse({ ...draft, triggers }, view)
    // Without a plan the function uses that of its namespace, so no default is stored.
    const computePlan = (view.context.body as { computePlan?: string | null } | undefined)?.computePlan ?? undefined
    const namespaceSecrets = grantedSecrets(draft, { ...view, namespaceName })
    return { namespaceName, functionName: name, triggers, computePlan, namespaceSecrets, clusterId: undefined } as Draft
  },
})

/** A function has no cluster of its own, but that of its namespace. */
export const functionRecord = {
  ...record,
  toDto: (view: FunctionView): Record<string, unknown> => {
    const { clusterId: _, ...dto } = record.toDto(view)
    return dto
  },
}

function invokeUrl(view: FunctionView): string | null {
  const url = namespaceOf(view)?.status?.publicUrl
  const [path] = view.object.status?.paths ?? []
  return url === undefined || path === undefined ? null : `${url}${path}`
}

function nextRunOf({ kind, schedule, timeZone }: Record<string, unknown>, view: FunctionView): string | null {
  const { services, object } = view
  const isOn = object.spec.enabled && namespaceOf(view)?.spec.running !== false
  if (kind !== 'Timer' || !isOn || !isTimeZone(String(timeZone)) || !everRuns(String(schedule))) return null
  return nextRunAt(services, String(schedule), String(timeZone))
}

const contentOf = ({ env = [], handler }: Draft) => ({ env, handler })
const changesCode = (draft: Draft, before: Draft | undefined) =>
  before === undefined || !isDeepStrictEqual(contentOf(draft), contentOf(before))

/** Returns what the function may be given after this write: never more than before. */
function grantedSecrets(draft: Draft, view: Write & { namespaceName: string }): string[] {
  const before = view.previous?.spec
  if (before === undefined) return secretsForNewCode(view)
  return changesCode(draft, before) ? listReadableSecrets(before.namespaceSecrets, view) : before.namespaceSecrets
}

/** @throws PlatformError FORBIDDEN, REFERENCE_NOT_FOUND, BAD_REQUEST */
function refuse(draft: Draft, view: Write): void {
  const before = view.previous?.spec
  if (changesCode(draft, before)) requireFunctionCodeRights(draft, view)
  const { triggers = [] } = draft
  if (!isDeepStrictEqual(triggers, before?.triggers ?? [])) {
    requireVaultRights(
      triggers.flatMap(({ keySecret }) => keySecret?.vaultName ?? []),
      view,
    )
  }
  const keysOf = (list: NonNullable<Draft['triggers']>) => list.map(({ keySecret }) => ({ secret: keySecret }))
  const known = [...(before?.env ?? []), ...keysOf(before?.triggers ?? [])]
  refuseMissingReferences({ env: draft.env, triggers: keysOf(triggers) }, known, view)
  for (const [at, { timeZone = 'UTC', schedule }] of triggers.entries()) {
    if (schedule !== undefined && !everRuns(schedule)) {
      const message = 'must occur at some time: ranges go upwards, and days exist in their months'
      throw refusedFields([{ field: `triggers.${at}.schedule`, message }])
    }
    if (isTimeZone(timeZone)) continue
    const message = `"${timeZone}" is not a time zone that the platform knows`
    throw refusedFields([{ field: `triggers.${at}.timeZone`, message }])
  }
}

type RightsContext = ResourceLocation & { services: Write['services']; context: Context; namespaceName?: string }

/**
 * Code can read everything that its function and its namespace refer to, and has their identity, so whoever brings code
 * must be allowed to read all of it.
 * @throws PlatformError FORBIDDEN
 */
export function requireFunctionCodeRights({ env = [] }: Draft, view: Omit<RightsContext, 'name'>): void {
  const namespaceName = view.namespaceName ?? view.context.parameters.namespaceName ?? ''
  const { services, boundaryId, resourceGroup } = view
  const namespace = groupNamespace(boundaryId, resourceGroup)
  const functionNamespace = services.records.peek(FunctionNamespace, { namespace, name: namespaceName })
  const { env: namespaceEnv = [], managedIdentity } = functionNamespace?.spec ?? {}
  requireReferenceRights({ components: [{ env }, { env: namespaceEnv }], managedIdentity }, view)
}
