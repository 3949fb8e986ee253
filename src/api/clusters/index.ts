import { z } from 'zod'
import { CLUSTER_STATES, revokedAtOf, withToken } from '../../contracts/clusters.ts'
import { timestamp } from '../../core/clock.ts'
import { notFound, PlatformError, refusedFields } from '../../core/errors.ts'
import { uuidV5 } from '../../core/ids.ts'
import { FINALIZER } from '../../core/labels.ts'
import { newLinkToken } from '../../core/linkToken.ts'
import { isUuid, RESOURCE_NAME_MAX_LENGTH } from '../../core/names.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { DisplayName, ResourceName } from '../../crds/fields.ts'
import { acceptedEmpty, created, NO_STORE, noContent, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { DateTime, ignoredFields, Uuid } from '../resources/dto.ts'
import { defaultCluster } from '../resources/find.ts'
import { dateTime, enumeration, flag, text } from '../resources/paging.ts'
import { pollUntilChanged } from '../resources/pollUntilChanged.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { withKindDescriptions } from '../resources/writtenBody.ts'
import { type ClusterRecord, ClusterViewModel, clusterDto, countClusterUsers } from './record.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly clusters: {
      /** The URL at which agents connect and its CA; undefined if this platform accepts no agents. */
      readonly gate: { readonly serverUrl: string; readonly caPem: string; readonly caFingerprint: string } | undefined
    }
  }
}

const read = action('kernel/clusters/read')
const write = action('kernel/clusters/write')
/** Errors in this area are problem details (interface section 7). */
const errors = 'problem' as const
const ONE = '/clusters/{clusterId}'

const Domain = PlatformCluster.spec.shape.domain
const writable = {
  displayName: DisplayName.nullish(),
  region: PlatformCluster.spec.shape.region.unwrap().nullish(),
  labels: PlatformCluster.spec.shape.labels.unwrap().nullish(),
  ingressDomain: Domain.nullish(),
  defaultStorageClass: PlatformCluster.spec.shape.defaultStorageClass.nullish(),
}
const CreateClusterRequest = withKindDescriptions(
  strictRecord('CreateClusterRequest', { name: ResourceName.describe('Name for people and commands'), ...writable }),
  PlatformCluster,
)
const UpdateClusterRequest = strictRecord('UpdateClusterRequest', {
  ...writable,
  // Read-only fields are accepted, so that a record can be sent back as read.
  ...ignoredFields(Object.keys(ClusterViewModel.shape).filter((name) => !Object.hasOwn(writable, name))),
  name: z.string().max(RESOURCE_NAME_MAX_LENGTH).nullish().describe('As read; cannot be changed'),
})
const IssueJoinTokenRequest = strictRecord('IssueJoinTokenRequest', {
  expiresInMinutes: z.int().min(5).max(1440).default(60).describe('Minutes for which the token admits an agent'),
  reusable: z.boolean().default(false).describe('False admits one agent only'),
})
const JoinTokenDto = namedRecord('JoinTokenDto', {
  token: z.string().describe('Shown here only'),
  expiresAt: DateTime,
  clusterId: Uuid,
  serverUrl: z.string(),
  caPem: z.string(),
  caFingerprint: z.string(),
  command: z.string().describe('What to run against the other cluster'),
})

type Writable = { [Name in keyof typeof writable]?: z.output<(typeof writable)[Name]> }

/** @throws PlatformError NOT_FOUND */
async function find({ services, parameters, fresh }: Context): Promise<ClusterRecord> {
  const { clusterId = '' } = parameters
  const cluster = await services.records.get(PlatformCluster, { name: clusterId }, { fresh })
  if (cluster === undefined) {
    throw notFound(`Cluster "${clusterId.slice(0, 64)}"`, isUuid(clusterId) ? undefined : 'Use its id, not its name.')
  }
  return cluster
}

const toDto = ({ services }: Context, cluster: ClusterRecord) => clusterDto(services, cluster)

/** Returns the spec for a body; absent fields get their defaults. The default domain is below the platform's own. */
function specOf({ services }: Context, name: string, body: Writable): object {
  const { displayName, region, labels, ingressDomain, defaultStorageClass } = body
  return {
    displayName: displayName ?? name,
    region: region ?? '',
    labels: labels ?? {},
    domain: ingressDomain ?? `${name}.${defaultCluster(services).domain}`,
    ...(defaultStorageClass ? { defaultStorageClass } : {}),
  }
}

/** Named by a hash, so that the API server rejects concurrent duplicates. @throws PlatformError already-exists */
async function create(context: Context<string, unknown, z.output<typeof CreateClusterRequest>>) {
  const { services, caller, body } = context
  const { name } = body
  const spec = { name, isPlatform: false, ...specOf(context, name, body) }
  try {
    const { object, isNew } = await services.records.create(PlatformCluster, {
      name: uuidV5(`cluster-name/${name}`),
      spec,
      caller,
      finalizers: [FINALIZER],
    })
    const dto = toDto(context, object)
    return isNew ? created(dto, { etag: etagOf(object) }) : ok(dto, { etag: etagOf(object) })
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'ALREADY_EXISTS') throw error
    throw new PlatformError('already-exists', `A cluster named "${name}" is already registered.`, {}, { cause: error })
  }
}

async function change(context: Context, next: (stored: ClusterRecord) => object) {
  const { services, caller, ifMatch } = context
  const { metadata } = await find(context)
  const { object } = await services.records.update(
    PlatformCluster,
    { name: metadata.name },
    {
      caller,
      ifMatch,
      change: (stored) => {
        refuseWhileDeleting(stored)
        return next(stored)
      },
    },
  )
  return object
}

async function update(context: Context<string, unknown, Record<string, unknown>>) {
  const object = await change(context, (stored) => {
    const { name = toDto(context, stored).name } = context.body
    if (name !== null && name !== toDto(context, stored).name)
      throw refusedFields([{ field: 'name', message: 'cannot be changed after creation' }])
    const { defaultStorageClass: _, ...kept } = stored.spec
    return {
      ...kept,
      ...specOf(context, stored.spec.name ?? stored.spec.displayName, keepDomain(stored, context.body)),
    }
  })
  return ok(toDto(context, object), { etag: etagOf(object) })
}

/** The platform's own cluster has no default domain to fall back to. */
function keepDomain({ spec }: ClusterRecord, body: Writable): Writable {
  return spec.isPlatform && !body.ingressDomain ? { ...body, ingressDomain: spec.domain } : body
}

/** @throws PlatformError cluster-is-local, in-use */
async function remove(context: Context) {
  const { services, caller, ifMatch } = context
  const cluster = await find(context)
  refuseLocal(cluster)
  const counts = countClusterUsers(services, cluster)
  if (counts.projectionCount + counts.resourceCount > 0) {
    const message = `Cluster "${cluster.spec.displayName}" is in use: delete its resources and projections first.`
    throw new PlatformError('in-use', message, counts)
  }
  const { name, uid } = cluster.metadata
  const { isGone } = await services.records.remove(PlatformCluster, { name }, { caller, ifMatch })
  if (isGone) return noContent()
  const isDeleted = async () => services.records.peek(PlatformCluster, { name })?.metadata.uid !== uid
  return (await pollUntilChanged(context, isDeleted)) ? noContent() : acceptedEmpty()
}

function refuseLocal({ spec }: ClusterRecord): void {
  if (!spec.isPlatform) return
  throw new PlatformError('cluster-is-local', 'This is the cluster that the platform runs on; it needs no agent.')
}

/** Revoking again changes nothing, unless an agent has joined in the meantime. */
async function revokeAgent(context: Context) {
  refuseLocal(await find(context))
  const object = await change(context, ({ spec, status }) => {
    const joinedAt = Date.parse(status?.agent?.joinedAt ?? '')
    const revokedAt = revokedAtOf({ spec, status })
    const isRevoked = revokedAt !== undefined && !(joinedAt > Date.parse(revokedAt))
    if (isRevoked && spec.joinTokens.length === 0) return spec
    // An agent that joined in the second of the previous revocation has a certificate dated one second later.
    const at = Math.max(context.services.clock.now(), joinedAt || 0)
    // The agent could join again with an outstanding token.
    return { ...spec, joinTokens: [], revokedAt: timestamp(at) }
  })
  return ok(toDto(context, object), { etag: etagOf(object) })
}

async function issueToken(context: Context<string, unknown, z.output<typeof IssueJoinTokenRequest> | undefined>) {
  const { services } = context
  const { expiresInMinutes, reusable } = context.body ?? IssueJoinTokenRequest.parse({})
  refuseLocal(await find(context))
  const { gate } = services.clusters
  if (gate === undefined) {
    const message = 'This platform accepts no agents: an administrator must set PLATFORM_AGENT_PORT.'
    throw new PlatformError('ENGINE_MISSING', message, { engine: 'agents' })
  }
  const { clusterId = '' } = context.parameters
  const { token, hash } = newLinkToken([clusterId])
  const now = services.clock.now()
  const expiresAt = timestamp(now + expiresInMinutes * 60_000)
  const isStored = (stored: ClusterRecord) => stored.spec.joinTokens.some((each) => each.hash === hash)
  await change(context, (stored) =>
    isStored(stored)
      ? stored.spec
      : { ...stored.spec, joinTokens: withToken(stored.spec.joinTokens, { hash, expiresAt, reusable }, now) },
  )
  const dto = { token, expiresAt, clusterId, ...gate, command: joinCommand(gate, token) }
  return created(dto, { headers: NO_STORE })
}

function joinCommand(
  { serverUrl, caFingerprint }: { serverUrl: string; caFingerprint: string },
  token: string,
): string {
  const values = { hub: serverUrl, fingerprint: caFingerprint, token }
  const literals = Object.entries(values).map(([name, value]) => `--from-literal=${name}=${value}`)
  return [
    'kubectl apply --server-side -k deploy/agent',
    `kubectl -n freehold-system create secret generic freehold-agent-join ${literals.join(' ')} --dry-run=client -o yaml | kubectl apply -f -`,
    'kubectl -n freehold-system rollout restart deployment/freehold-agent',
  ].join(' && ')
}

/** The seven routes of clusters (interface section 4.20). */
export const clusterRoutes: readonly RouteDraft[] = [
  listRoute('/clusters', {
    auth: read,
    summary: 'The clusters that workloads run on',
    dto: ClusterViewModel,
    errors,
    columns: {
      name: text('Name', { isSearched: true }),
      status: enumeration('Status', CLUSTER_STATES),
      region: text('Region'),
      isLocal: flag('Local'),
      lastSeenAt: dateTime('Last seen', { isFiltered: false }),
      createdAt: dateTime('Created', { isFiltered: false }),
    },
    sort: 'name',
    name: 'name',
    rows: async (context) => {
      const clusters = await context.services.records.list(PlatformCluster, {}, { fresh: context.fresh })
      return clusters.map((cluster) => toDto(context, cluster))
    },
  }),
  route('POST', '/clusters', {
    auth: write,
    summary: 'Register a cluster; an agent joins it with a token',
    body: CreateClusterRequest,
    example: { name: 'far-away', displayName: 'Far away', region: 'north' },
    reply: ClusterViewModel,
    errors,
    handler: create,
  }),
  route('GET', ONE, {
    auth: read,
    summary: 'A cluster',
    reply: ClusterViewModel,
    errors,
    handler: async (context) => {
      const cluster = await find(context)
      return ok(toDto(context, cluster), { etag: etagOf(cluster) })
    },
  }),
  route('PUT', ONE, {
    auth: write,
    summary: 'Change the record of a cluster',
    body: UpdateClusterRequest,
    example: { displayName: 'Far away', region: 'north' },
    reply: ClusterViewModel,
    errors,
    handler: update as never,
  }),
  route('DELETE', ONE, {
    auth: write,
    summary: 'Remove a cluster that nothing uses',
    answers: [202],
    errors,
    handler: remove,
  }),
  route('POST', `${ONE}/agent/revoke`, {
    auth: write,
    isHeld: true,
    summary: 'Revoke the agent at once; what runs there keeps running',
    reply: ClusterViewModel,
    errors,
    handler: revokeAgent,
  }),
  route('POST', `${ONE}/join-token`, {
    auth: write,
    summary: 'Make a token with which an agent joins; the previous one expires in ten minutes',
    body: IssueJoinTokenRequest,
    isBodyOptional: true,
    example: { expiresInMinutes: 30 },
    reply: JoinTokenDto,
    errors,
    handler: issueToken as never,
  }),
]
