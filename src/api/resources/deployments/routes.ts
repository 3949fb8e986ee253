import { randomUUID } from 'node:crypto'
import { DEPLOYMENT_PHASES, isFinalPhase, isOfSite, isPhaseChangeAllowed } from '../../../contracts/deployments.ts'
import { notFound, PlatformError, refusedFields, withRenamedFields } from '../../../core/errors.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { DeploymentRecord, deploymentPhaseOf } from '../../../crds/deployments.ts'
import { created, ok } from '../../http/answer.ts'
import type { Context } from '../../http/context.ts'
import { etagOf } from '../../http/etag.ts'
import { type RouteDraft, route } from '../../http/route.ts'
import { listWithConfig } from '../collection/columns.ts'
import { findResource, type ResourceLocation } from '../find.ts'
import { nowOf } from '../nowOf.ts'
import { dateTime, enumeration, flag, text } from '../paging.ts'
import { actionPrefixOf } from '../types.ts'
import { buildLogRoutes } from './buildLogs.ts'
import { cancelRoute } from './cancel.ts'
import {
  type DeployedObject,
  DeploymentBody,
  DeploymentLogEntryDto,
  deploymentsOf,
  entryOf,
  invalidDeploymentState,
  type StoredDeployment,
} from './record.ts'
import {
  type DeploymentRoutes,
  findOwnDeployment,
  findReported,
  mayReport,
  type ReportedResource,
  reporterAuth,
} from './reporters.ts'

/** The most deployments of one resource that are not over. */
const OPEN_DEPLOYMENTS_MAX = 50

const columns = {
  phase: enumeration('Phase', DEPLOYMENT_PHASES),
  branch: text('Branch', { isSorted: false }),
  commitSha: text('Commit', { isSorted: false }),
  isServing: flag('Serving'),
  timestamp: dateTime('Asked for'),
} as const

/** The routes of the deployments of a resource, `<base>/deployments...`: list, its config, reports, logs. */
export function deploymentRoutes<K extends AnyKind>(kind: K, base: string, given: DeploymentRoutes): RouteDraft[] {
  const path: string = `${base}/deployments`
  const { collection, parameter, read } = given
  return [
    ...listWithConfig(path, {
      ...{ dto: DeploymentLogEntryDto, sort: '-timestamp', columns },
      auth: read,
      summary: 'Deployments, the newest first',
      rows: async (context) => {
        const { object, location, ref } = await findResource(kind, context, parameter)
        const found = deploymentsOf(context, { ...ref, collection })
        return found.map((record) => entryOf(record, object as DeployedObject, location))
      },
      collection: 'deployments',
      actionPrefix: actionPrefixOf(kind),
      before: (context) => findResource(kind, context, parameter),
    }),
    route('POST', path, {
      auth: reporterAuth(given),
      summary: 'Reports a deployment that is built elsewhere',
      body: DeploymentBody,
      reply: DeploymentLogEntryDto,
      example: {
        branch: 'main',
        phase: 'Building',
        ...given.example,
      },
      handler: (context) => createDeployment(kind, given, context).catch(throwWithBodyNames),
    }),
    route('PUT', `${path}/{deploymentId}` as string, {
      auth: reporterAuth(given),
      summary: 'Reports its progress',
      body: DeploymentBody,
      reply: DeploymentLogEntryDto,
      example: { phase: 'Pushing' },
      handler: (context) => updateDeployment(kind, given, context).catch(throwWithBodyNames),
    }),
    cancelRoute(kind, path, given),
    ...buildLogRoutes(kind, path, given),
  ]
}

/** @throws PlatformError BAD_REQUEST */
function refuseOtherPlace(
  body: DeploymentBody,
  { boundaryId, resourceGroup, name }: ResourceLocation,
  id: string | undefined,
): void {
  const given = {
    boundaryId,
    resourceGroupName: resourceGroup,
    siteName: name,
    ...(id !== undefined && { id, deploymentId: id }),
  }
  for (const [field, expected] of Object.entries(given)) {
    const value = body[field as keyof DeploymentBody]
    if (value === undefined || value === null || value === expected) continue
    const message = `must be "${expected}", as in the path`
    throw refusedFields([{ field, message }])
  }
}

/** Fields of the kind that bodies set. */
const REPORTED = ['branch', 'commitSha', 'image', 'phase', 'message', 'provider', 'repositoryName', 'source'] as const
const BODY_NAMES: Readonly<Record<string, string>> = { image: 'containerImage', message: 'lastMessage' }
const bodyName = (field: string) => BODY_NAMES[field] ?? field

/** Renames fields in refusals, because the kind has other names for some fields of the body. */
function throwWithBodyNames(error: unknown): never {
  throw withRenamedFields(error, bodyName)
}

/**
 * Returns the fields that a body sets. Absent fields stay as last reported, because builders only report their
 * progress; null removes a value, except the image and the phase.
 */
function reportedFields(body: DeploymentBody, context: Context) {
  const reported = REPORTED.flatMap((name) => {
    const value = body[bodyName(name) as keyof DeploymentBody]
    if (value === undefined || (value === null && (name === 'image' || name === 'phase'))) return []
    return [[name, value ?? undefined] as const]
  })
  return { ...Object.fromEntries(reported), timestamp: nowOf(context) }
}

async function createDeployment<K extends AnyKind>(
  kind: K,
  given: DeploymentRoutes,
  context: Context<string, unknown, DeploymentBody>,
) {
  const { body, services, caller } = context
  const found = await findReported(kind, context, given)
  const { object, location, ref, reporter } = found
  if (body.id && body.deploymentId && body.id !== body.deploymentId)
    throw refusedFields([{ field: 'deploymentId', message: 'must be the same as id' }])
  refuseOtherPlace(body, location, undefined)
  await given.refuse(object as DeployedObject, body, context, location)
  const id = body.id ?? body.deploymentId ?? randomUUID()
  const ownerName = (await given.ownerNameOf?.(ref.name, body, context as Context)) ?? ref.name
  const spec = {
    ownerCollection: given.collection,
    ownerName,
    strategy: 'Reported',
    phase: 'Queued',
    ...reportedFields(body, context),
    ...(body.containerImage && given.stampOf?.(context, location)),
  }
  const isOwnReport = (stored: StoredDeployment) =>
    stored.spec.ownerCollection === given.collection &&
    stored.spec.ownerName === ownerName &&
    mayReport(stored, reporter, context)
  // One at a time, so that the limit holds for concurrent requests.
  const made = await services.records.exclusively(`deployments of ${ref.namespace}/${ref.name}`, async () => {
    const all = await services.records.list(DeploymentRecord, { namespace: ref.namespace }, { fresh: true })
    refuseTooMany(all.filter((one) => isOfSite(one.spec, given.collection, ref.name)))
    const request = { namespace: ref.namespace, name: id, spec, caller, isSame: isOwnReport }
    return services.records.create(DeploymentRecord, request)
  })
  return (made.isNew ? created : ok)(entryOf(made.object, object as DeployedObject, location), {
    etag: etagOf(made.object),
  })
}

/** Ended deployments are pruned, but open ones would accumulate. @throws PlatformError INVALID_STATE */
function refuseTooMany(deployments: readonly StoredDeployment[]): void {
  const open = deployments.filter((one) => !isFinalPhase(deploymentPhaseOf(one)))
  if (open.length < OPEN_DEPLOYMENTS_MAX) return
  const message = `${OPEN_DEPLOYMENTS_MAX} deployments have not ended yet: report their end first.`
  throw new PlatformError('INVALID_STATE', message, { status: 'Queued', phase: 'Queued' })
}

async function updateDeployment<K extends AnyKind>(
  kind: K,
  given: DeploymentRoutes,
  context: Context<string, unknown, DeploymentBody>,
) {
  const { body, services, caller, ifMatch } = context
  const found: ReportedResource<K> = await findReported(kind, context, given)
  const { object, location, ref } = found
  const record = await findOwnDeployment(context, found, given.collection)
  refuseOtherPlace(body, location, record.metadata.name)
  // An image that was reported before counts too: the resource may refer to secrets by now.
  const containerImage = body.containerImage ?? record.status?.image ?? record.spec.image
  await given.refuse(object as DeployedObject, { ...body, containerImage }, context, location)
  const change = (stored: StoredDeployment) => {
    if (stored.metadata.deletionTimestamp !== undefined) throw notFound(`Deployment "${stored.metadata.name}"`)
    refuseChange(stored, body)
    const isNew = body.containerImage && body.containerImage !== stored.spec.image
    return { ...stored.spec, ...reportedFields(body, context), ...(isNew && given.stampOf?.(context, location)) }
  }
  const written = await services.records.update(
    DeploymentRecord,
    { namespace: ref.namespace, name: record.metadata.name },
    { caller, ifMatch, change },
  )
  return ok(entryOf(written.object, object as DeployedObject, location), { etag: etagOf(written.object) })
}

/** @throws PlatformError INVALID_STATE */
function refuseChange(stored: StoredDeployment, { phase, containerImage }: DeploymentBody): void {
  const currentPhase = deploymentPhaseOf(stored)
  const refuse = (message: string, extras?: object) => invalidDeploymentState(stored, message, extras)
  if (stored.spec.strategy !== 'Reported')
    throw refuse('Only the platform itself reports the progress of this deployment.')
  if (isFinalPhase(currentPhase) && phase !== currentPhase)
    throw refuse(`The deployment has ended (${currentPhase}) and cannot be changed.`)
  if (phase && !isPhaseChangeAllowed(stored.spec.phase, phase))
    throw refuse(`The deployment is at ${currentPhase}: it does not go back to ${phase}.`, {
      field: 'phase',
      value: phase,
    })
  if (containerImage && containerImage !== (stored.spec.image ?? containerImage))
    throw refuse('The image of a deployment cannot be changed once it is known.', {
      field: 'containerImage',
      value: containerImage,
    })
}
