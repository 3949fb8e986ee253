import { z } from 'zod'
import type { BuildLogs } from '../../../adapters/buildlogs/port.ts'
import type { SourceArchives } from '../../../adapters/builds/port.ts'
import type { BuiltDeployment } from '../../../contracts/builds/progress.ts'
import { DEPLOYMENT_PHASES, type DeployedCollection, isOfSite } from '../../../contracts/deployments.ts'
import { notFound, PlatformError } from '../../../core/errors.ts'
import { createdAtOf, type ObjectMeta } from '../../../core/object.ts'
import { DeploymentRecord, deploymentPhaseOf } from '../../../crds/deployments.ts'
import type { Context } from '../../http/context.ts'
import { namedRecord, strictRecord } from '../../http/namedRecord.ts'
import type { RecordOf } from '../../records/records.ts'
import { DateTime, ignoredFields, Uuid, wholeRecord } from '../dto.ts'
import type { ResourceLocation } from '../find.ts'
import { withKindDescriptions } from '../writtenBody.ts'

declare module '../../http/context.ts' {
  interface Services {
    readonly deployments: {
      /** The stored logs of builds. */
      readonly logs: BuildLogs
      /** Where uploaded sources are stored; undefined without a registry. */
      readonly archives: SourceArchives | undefined
      /** Returns the newest pod that builds a deployment, in the namespace of builds. */
      readonly podOf: (deployment: BuiltDeployment) => string | undefined
    }
  }
}

export type StoredDeployment = RecordOf<typeof DeploymentRecord>

/** Refuses what a deployment does not allow at its present phase, which is also its status. */
export function invalidDeploymentState(stored: StoredDeployment, message: string, extras = {}): PlatformError {
  const phase = deploymentPhaseOf(stored)
  return new PlatformError('INVALID_STATE', message, { status: phase, phase, ...extras })
}
export type DeployedObject = {
  readonly metadata: ObjectMeta
  readonly spec: object
  readonly status?:
    | {
        servingDeployment?: string | undefined
        /** For a resource that is deployed in several parts. */
        servingDeployments?: readonly string[] | undefined
      }
    | undefined
}

/** Exactly the record that the interface shows. */
export const DeploymentLogEntryDto = namedRecord('DeploymentLogEntryDto', {
  id: Uuid,
  deploymentId: Uuid.describe('The same as id'),
  boundaryId: Uuid,
  resourceGroupName: z.string(),
  siteName: z.string().describe('What is deployed'),
  branch: z.string().nullable(),
  commitSha: z.string().nullable(),
  containerImage: z.string().nullable().describe('Null until it is built'),
  phase: z.enum(DEPLOYMENT_PHASES).describe('Phase; it only moves forward, and never changes after the end'),
  lastMessage: z.string(),
  provider: z.string().nullable(),
  repositoryName: z.string().nullable(),
  source: z
    .string()
    .nullable()
    .describe(
      'Name of the deployment source, or upload, image or `functions/<name>`; null for a repository without one',
    ),
  timestamp: DateTime.describe('When it was requested'),
  canServe: z.boolean().describe('Whether it has an image that can be served'),
  isServing: z.boolean().describe('Whether it is served now'),
})
export type DeploymentLogEntry = z.output<typeof DeploymentLogEntryDto>

const { branch, commitSha, image, provider, repositoryName, source, message, phase } = DeploymentRecord.spec.shape

const pathDescription = (what: string) => `${what}, which must be that of the path`

const NIL_UUID = '00000000-0000-0000-0000-000000000000'
/** Clients without nullable ids send an empty text, or the nil uuid, for a deployment that does not exist yet. */
const OwnId = z
  .string()
  .meta({ pattern: '^([0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})?$' })
  .transform((id) => (id === '' || id === NIL_UUID ? undefined : id))
  .pipe(Uuid.optional())
  .nullish()

/** The same record in bodies: what it repeats of the path must match, and what the platform sets is ignored. */
const WrittenEntry = strictRecord('DeploymentLogEntry', {
  id: OwnId.describe('Id of the deployment, a uuid; made where absent or empty'),
  deploymentId: OwnId.describe('The same as id'),
  boundaryId: Uuid.nullish().describe(pathDescription('Id of the boundary')),
  resourceGroupName: z.string().nullish().describe(pathDescription('Name of the group')),
  siteName: z.string().nullish().describe(pathDescription('Name of what is deployed')),
  branch: branch.unwrap().nullish(),
  commitSha: commitSha.unwrap().nullish(),
  containerImage: image.unwrap().nullish().describe('What is to be served; needed from phase Deploying on'),
  phase: phase.unwrap().nullish(),
  lastMessage: message
    .unwrap()
    .nullish()
    .describe(message.description ?? ''),
  provider: provider.unwrap().nullish(),
  repositoryName: repositoryName.unwrap().nullish(),
  source: source.unwrap().nullish(),
  timestamp: DateTime.nullish().meta({ description: 'When it was requested, as read; ignored', readOnly: true }),
  ...ignoredFields(['canServe', 'isServing']),
})
export const DeploymentBody = withKindDescriptions(WrittenEntry, DeploymentRecord)
export type DeploymentBody = z.output<typeof DeploymentBody>

export function entryOf(
  record: StoredDeployment,
  owner: DeployedObject,
  location: ResourceLocation,
): DeploymentLogEntry {
  const { spec, status, metadata } = record
  const phase = deploymentPhaseOf(record)
  // The status does not yet know what was just reported.
  const isReportedNow = spec.strategy === 'Reported' && phase === spec.phase && phase !== 'Deploying'
  const reported: Partial<typeof spec> = isReportedNow ? spec : {}
  return wholeRecord(DeploymentLogEntryDto, {
    ...spec,
    ...{ id: metadata.name, deploymentId: metadata.name },
    ...{ boundaryId: location.boundaryId, resourceGroupName: location.resourceGroup, siteName: location.name },
    commitSha: reported.commitSha ?? status?.commitSha ?? spec.commitSha,
    containerImage: status?.image ?? spec.image,
    phase,
    lastMessage: reported.message ?? (phase === status?.stage ? status.lastMessage : undefined) ?? spec.message ?? '',
    timestamp: createdAtOf(metadata),
    canServe: status?.image !== undefined,
    isServing:
      owner.status?.servingDeployment === metadata.name ||
      owner.status?.servingDeployments?.includes(metadata.name) === true,
  })
}

type Deployable = { namespace: string; collection: DeployedCollection; name: string }

/** The deployments of a resource, in no order. */
export function deploymentsOf(
  { services }: Pick<Context, 'services'>,
  { namespace, collection, name }: Deployable,
): StoredDeployment[] {
  return services.records
    .peekAll(DeploymentRecord, { namespace })
    .filter(({ spec }) => isOfSite(spec, collection, name))
}

/** @throws PlatformError NOT_FOUND */
export async function findDeployment(
  context: Context,
  { namespace, collection, name }: Deployable,
): Promise<StoredDeployment> {
  const { services, fresh, parameters } = context
  const { deploymentId: id = '' } = parameters
  const found = await services.records.get(DeploymentRecord, { namespace, name: id.toLowerCase() }, { fresh })
  if (found === undefined || !isOfSite(found.spec, collection, name))
    throw notFound(`Deployment "${id.slice(0, 64)}" of "${name}"`)
  return found
}
