import { badRequest, PlatformError } from '../../core/errors.ts'
import { groupNamespace, sha256 } from '../../core/names.ts'
import { compareQuantities } from '../../core/quantity.ts'
import { defaultVectorHost, isHostBelow } from '../../core/vector.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { NEWEST_VECTOR_VERSION, type VectorCluster } from '../../crds/vector.ts'
import { chooseCluster, clusterWords } from '../places.ts'
import type { WriteView } from '../resource.ts'
import {
  defaultVectorPlan,
  effectiveSizes,
  isSizedByItself,
  type Plan,
  planOf,
  SIZES,
  type VectorBody,
  type VectorSpec,
  vectorPlan,
} from './record.ts'

export type VectorWrite = WriteView<typeof VectorCluster>

function unprocessable(
  code: 'PLAN_NOT_FOUND' | 'PLAN_DEPRECATED' | 'IMAGE_NOT_ALLOWED' | 'STORAGE_CANNOT_SHRINK',
  field: string,
  value: string,
  message: string,
) {
  return new PlatformError(code, message, { field, value })
}

/**
 * The spec for a body (records: vector databases, plans). Fields that no body shows stay; a size that equals the plan's
 * is stored as absent, so that reading and writing back changes nothing; the version and the number of replicas stay
 * where the body says nothing, because an upgrade or a second peer must be asked for.
 *
 * @throws PlatformError PLAN_NOT_FOUND, PLAN_DEPRECATED, CLUSTER_NOT_PROJECTED, IMAGE_NOT_ALLOWED,
 *   STORAGE_CANNOT_SHRINK, HOST_TAKEN, BAD_REQUEST
 */
export function vectorSpec(body: VectorBody, view: VectorWrite): object {
  const previous = view.previous?.spec
  const plan = choosePlan(body, view)
  const kept =
    previous === undefined
      ? {}
      : {
          apiKeyVersion: previous.apiKeyVersion,
          running: previous.running,
          restartedAt: previous.restartedAt,
          onDelete: previous.onDelete,
        }
  const spec = {
    ...kept,
    clusterId: chooseCluster(body.clusterId, view),
    computePlan: plan.named,
    ...chooseSizes(body, view, plan.effective),
    replicas: chooseReplicas(body, previous, plan.effective),
    vectorVersion: body.vectorVersion ?? previous?.vectorVersion ?? NEWEST_VECTOR_VERSION,
    imageName: chooseImage(body, view),
    apiKeyEnabled: body.apiKeyEnabled,
    enableIngress: body.enableIngress,
    enableLoadBalancer: body.enableLoadBalancer,
    allowedCidrs: body.allowedCidrs || undefined,
    ingressHost: chooseHost(body, view),
    tags: body.tags,
  }
  refuseRequestOverLimit(spec as VectorSpec, plan.effective)
  refuseShrinking(spec as VectorSpec, view, plan.effective)
  return spec
}

type Chosen = { named: string | undefined; effective: Plan | undefined }

/** The plan id that a body means. Of a merge patch only what the patch names counts, since its base holds the old id. */
function planIdOf(body: VectorBody, { form, context }: VectorWrite): string | undefined {
  const named = form === 'patch' ? (context.body as Record<string, unknown>) : body
  const [one, other] = [body.computePlan ?? undefined, body.resourcePlanId ?? undefined]
  const [namesOne, namesOther] = [Object.hasOwn(named, 'computePlan'), Object.hasOwn(named, 'resourcePlanId')]
  if (form === 'patch' && namesOne !== namesOther) return namesOne ? one : other
  if (one !== undefined && other !== undefined && one !== other) {
    throw badRequest('computePlan and resourcePlanId are the same thing and must not differ.', [
      { field: 'resourcePlanId', message: 'differs from computePlan' },
    ])
  }
  return one ?? other
}

function choosePlan(body: VectorBody, view: VectorWrite): Chosen {
  const id = planIdOf(body, view)
  const { services, previous } = view
  if (id === undefined) {
    const effective = defaultVectorPlan(services)
    if (isSizedByItself(body)) return { named: undefined, effective }
    if (effective === undefined) {
      throw unprocessable(
        'PLAN_NOT_FOUND',
        'computePlan',
        '',
        'No compute plan of family Vector is the default: name one.',
      )
    }
    return { named: effective.metadata.name, effective }
  }
  const plan = vectorPlan(services, id)
  if (plan === undefined) throw unprocessable('PLAN_NOT_FOUND', 'computePlan', id, `There is no compute plan "${id}".`)
  if (plan.spec.family !== 'Vector') {
    throw badRequest(`Compute plan "${id}" is for ${plan.spec.family} resources.`, [
      { field: 'computePlan', message: 'must be a plan of family Vector' },
    ])
  }
  if (plan.spec.deprecated && previous?.spec.computePlan !== id) {
    throw unprocessable('PLAN_DEPRECATED', 'computePlan', id, `Compute plan "${id}" is no longer offered.`)
  }
  return { named: id, effective: plan }
}

/**
 * A value that equals the plan's is the plan's. So is one that repeats what a read showed of the former plan: who reads,
 * changes the plan and writes back wants the new plan's sizes.
 */
function chooseSizes(body: VectorBody, view: VectorWrite, plan: Plan | undefined): Partial<VectorSpec> {
  const previous = view.previous?.spec
  const shown = previous === undefined ? undefined : effectiveSizes(previous, planOf(view.services, previous))
  return Object.fromEntries(
    SIZES.map((size) => {
      const value = body[size] || undefined
      const isOwn = previous?.[size] !== undefined
      if (size === 'storageClass' && value !== undefined && value === shown?.storageClass)
        return [size, previous?.[size]]
      const isPlans = value === (plan?.spec[size] || undefined) && !(size === 'storageClass' && isOwn)
      const isEcho = view.form === 'put' && !isOwn && value === shown?.[size]
      return [size, isPlans || isEcho ? undefined : value]
    }),
  )
}

/** Always stored, so that a change of plan does not scale. */
function chooseReplicas(body: VectorBody, previous: VectorSpec | undefined, plan: Plan | undefined): number {
  if (body.replicas === undefined && previous?.replicas !== undefined) return previous.replicas
  return body.replicas ?? plan?.spec.replicas ?? 1
}

function chooseImage(body: VectorBody, { services, previous }: VectorWrite): string | undefined {
  const image = body.imageName ?? undefined
  if (image !== undefined && image !== previous?.spec.imageName && !services.vector.allowOwnImages) {
    throw unprocessable('IMAGE_NOT_ALLOWED', 'imageName', image, 'This platform runs its own images only.')
  }
  return image
}

function chooseHost(body: VectorBody, view: VectorWrite): string | undefined {
  const { services, boundaryId, resourceGroup, name, previous } = view
  const host = body.ingressHost ?? undefined
  if (host === undefined) return undefined
  const namespace = groupNamespace(boundaryId, resourceGroup)
  const { domain } = clusterWords(services, boundaryId, previous?.spec.clusterId ?? body.clusterId)
  if (host === defaultVectorHost(namespace, name, domain)) return undefined
  if (host === previous?.spec.ingressHost) return host
  if (!isHostBelow(host, domain)) {
    throw badRequest(`The host must lie below "${domain}".`, [
      { field: 'ingressHost', message: `must end with .${domain}` },
    ])
  }
  const claim = services.records.peek(NameClaim, { name: sha256(`Host/${host}`).slice(0, 63) })
  const holder = claim?.spec.holder
  if (
    holder !== undefined &&
    !(holder.kind === 'VectorCluster' && holder.namespace === namespace && holder.name === name)
  ) {
    throw new PlatformError('HOST_TAKEN', `The host "${host}" is taken.`, { field: 'ingressHost', value: host })
  }
  return host
}

/** A request of its own may be over the limit that the plan sets, which the rules of the kind cannot see. */
function refuseRequestOverLimit(next: VectorSpec, plan: Plan | undefined): void {
  const sizes = effectiveSizes(next, plan)
  for (const what of ['cpu', 'memory'] as const) {
    const [request, limit] = [sizes[`${what}Request`], sizes[`${what}Limit`]]
    if (request === null || limit === null || compareQuantities(request, limit) <= 0) continue
    throw badRequest(`${what}Request ${request} is more than ${what}Limit ${limit}.`, [
      { field: `${what}Limit`, message: `must not be less than ${what}Request` },
    ])
  }
}

/** The rule of the kind sees what a spec says; here also what it gets from its plan. */
function refuseShrinking(next: VectorSpec, { previous, services }: VectorWrite, plan: Plan | undefined): void {
  if (previous === undefined) return
  const before = effectiveSizes(previous.spec, planOf(services, previous.spec)).storageSize
  const after = effectiveSizes(next, plan).storageSize
  if (before === null || after === null || compareQuantities(after, before) >= 0) return
  const message = `The volumes have ${before} and cannot shrink to ${after}.`
  throw unprocessable('STORAGE_CANNOT_SHRINK', 'storageSize', after, message)
}
