import { ACTIVATOR_PORT, ACTIVATOR_SERVICE, functionRouteName } from '../../contracts/functions.ts'
import { defaultHost, publicUrl } from '../../contracts/workloads.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { routeObjects } from '../../desired/functions.ts'
import { ingress, namespace } from '../../kube/builtin.ts'
import { certificate } from '../../kube/certmanager.ts'
import { httpRoute } from '../../kube/gateway.ts'
import { controller, steps } from '../engine/controller.ts'
import { CLAIM_RIGHTS, claimed, releaseClaims } from '../nameClaims.ts'
import { releaseQuota } from '../quota.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import { pruneChildren, writeChildren } from '../workload/children.ts'
import { findCluster, gatewayOf } from '../workload/home.ts'
import { hostObserver, judgeHost, routeVerdict } from '../workload/hosts.ts'
import { childRights, workloadObservers } from '../workload/observers.ts'
import { placeOfPass } from '../workload/pass.ts'
import { checkQuota, resolvePlan } from '../workload/resolve.ts'
import { type CachedFunction, type CachedNamespace, type NamespacePass, newNamespaceState } from './types.ts'

const ROUTES = [ingress, httpRoute, certificate]

/** Its own host first. */
function wantedHosts({ metadata, spec }: Pick<FunctionNamespace, 'metadata' | 'spec'>, domain: string): string[] {
  if (!spec.isPublic) return []
  return [defaultHost('functionnamespaces', metadata.namespace ?? '', metadata.name, domain), ...spec.customDomains]
}

/** Keeps namespaces of functions: their hosts, the way to the activator, and what is told of their functions. */
export const functionNamespaceController = controller(FunctionNamespace, {
  observes: [
    ...ROUTES,
    hostObserver<CachedNamespace>(FunctionNamespace, wantedHosts),
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
    LEDGER_RIGHTS,
    CLAIM_RIGHTS,
  ],
  state: newNamespaceState,
  reconcile: steps(
    countFunctions,
    findCluster,
    resolvePlan({ hasVolumes: false }),
    checkQuota(() => false),
    claimHosts,
    applyRoute,
    reportUrl,
    judge,
  ),
  finalize: steps(removeFunctions, removeRoute, releaseHosts, releaseQuota),
})

const isCallable = (status: CachedFunction['status']) =>
  status?.conditions?.some(
    ({ type, status: holds, reason }) => type === 'Ready' && holds === 'True' && reason === 'Available',
  ) === true

const functionsOf = ({ object, records }: NamespacePass) =>
  records
    .cache<CachedFunction>(ServerlessFunction.resource)
    .list({ namespace: object.metadata.namespace })
    .filter(({ spec }) => spec.namespaceName === object.metadata.name)

function countFunctions(pass: NamespacePass): Outcome {
  const functions = functionsOf(pass)
  const ready = functions.filter(({ status }) => isCallable(status)).length
  const servingDeployments = functions.flatMap(({ status }) => status?.servingDeployment ?? []).sort()
  const { boundaryId = '', resourceGroup = '' } = pass.place
  const group = `/boundaries/${boundaryId}/resourcegroups/${resourceGroup}`
  const scope = `${group}/resources/${FunctionNamespace.segment}/${pass.object.metadata.name}`
  pass.report({ functionCount: functions.length, readyFunctionCount: ready, scope, servingDeployments })
  pass.serving(ready > 0)
  return done()
}

/** Takes the public hosts before anything answers under them. */
async function claimHosts(pass: NamespacePass): Promise<Outcome> {
  const domain = pass.state.home?.spec.domain ?? ''
  const [host, ...domains] = wantedHosts(pass.object, domain)
  const foreign = domains.find((each) => each === domain || each.endsWith(`.${domain}`))
  if (foreign !== undefined) {
    const message = `Custom domain "${foreign}" lies below "${domain}", whose hosts the platform gives.`
    return stalled('ConfigurationInvalid', message)
  }
  for (const each of host === undefined ? [] : [host, ...domains]) {
    if (await claimed(pass, 'Host', each)) continue
    return stalled('NameOccupied', `Host "${each}" is taken by another resource of the platform.`)
  }
  pass.state.host = host
  pass.state.domains = domains
  return done()
}

async function applyRoute(pass: NamespacePass): Promise<Outcome> {
  const { object, state, workloads } = pass
  const gateway = gatewayOf(pass)
  const { namespace: home, name } = placeOfPass(pass)
  const issuer = workloads.isServed(certificate) ? state.home?.spec.certificateIssuer : undefined
  const wanted = routeObjects({
    object,
    service: ACTIVATOR_SERVICE,
    port: ACTIVATOR_PORT,
    certificateIssuer: issuer,
    host: state.host,
    ingressClassName: state.home?.spec.ingressClassName,
    gateway,
    domains: state.domains.map((host, at) => ({
      host,
      secretName: issuer === undefined ? undefined : `${functionRouteName(home, name)}-${at}`,
    })),
  })
  state.route = routeVerdict(gateway, await writeChildren(pass, wanted))
  await pruneChildren(
    pass,
    wanted,
    ROUTES.filter((resource) => workloads.isServed(resource)),
  )
  await releaseClaims(pass, (value) => ![state.host, ...state.domains].includes(value))
  return done()
}

function reportUrl(pass: NamespacePass): Outcome {
  const { host, route, home, domains } = pass.state
  const isServed = host !== undefined && (gatewayOf(pass) === undefined || route?.kind === 'accepted')
  pass.report({
    publicHost: host,
    hosts: host === undefined ? undefined : [host, ...domains],
    publicUrl: isServed ? publicUrl(host, home?.spec.publicPort) : undefined,
    certificateStatus: domains.length > 0 ? 'NotRequested' : undefined,
  })
  return done()
}

function judge(pass: NamespacePass): Outcome {
  const count = functionsOf(pass).length
  return judgeHost(pass) ?? done({ message: count === 1 ? 'It has one function.' : `It has ${count} functions.` })
}

/** Its functions go with it. */
async function removeFunctions({ object, records }: NamespacePass): Promise<Outcome> {
  const { namespace: home, name } = placeOfPass({ object })
  // The cache may lack the newest ones, and nobody looks for them later.
  const { items } = await records.client.list<CachedFunction>(ServerlessFunction.resource, { namespace: home })
  const left = items.filter(({ spec }) => spec.namespaceName === name)
  for (const each of left)
    if (each.metadata.deletionTimestamp === undefined)
      await records.client.remove(ServerlessFunction.resource, refOf(each), { uid: each.metadata.uid })
  return left.length === 0 ? done() : waiting('TearingDown', `${left.length} functions are being deleted.`)
}

/** They stand in another namespace, where no garbage collector takes them along. */
async function removeRoute({ children, workloads, object }: NamespacePass): Promise<Outcome> {
  const name = functionRouteName(object.metadata.namespace ?? '', object.metadata.name)
  for (const resource of ROUTES) if (workloads.isServed(resource)) await children.prune(resource, [])
  const gone = await children.remove(ingress, SYSTEM_NAMESPACE, name)
  return gone ? done() : waiting('TearingDown', 'The way to its host is being deleted.')
}

async function releaseHosts(pass: NamespacePass): Promise<Outcome> {
  await releaseClaims(pass, () => true)
  return done()
}
