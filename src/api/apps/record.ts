import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { selectBackedUpVolumes, USE_FILES, volumeBackupsObstacle } from '../../contracts/backups.ts'
import { PlatformError } from '../../core/errors.ts'
import { APP_SECRET_ACCESS_FIELDS } from '../../crds/appRules.ts'
import { AppRuntime } from '../../crds/appruntimes.ts'
import { APP_COMPONENT, PlatformApp } from '../../crds/apps.ts'
import { withDefaults } from '../../crds/schemaDefaults.ts'
import { appValueReferences } from '../../crds/valueReferences.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { withoutAbsent } from '../records/specs.ts'
import { refuseSource } from '../resources/deployments/owner.ts'
import { runtimeStatusOf } from '../resources/deployments/runtimes.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'
import { otherClusterOf } from '../resources/find.ts'
import { hostFields, refuseTakenHosts } from '../resources/hosts.ts'
import { recordOf } from '../resources/record.ts'
import { refuseMissingReferences, requireReferenceRights, requireVaultRights } from '../resources/references.ts'
import { planOf, shownPlan, unprocessable } from '../resources/sizing.ts'
import { refuseUnshared } from '../resources/storage.ts'
import type { ResourceView, WriteView } from '../resources/types.ts'

export type AppView = ResourceView<typeof PlatformApp>
type Spec = PlatformApp['spec']
type Write = WriteView<typeof PlatformApp>

export const AppRevisionDto = namedRecord('AppRevisionDto', {
  number: z.int(),
  createdAt: DateTime,
  createdBy: z.string().nullable(),
  image: z.string().nullable(),
  commit: z.string().nullable(),
  deploymentId: Uuid.nullable(),
  reason: z.string(),
  isServing: z.boolean(),
  canServe: z.boolean(),
})

type AppRevision = NonNullable<NonNullable<AppView['object']['status']>['revisions']>[number]

export const shownRevision = (revision: AppRevision, serving: number | undefined) =>
  wholeRecord(AppRevisionDto, {
    ...revision,
    deploymentId: revision.deploymentId || null,
    isServing: revision.number === serving,
    canServe: revision.image !== undefined,
  })

/** The replica count is then observed rather than requested, so the one in a body is ignored. */
const isScaledByLoad = ({ minReplicas, maxReplicas }: Partial<Spec>) =>
  minReplicas !== undefined && maxReplicas !== undefined

/** Until the load has been observed, the minimum runs. */
function scaledReplicas({ running, minReplicas = 0 }: Spec, current: number): number {
  return running ? Math.max(current, minReplicas) : current
}

const record = recordOf(PlatformApp, {
  id: 'AppDto',
  hidden: ['running', 'restartedAt', 'onDelete', 'deploy', 'rollback', 'cancelledDeployment'],
  computed: {
    ...hostFields,
    commit: z.string().nullable().describe('Commit that is served'),
    servingImage: z.string().nullable().describe('Image that is served'),
    revision: z.int().describe('The newest; 0 until the first is recorded'),
    servingRevision: z.int().nullable().describe('Other than revision while a release is on its way'),
    revisions: [
      z.array(AppRevisionDto).describe('The 20 newest'),
      ({ object: { status } }) =>
        (status?.revisions ?? []).map((revision) => shownRevision(revision, status?.servingRevision)),
    ],
    readyReplicas: z.int(),
    restartCount: z.int(),
  },
  items: {
    env: {},
    volumes: { sharedByComponents: [z.boolean().describe('Never: an app has one component'), () => false] },
  },
  filled: {
    computePlan: ({ services, object: { spec } }) => shownPlan(spec, planOf(services, 'App', spec)),
  },
  shownAs: {
    replicas: ({ object: { spec, status } }) =>
      spec.maxReplicas === undefined ? spec.replicas : scaledReplicas(spec, status?.replicas ?? 0),
  },
  refine: (given, view) => {
    const body = view.context.body as { healthPath?: unknown } | undefined
    // Null means a check of the connection only, which is stored as an empty path.
    const healthPath = body?.healthPath === null || body?.healthPath === '' ? '' : (given.healthPath ?? '/')
    const replicas = isScaledByLoad(given) ? view.previous?.spec.replicas : given.replicas
    const draft = withDefaults(PlatformApp.spec, withoutAbsent({ ...given, healthPath, replicas }))
    requireAppReferenceRights(draft, view)
    refuseSource(draft, view)
    refuseRuntime(draft, view)
    refuseUnshared(instanceVolumes(draft), view.services)
    refuseTakenHosts(PlatformApp, draft, view)
    refuseBackups(draft, view)
    return { healthPath, replicas: draft.replicas }
  },
})

const healthPath = z
  .string()
  .nullable()
  .describe('Path whose answer says that a copy is ready; null asks for a connection only')

/** AppDto (records: apps). */
export const appRecord = {
  ...record,
  dto: record.dto.extend({ healthPath }).meta({ id: 'AppDto' }),
  toDto: (view: AppView) => ({ ...record.toDto(view), healthPath: view.object.spec.healthPath || null }),
}

const contentOf = (spec: Spec) => APP_SECRET_ACCESS_FIELDS.map((field) => spec[field])

type RightsContext = Pick<Write, 'boundaryId' | 'resourceGroup' | 'services' | 'context' | 'previous'>

/**
 * References are checked when they are written, so a change that cannot reveal their values needs no right to read
 * them.
 * @throws PlatformError FORBIDDEN, REFERENCE_NOT_FOUND
 */
export function requireAppReferenceRights(draft: Spec, view: RightsContext): void {
  const { env, volumes, registryCredential } = draft
  const before = view.previous?.spec
  if (before === undefined || !isDeepStrictEqual(contentOf(draft), contentOf(before)))
    requireReferenceRights(appValueReferences(draft), view)
  if (registryCredential !== undefined && !isDeepStrictEqual(registryCredential, before?.registryCredential))
    requireVaultRights([registryCredential.vaultName], view)
  const known = before === undefined ? [] : [...before.env, ...before.volumes, { secret: before.registryCredential }]
  refuseMissingReferences({ env, volumes, registryCredential: [{ secret: registryCredential }] }, known, view)
}

/** @throws PlatformError REFERENCE_NOT_FOUND, RUNTIME_ENDED */
function refuseRuntime({ runtime: name, runtimeVersion }: Spec, { services, previous }: Write): void {
  const before = previous?.spec
  if (name === undefined || (name === before?.runtime && runtimeVersion === before.runtimeVersion)) return
  const found = services.records.peek(AppRuntime, { name })
  if (found === undefined) throw unprocessable('REFERENCE_NOT_FOUND', 'runtime', name, `There is no runtime "${name}".`)
  if (runtimeVersion === undefined) return
  const version = found.spec.versions.find((one) => one.version === runtimeVersion)
  if (version === undefined)
    throw unprocessable(
      'REFERENCE_NOT_FOUND',
      'runtimeVersion',
      runtimeVersion,
      `Runtime "${name}" has no version "${runtimeVersion}".`,
    )
  if (runtimeStatusOf(version, services) !== 'Ended') return
  throw unprocessable(
    'RUNTIME_ENDED',
    'runtimeVersion',
    runtimeVersion,
    `Version ${runtimeVersion} of "${name}" is no longer supported: choose a newer one.`,
  )
}

/** @throws PlatformError BACKUP_TARGET_MISSING, SNAPSHOT_CLASS_MISSING; of another cluster its controller says it */
function refuseBackups({ backupPolicy: policy, clusterId, volumes }: Spec, { services, previous }: Write): void {
  // A paused policy needs no target.
  if (policy?.enabled !== true || isDeepStrictEqual(policy, previous?.spec.backupPolicy)) return
  if (otherClusterOf(services, clusterId) !== undefined) return
  const covered = selectBackedUpVolumes(volumes, policy)
  const found = volumeBackupsObstacle(services.backups.ownMeans(), covered, policy, USE_FILES)
  if (found === undefined) return
  throw new PlatformError(found.code, found.message, { field: 'backupPolicy', value: found.volume })
}

/** Returns the volumes in the form of a container instance with one component. */
function instanceVolumes({ clusterId, volumes, replicas, maxReplicas }: Spec) {
  const mounts = volumes.map(({ name }) => ({ volume: name }))
  return { clusterId, volumes, components: [{ name: APP_COMPONENT, replicas: maxReplicas ?? replicas, mounts }] }
}

/** Deployed code can read the values that the app refers to. @throws PlatformError FORBIDDEN */
export function requireAppCodeRights(
  spec: Spec,
  location: { boundaryId: string; resourceGroup: string },
  context: Context,
): void {
  requireReferenceRights(appValueReferences(spec), { ...location, services: context.services, context })
}
