import {
  ACTIVATOR_PORT,
  ACTIVATOR_SERVICE,
  functionCertificateName,
  functionRouteName,
} from '../../contracts/functions.ts'
import { publicUrl } from '../../contracts/workloads.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import { pluralize, pluralizeVerb } from '../../core/pluralize.ts'
import { formatScope } from '../../core/scope.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { routeObjects } from '../../desired/functions.ts'
import { ingress, namespace, secret } from '../../kube/builtin.ts'
import { certificate } from '../../kube/certmanager.ts'
import { httpRoute } from '../../kube/gateway.ts'
import { controller, steps } from '../engine/controller.ts'
import { checkProjection, otherClusterOf } from '../engine/workloadLocation.ts'
import { CLAIM_RIGHTS } from '../nameClaims.ts'
import { checkQuota, releaseQuota, releaseSurplusQuota } from '../quota.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import { type CertificateObject, certificateState, worstCertificateState } from '../workload/certificates.ts'
import { pruneChildren, writeChildren } from '../workload/children.ts'
import { findCluster, gatewayOf } from '../workload/cluster.ts'
import {
  claimHosts,
  hostObserver,
  judgeHost,
  releaseHosts,
  releaseUnserved,
  routeAcceptance,
  wantedHosts,
} from '../workload/hosts.ts'
import { IDENTITY_RIGHTS, identityObserver, keepIdentity, withdrawIdentity } from '../workload/identity.ts'
import { judgeStop } from '../workload/judge.ts'
import { childRights, workloadObservers } from '../workload/observers.ts'
import { refOfPass, withSpec } from '../workload/pass.ts'
import { resolvePlan } from '../workload/resolve.ts'
import { functionsOf } from './otherClusters.ts'
import { type CachedFunction, type CachedNamespace, type NamespacePass, newNamespaceState } from './types.ts'

const ROUTES = [ingress, httpRoute, certificate]

/** Reconciles function namespaces: hosts, the route to the activator, and a summary of their functions. */
export const functionNamespaceController = controller(FunctionNamespace, {
  observes: [
    ...ROUTES,
    identityObserver(FunctionNamespace),
    hostObserver<CachedNamespace>(FunctionNamespace, (each, domain) =>
      wantedHosts(FunctionNamespace.segment, each, domain),
    ),
    {
      resource: ServerlessFunction.resource,
      keysOf: ({ metadata, spec }) => [`${metadata.namespace}/${(spec as CachedFunction['spec']).namespaceName}`],
      relevant: ({ metadata, status }) => {
        const seen = status as CachedFunction['status']
        return [metadata.deletionTimestamp, isCallable(seen), seen?.servingDeployment]
      },
    },
    ...workloadObservers(FunctionNamespace),
  ],
  reads: [namespace],
  writes: [
    ...childRights(ROUTES),
    { resource: ServerlessFunction.resource, verbs: ['list', 'delete'] },
    // Admission restricts this to the Secrets that cert-manager keeps for custom domains.
    { resource: secret, verbs: ['delete'], in: 'system' },
    IDENTITY_RIGHTS,
    LEDGER_RIGHTS,
    CLAIM_RIGHTS,
  ],
  state: newNamespaceState,
  // Hosts and identity are on the platform's cluster; only the functions run elsewhere.
  clusterOf: () => undefined,
  reconcile: steps(
    countFunctions,
    withdrawIdentityHere,
    releaseUnserved,
    findClusters,
    resolvePlan({ hasVolumes: false }),
    checkQuota,
    claimHosts,
    applyRoute,
    releaseHosts,
    reportUrl,
    keepIdentityHere,
    reportIdentity,
    judge,
  ),
  halt: (pass) => (pass.object.spec.running === false ? async () => judgeStopped(pass) : undefined),
  afterSteps: releaseSurplusQuota,
  finalize: steps(removeFunctions, removeRoute, releaseHosts, releaseQuota),
})

const isCallable = (status: CachedFunction['status']) =>
  status?.conditions?.some(
    ({ type, status: holds, reason }) => type === 'Ready' && holds === 'True' && reason === 'Available',
  ) === true

const functionsIn = ({ object, records }: NamespacePass) =>
  functionsOf(records, object.metadata.namespace, object.metadata.name)

function countFunctions(pass: NamespacePass): Outcome {
  const functions = functionsIn(pass)
  const ready = functions.filter(({ status }) => isCallable(status)).length
  const servingDeployments = functions.flatMap(({ status }) => status?.servingDeployment ?? []).sort()
  const { boundaryId = '', resourceGroup = '' } = pass.scope
  const { name } = pass.object.metadata
  const collection = FunctionNamespace.segment
  const scope = formatScope({ level: 'resource', boundaryId, resourceGroup, collection, name })
  pass.report({ functionCount: functions.length, readyFunctionCount: ready, scope, servingDeployments })
  pass.serving(ready > 0)
  return done()
}

/** Returns the issuer of custom domains' certificates; undefined if there is none. */
const issuerOf = ({ state, workloads }: NamespacePass) =>
  workloads.isServed(certificate) ? state.cluster?.spec.certificateIssuer : undefined

const certificateNames = ({ object, state }: NamespacePass) =>
  state.domains.map((host) => functionCertificateName(object.metadata.namespace ?? '', object.metadata.name, host))

/** The pass as if the functions ran on the platform's own cluster. */
const onPlatformCluster = (pass: NamespacePass) => withSpec(pass, { clusterId: undefined })

/** Requests arrive at the platform's own cluster, wherever the functions run, provided that they may run there. */
function findClusters(pass: NamespacePass): Outcome {
  const { object, scope, records } = pass
  const found = findCluster(pass)
  if (found.kind !== 'done') return found
  const clusterId = otherClusterOf(object, records)
  const obstacle = clusterId && checkProjection(clusterId, scope, object.metadata.namespace ?? '', records)
  return obstacle && obstacle.kind !== 'done' ? obstacle : findCluster(onPlatformCluster(pass))
}

/** Reports a withdrawn identity first, so that functions stop expecting its credentials. */
function withdrawIdentityHere(pass: NamespacePass): Promise<Outcome> {
  if (!pass.object.spec.managedIdentity) pass.report({ identitySecret: undefined })
  return withdrawIdentity(onPlatformCluster(pass))
}

function keepIdentityHere(pass: NamespacePass): Promise<Outcome> {
  return keepIdentity(onPlatformCluster(pass))
}

async function applyRoute(pass: NamespacePass): Promise<Outcome> {
  const { object, state } = pass
  const gateway = gatewayOf(pass)
  const issuer = issuerOf(pass)
  const names = certificateNames(pass)
  const wanted = routeObjects({
    object,
    service: ACTIVATOR_SERVICE,
    port: ACTIVATOR_PORT,
    certificateIssuer: issuer,
    host: state.host,
    ingressClassName: state.cluster?.spec.ingressClassName,
    gateway,
    domains: state.domains.map((host, index) => ({
      host,
      secretName: issuer === undefined ? undefined : names[index],
    })),
  })
  state.route = routeAcceptance(gateway, await writeChildren(pass, wanted))
  await pruneChildren(pass, wanted, ROUTES)
  return done()
}

function certificateStatusOf(pass: NamespacePass) {
  const { domains } = pass.state
  if (issuerOf(pass) === undefined) return domains.length > 0 ? 'NotRequested' : undefined
  const known = pass.workloads.cache<CertificateObject>(certificate)
  const found = certificateNames(pass).map((name) => known.get(SYSTEM_NAMESPACE, name))
  return worstCertificateState(found.map((each) => certificateState(each, pass.clock.now())))
}

function reportUrl(pass: NamespacePass): Outcome {
  const { host, route, cluster, domains } = pass.state
  const isServed = host !== undefined && (gatewayOf(pass) === undefined || route?.kind === 'accepted')
  pass.report({
    publicHost: host,
    hosts: host === undefined ? undefined : [host, ...domains],
    publicUrl: isServed ? publicUrl(host, cluster?.spec.publicPort) : undefined,
    certificateStatus: certificateStatusOf(pass),
  })
  return done()
}

/** Functions read the Secret's name from this status. */
function reportIdentity({ report, state: { identitySecret } }: NamespacePass): Outcome {
  report({ identitySecret })
  return done()
}

function judge(pass: NamespacePass): Outcome {
  if (pass.object.spec.running === false) return judgeStopped(pass)
  const count = functionsIn(pass).length
  return judgeHost(pass) ?? done({ message: count === 1 ? 'It has one function.' : `It has ${count} functions.` })
}

/** Functions stop by themselves when they see that their namespace is stopped. */
function judgeStopped(pass: NamespacePass): Outcome {
  const remaining = functionsIn(pass).filter(({ status }) => isCallable(status)).length
  const progress = `${pluralize(remaining, 'function')} ${pluralizeVerb(remaining, 'is', 'are')} being stopped.`
  return judgeStop(remaining, progress, 'It is stopped: its functions answer no calls.')
}

async function removeFunctions({ object, records }: NamespacePass): Promise<Outcome> {
  const { namespace, name } = refOfPass({ object })
  // List from the API server: the cache may lack the newest functions, and nobody looks again later.
  const { items } = await records.client.list<CachedFunction>(ServerlessFunction.resource, { namespace })
  const remaining = items.filter(({ spec }) => spec.namespaceName === name)
  for (const each of remaining)
    if (each.metadata.deletionTimestamp === undefined)
      await records.client.remove(ServerlessFunction.resource, refOf(each), { uid: each.metadata.uid })
  return remaining.length === 0
    ? done()
    : waiting(
        'TearingDown',
        `${pluralize(remaining.length, 'function')} ${pluralizeVerb(remaining.length, 'is', 'are')} being deleted.`,
      )
}

/** Deletes the routes, which are in another namespace, where owner references do not reach. */
async function removeRoute(pass: NamespacePass): Promise<Outcome> {
  const { children, object } = pass
  const name = functionRouteName(object.metadata.namespace ?? '', object.metadata.name)
  await pruneChildren(pass, [], ROUTES)
  const isRemoved = await children.remove(ingress, SYSTEM_NAMESPACE, name)
  return isRemoved ? done() : waiting('TearingDown', 'The Ingress of its host is being deleted.')
}
