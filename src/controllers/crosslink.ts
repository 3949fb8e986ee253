import {
  CROSSLINK_CA_SECRET,
  CROSSLINK_GRANTS_SECRET,
  GRANT_TTL_MS,
  type Grant,
  isKnownEverywhere,
  type KnownReport,
  SITE_STATUS,
  withGrant,
} from '../contracts/crosslink.ts'
import { timestamp } from '../core/clock.ts'
import { boundaryNamespace, sha256 } from '../core/names.ts'
import { type KubeObject, keyOf, refOf } from '../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../core/outcome.ts'
import { secretData, secretTexts } from '../core/secretData.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import { BoundaryCrosslink } from '../crds/crosslink.ts'
import { BoundaryProjection } from '../crds/projections.ts'
import {
  accessGrant,
  type CertificateAuthority,
  type CertificateKeyPair,
  caReport,
  hubSite,
  nextRotationAction,
  routerPolicy,
  SKUPPER_CA_SECRET,
  skupperAuthority,
} from '../desired/crosslink.ts'
import { networkPolicy, secret } from '../kube/builtin.ts'
import { absent } from '../kube/errors.ts'
import { putSecret, secretOwner } from '../kube/putSecret.ts'
import { SKUPPER_RESOURCES, skupperAccessGrant, skupperSite } from '../kube/skupper.ts'
import { controllerWith, type Pass, steps, type Workspace } from './engine/controller.ts'
import { belongsTo } from './engine/ownership.ts'
import { pruneChildren } from './workload/children.ts'
import { childRights } from './workload/observers.ts'
import { RIGHTS_RETRY_MS, readSecret, withSecretRights } from './workload/secrets.ts'

export type CrosslinkOptions = {
  /** Creates a certificate authority with this name (RFC 5280). */
  createAuthority(commonName: string, now: Date): Promise<CertificateKeyPair>
}

type CrosslinkPass = Pass<typeof BoundaryCrosslink, CrosslinkState>

const INSTALL =
  'Skupper is not installed on this cluster: an administrator installs Skupper version 2 (its CRDs of skupper.io/v2alpha1 and its controller for all namespaces).'

/** Reconciles the links between the clusters of a boundary: docs/areas/crosslink.md. */
export const crosslinkController = controllerWith<typeof BoundaryCrosslink, CrosslinkOptions, CrosslinkState>(
  BoundaryCrosslink,
  {
    observes: [
      skupperSite,
      skupperAccessGrant,
      networkPolicy,
      { resource: BoundaryProjection.resource, keysOf: crosslinksInNamespace },
      { resource: PlatformCluster.resource, keysOf: crosslinksOfHub, relevant: ({ metadata }) => metadata.uid },
    ],
    writes: childRights([skupperSite, skupperAccessGrant, networkPolicy]),
  },
  ({ createAuthority }) => {
    return {
      state: (): CrosslinkState => ({ reports: { sites: [], exposures: [] } }),
      reconcile: steps(
        forgetSites,
        stopDisabled,
        holdSecrets(),
        keepAuthority,
        checkHub,
        keepSite,
        issueGrant,
        judgeHub,
      ),
    }

    async function keepAuthority(pass: CrosslinkPass): Promise<Outcome> {
      const { spec } = pass.object
      if (!spec.enabled || isAtRest(pass)) return done()
      return withSecretRights(async () => {
        const texts = await readSecretTexts(pass, CROSSLINK_CA_SECRET)
        if (texts === undefined) return isLeaving(CROSSLINK_CA_SECRET)
        let authority =
          texts.authority === undefined ? undefined : (JSON.parse(texts.authority) as CertificateAuthority)
        const now = pass.clock.now()
        const isKnown = (version: number) => isKnownEverywhere(pass.state.reports, version)
        for (;;) {
          const move = nextRotationAction(authority, { wanted: spec.pkiVersion, isKnown, now })
          if (move.kind === 'stay') {
            if (authority !== undefined) await reportAuthority(pass, authority)
            // Even if a later step waits, the rotation must end after a day.
            return done({ after: move.after })
          }
          authority =
            move.kind === 'store'
              ? move.authority
              : move.with(await createAuthority(nameOf(pass, move.version), new Date(now)))
          await storeTexts(pass, CROSSLINK_CA_SECRET, { authority: JSON.stringify(authority) })
          await storeHubAuthority(pass, authority)
        }
      })
    }
  },
)

type CrosslinkState = {
  /** Hash of what the hub was given in this pass. */
  given?: string | undefined
  /** What agents reported about sites that are still linked. */
  reports: KnownReport
}

/** Whether there is nothing to do: then no Secret is read. */
function isAtRest(pass: CrosslinkPass): boolean {
  const { spec, status } = pass.object
  const isCurrent = status?.ca?.version === spec.pkiVersion && status.rotation === undefined
  return isCurrent && (status.signer !== undefined || !isHubHere(pass))
}

/** Writes the authority for the hub's site, if the hub is on this cluster. */
async function storeHubAuthority(pass: CrosslinkPass, authority: CertificateAuthority): Promise<string | undefined> {
  if (!isHubHere(pass)) return undefined
  const texts = skupperAuthority(authority)
  const signer = sha256(JSON.stringify(texts))
  if (signer !== pass.state.given && signer !== pass.object.status?.signer)
    await storeTexts(pass, SKUPPER_CA_SECRET, texts)
  pass.state.given = signer
  return signer
}

async function reportAuthority(pass: CrosslinkPass, authority: CertificateAuthority): Promise<void> {
  const { rotation } = authority
  pass.report({ signer: await storeHubAuthority(pass, authority) })
  pass.report({
    ca: caReport(authority),
    rotation: rotation && { version: rotation.version, step: rotation.step, startedAt: rotation.startedAt },
  })
}

const nameOf = ({ scope }: CrosslinkPass, version: number) => `freehold crosslink ${scope.boundaryId} ${version}`

const boundaryNamespaceOf = ({ scope }: Pick<CrosslinkPass, 'scope'>) => boundaryNamespace(scope.boundaryId ?? '')

/** Returns undefined if the Secret belongs to deleted links and is about to be deleted with them. */
async function readSecretTexts(pass: CrosslinkPass, name: string): Promise<Record<string, string> | undefined> {
  const found = await readSecret(pass, boundaryNamespaceOf(pass), name)
  if (found !== undefined && !belongsTo(found, pass)) return undefined
  return secretTexts(found?.data)
}

/** Retries, because Secrets in boundary namespaces are not watched. */
function isLeaving(name: string): Outcome {
  const message = `The Secret "${name}" belongs to links that were deleted, but still exists.`
  return waiting('WaitingForDependency', message, RIGHTS_RETRY_MS)
}

/**
 * Restores owner references that a restore dropped: without them the Secrets would outlive these links and block the
 * next ones. Nothing else removes references, so one check per UID is enough.
 */
function holdSecrets() {
  const seen = new Set<string>()
  return async function holdSecrets(pass: CrosslinkPass): Promise<Outcome> {
    const { metadata, spec } = pass.object
    const { uid = '' } = metadata
    if (!spec.enabled || seen.has(uid)) return done()
    return withSecretRights(async () => {
      for (const name of [CROSSLINK_CA_SECRET, CROSSLINK_GRANTS_SECRET, SKUPPER_CA_SECRET])
        await restoreOwnerReference(pass, name)
      seen.add(uid)
      return done()
    })
  }
}

async function restoreOwnerReference(pass: CrosslinkPass, name: string): Promise<void> {
  const found = await readSecret(pass, boundaryNamespaceOf(pass), name)
  if (found === undefined || !belongsTo(found, pass) || found.metadata.ownerReferences?.length) return
  const { apiVersion, kind, metadata } = pass.object
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '' }
  const { uid, resourceVersion } = found.metadata
  const patch = { metadata: { ownerReferences: [owner] } }
  await pass.records.client.mergePatch(secret, refOf(found), patch, { uid, resourceVersion })
}

/** The Secret with Skupper's authority is owned too, so that it is deleted with the links. */
async function storeTexts(pass: CrosslinkPass, name: string, texts: Record<string, string>): Promise<void> {
  const owner = { ...secretOwner(pass.object, pass.object.metadata), incarnation: pass.incarnation }
  await putSecret(pass.records.client, { namespace: boundaryNamespaceOf(pass), name }, secretData(texts), owner)
}

/** Forgets sites after the links were disabled or their projection was removed: nobody reports their end. */
async function forgetSites(pass: CrosslinkPass): Promise<Outcome> {
  const { metadata, status } = pass.object
  const { sites = [], exposures = [] } = status ?? {}
  const unlinkedIds = new Set<string>()
  for (const id of new Set([...sites, ...exposures].map(({ clusterId }) => clusterId)))
    if (!(await isLinked(pass, id))) unlinkedIds.add(id)
  const ofLinkedClusters = <T extends { clusterId: string }>(list: readonly T[]) =>
    list.filter((one) => !unlinkedIds.has(one.clusterId))
  pass.state.reports = { sites: ofLinkedClusters(sites), exposures: ofLinkedClusters(exposures) }
  if (unlinkedIds.size === 0) return done()
  const patchEntries = Object.entries(pass.state.reports).map(([name, list]) => [name, list.length === 0 ? null : list])
  // With the version that was read, so that a report written meanwhile is not overwritten.
  const options = { uid: metadata.uid, resourceVersion: metadata.resourceVersion, subresource: 'status' }
  const patch = { status: Object.fromEntries(patchEntries) }
  await pass.records.client.mergePatch(BoundaryCrosslink.resource, refOf(pass.object), patch, options)
  return done()
}

/** Asks the API server before it takes a projection for deleted: the cache may lack it. */
async function isLinked({ object, records, scope }: CrosslinkPass, clusterId: string): Promise<boolean> {
  if (!object.spec.enabled) return false
  const cluster = records.cache(PlatformCluster).get(undefined, clusterId)
  const ref = { namespace: boundaryNamespaceOf({ scope }), name: clusterId }
  if (cluster?.spec.isPlatform === true) return true
  if (records.cache(BoundaryProjection).get(ref.namespace, ref.name) !== undefined) return true
  return (await records.client.get(BoundaryProjection.resource, ref).catch(absent)) !== undefined
}

async function stopDisabled(pass: CrosslinkPass): Promise<Outcome> {
  if (pass.object.spec.enabled) return done()
  await removeSite(pass)
  return { kind: 'done', reason: 'Stopped' }
}

async function removeSite(pass: CrosslinkPass): Promise<void> {
  pass.report({ hub: undefined, signer: undefined })
  await pruneChildren(pass, [], [skupperAccessGrant, skupperSite, networkPolicy])
}

const clusterOf = ({ object, records }: CrosslinkPass) =>
  records.cache(PlatformCluster).get(undefined, object.spec.hubClusterId ?? '')

const isHubHere = (pass: CrosslinkPass) => clusterOf(pass)?.spec.isPlatform === true

function checkHub(pass: CrosslinkPass): Outcome {
  const { enabled, hubClusterId = '' } = pass.object.spec
  if (!enabled || isHubHere(pass)) return done()
  const projection = pass.records.cache(BoundaryProjection).get(boundaryNamespaceOf(pass), hubClusterId)
  if (clusterOf(pass) !== undefined && projection !== undefined) return done()
  return stalled('ReferenceMissing', `The boundary is not projected on cluster "${hubClusterId}", which is the hub.`)
}

/** Keeps the site of a hub on this cluster. On another cluster, its agent creates and reports the site. */
async function keepSite(pass: CrosslinkPass): Promise<Outcome> {
  if (!pass.object.spec.enabled) return done()
  if (!isHubHere(pass)) {
    await removeSite(pass)
    return done()
  }
  const isInstalled = SKUPPER_RESOURCES.every((resource) => pass.workloads.isServed(resource))
  if (!isInstalled) return stalled('EngineMissing', INSTALL)
  const namespace = boundaryNamespaceOf(pass)
  const { object: policy } = await pass.children.ensure(routerPolicy(namespace), { resource: networkPolicy })
  // Earlier versions named it otherwise.
  await pass.children.prune(networkPolicy, [policy.metadata.name])
  const { object: site } = await pass.children.ensure(hubSite(namespace), { resource: skupperSite })
  const { conditions = [], endpoints = [] } = (site as Site).status ?? {}
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  const [endpoint] = endpoints
  pass.report({
    hub: {
      status: isReady ? SITE_STATUS.active : SITE_STATUS.provisioning,
      endpoint: endpoint === undefined ? undefined : `${endpoint.host}:${endpoint.port}`,
    },
  })
  return isReady ? done() : waiting('WaitingForWorkload', 'The site of the hub is not ready yet.')
}

type Site = KubeObject & {
  status?: { conditions?: { type: string; status: string }[]; endpoints?: { host?: string; port?: string }[] }
}
type AccessGrant = KubeObject & {
  status?: { url?: string; code?: string; ca?: string }
}

/** Answers the newest grant request, unless it has expired. */
async function issueGrant(pass: CrosslinkPass): Promise<Outcome> {
  const { spec, status } = pass.object
  const { enabled, grantRequestedAt: requestedAt } = spec
  if (!enabled || requestedAt === undefined || requestedAt === status?.grantIssuedFor || !isHubHere(pass)) return done()
  const now = pass.clock.now()
  if (Date.parse(requestedAt) + GRANT_TTL_MS <= now) return done()
  const wanted = accessGrant(boundaryNamespaceOf(pass), requestedAt)
  const { object } = await pass.children.ensure(wanted, { resource: skupperAccessGrant })
  await pass.children.prune(skupperAccessGrant, [wanted.metadata.name])
  const { url, code, ca } = (object as AccessGrant).status ?? {}
  if (url === undefined || code === undefined || ca === undefined)
    return waiting('WaitingForDependency', 'Skupper has not made the grant yet.')
  const expiresUtc = timestamp(Date.parse(requestedAt) + GRANT_TTL_MS)
  const grant: Grant = { url, code, caPem: ca, expiresUtc, hubEndpoint: status?.hub?.endpoint ?? '' }
  return withSecretRights(async () => {
    const texts = await readSecretTexts(pass, CROSSLINK_GRANTS_SECRET)
    if (texts === undefined) return isLeaving(CROSSLINK_GRANTS_SECRET)
    const { issued } = texts
    // Already stored by a process that died before it reported so.
    if (issued?.includes(JSON.stringify(grant.code)) !== true)
      await storeTexts(pass, CROSSLINK_GRANTS_SECRET, { issued: withGrant(issued, grant, now) })
    pass.report({ grantIssuedFor: requestedAt })
    return done()
  })
}

function judgeHub(pass: CrosslinkPass): Outcome {
  const { spec } = pass.object
  if (!spec.enabled || isHubHere(pass)) return done()
  const hub = pass.state.reports.sites.find(({ clusterId }) => clusterId === spec.hubClusterId)
  if (hub?.status === SITE_STATUS.active) return done()
  return waiting('WaitingForCluster', 'The agent of the hub has not reported an active site yet.')
}

function crosslinksOfHub({ metadata }: KubeObject, records: Workspace): string[] {
  const all = records.cache(BoundaryCrosslink).list()
  return all.filter(({ spec }) => spec.hubClusterId === metadata.name).map(keyOf)
}

function crosslinksInNamespace({ metadata }: KubeObject, records: Workspace): string[] {
  return records.cache(BoundaryCrosslink).list({ namespace: metadata.namespace }).map(keyOf)
}
