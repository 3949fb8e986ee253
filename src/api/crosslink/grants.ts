import { z } from 'zod'
import {
  CROSSLINK_GRANTS_SECRET,
  CROSSLINK_NAME,
  GRANT_TTL_MS,
  type Grant,
  type GrantEntries,
  newestGrant,
  SITE_STATUS,
  selectSpokeGrant,
  withGrant,
} from '../../contracts/crosslink.ts'
import { timestamp } from '../../core/clock.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { secretData, secretTexts } from '../../core/secretData.ts'
import { BoundaryCrosslink } from '../../crds/crosslink.ts'
import { created, NO_STORE, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { action, route } from '../http/route.ts'
import { Uuid } from '../resources/dto.ts'
import { findBoundary } from '../resources/find.ts'
import { pollUntilChanged } from '../resources/pollUntilChanged.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { refusePast } from '../rules/expiry.ts'
import { type CrosslinkContext, findEnabledCrosslink } from './find.ts'
import { CrosslinkAccessGrant, type CrosslinkRecord } from './record.ts'

const admin = action('crosslink/admin')
const HIDDEN = { headers: NO_STORE }
/** How long the hub may take to become active, and then to issue a grant, in milliseconds. */
const HUB_TIMEOUT_MS = 10_000

async function entriesOf({ services }: CrosslinkContext, namespace: string): Promise<GrantEntries> {
  return secretTexts(await services.crosslink.secrets.read(namespace, CROSSLINK_GRANTS_SECRET)) as GrantEntries
}

/** Changes entries of the grants Secret under a lock shared by all facade replicas. */
function changeGrants<T>(
  context: CrosslinkContext,
  { apiVersion, kind, metadata }: CrosslinkRecord,
  change: (entries: GrantEntries) => { answer: T; entries: GrantEntries | undefined },
): Promise<T> {
  const { namespace = '', name, uid = '' } = metadata
  return context.services.records.exclusively(`crosslink-grants/${namespace}`, async () => {
    const { answer, entries } = change(await entriesOf(context, namespace))
    const ref = { namespace, name: CROSSLINK_GRANTS_SECRET }
    if (entries !== undefined)
      await context.services.crosslink.secrets.put(ref, secretData(entries as Record<string, string>), {
        ...{ apiVersion, kind, name, uid, labels: {}, incarnation: metadata.annotations?.[INCARNATION_ANNOTATION] },
      })
    return answer
  })
}

/** Stores a grant that the hub's agent reports; without a body, requests one. */
async function grant(context: CrosslinkContext<unknown, Grant | undefined>) {
  const found = await findEnabledCrosslink(context)
  const { body, services, parameters } = context
  refuseWhileDeleting(await findBoundary(context, parameters.boundaryId))
  if (body === undefined) return issue(context, found)
  const now = services.clock.now()
  refusePast(now, 'expiresUtc', body)
  const stored = { ...body, expiresUtc: timestamp(Math.min(Date.parse(body.expiresUtc), now + GRANT_TTL_MS)) }
  await changeGrants(context, found, ({ reported }) => ({
    answer: undefined,
    entries: { reported: withGrant(reported, stored, now) },
  }))
  return ok(stored, HIDDEN)
}

/** @throws PlatformError ENGINE_MISSING, SERVICE_UNAVAILABLE */
async function issue(context: CrosslinkContext, { metadata: { namespace = '' } }: CrosslinkRecord) {
  const { records, clock } = context.services
  const becomes = (isTrue: () => boolean) => pollUntilChanged(context as Context, async () => isTrue(), HUB_TIMEOUT_MS)
  const status = () => records.peek(BoundaryCrosslink, { namespace, name: CROSSLINK_NAME })?.status
  const isActive = () => status()?.hub?.status === SITE_STATUS.active
  // A link that was just enabled becomes active within moments.
  await becomes(() => isActive() || status()?.phase === 'EngineMissing')
  if (status()?.phase === 'EngineMissing')
    throw new PlatformError('ENGINE_MISSING', 'The hub has no Skupper that makes grants.', { engine: 'skupper' })
  if (!isActive()) throw tryAgain('The hub is not active')
  // The hub answers only the newest request, and a grant is for one spoke.
  return records.exclusively(`crosslink-request/${namespace}`, async () => {
    const requestedAt = await requestGrant(context, namespace)
    if (!(await becomes(() => status()?.grantIssuedFor === requestedAt)))
      throw tryAgain('The hub made no grant in time')
    const issued = newestGrant(await entriesOf(context, namespace), clock.now())
    if (issued === undefined) throw tryAgain('The grant has already ended')
    return created(issued, HIDDEN)
  })
}

async function requestGrant({ services, caller }: CrosslinkContext, namespace: string): Promise<string> {
  const requestedAt = new Date(services.clock.now()).toISOString()
  await services.records.update(
    BoundaryCrosslink,
    { namespace, name: CROSSLINK_NAME },
    { caller, change: ({ spec }) => ({ ...spec, grantRequestedAt: requestedAt }) },
  )
  return requestedAt
}

function tryAgain(message: string): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', `${message}: try again.`, { retryAfterSeconds: 10 })
}

/** Returns the same grant to a spoke while it is valid, and never one that another spoke got. */
async function openGrant(context: CrosslinkContext<{ clusterId: string }>) {
  const { clusterId } = context.query
  const missing = () => notFound(`An open grant for cluster "${clusterId}"`)
  const found = await findEnabledCrosslink(context).catch((error) => {
    throw error instanceof PlatformError && error.code === 'CROSSLINK_DISABLED' ? missing() : error
  })
  const now = context.services.clock.now()
  const answer = await changeGrants(context, found, (entries) => {
    const given = selectSpokeGrant(entries, clusterId, now)
    return { answer: given?.grant, entries: given?.taken === undefined ? undefined : { taken: given.taken } }
  })
  if (answer === undefined) throw missing()
  return ok(answer, HIDDEN)
}

export const grantRoute = route('POST', '{B}/crosslink/access-grant', {
  auth: admin,
  summary: 'Report a grant that the hub made; without a body, request one',
  body: CrosslinkAccessGrant,
  isBodyOptional: true,
  reply: CrosslinkAccessGrant,
  handler: grant as never,
})

export const grantReadRoute = route('GET', '{B}/crosslink/access-grant', {
  auth: admin,
  summary: 'The grant with which a spoke links to the hub',
  query: z.strictObject({ clusterId: Uuid.describe('Of the spoke') }),
  reply: CrosslinkAccessGrant,
  handler: openGrant as never,
})
