import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { type AppContent, REVISED } from '../../crds/appRevisions.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { withDefaults } from '../../crds/schemaDefaults.ts'
import type { Context } from '../http/context.ts'
import { action, type RouteDraft } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { withoutAbsent } from '../records/specs.ts'
import type { ResourceLocation } from '../resources/find.ts'
import { revisionRoutes } from '../resources/revisions.ts'
import { AppRevisionDto, appRecord, requireAppReferenceRights, shownRevision } from './record.ts'

type Stored = RecordOf<typeof PlatformApp>

const CONTENT = z.object({
  image: z.string(),
  commit: z.string().optional(),
  deploymentId: z.string().describe('Deployment that brought the image'),
  ...Object.fromEntries(REVISED.map((name) => [name, PlatformApp.spec.shape[name] as z.ZodType])),
})

/** Lists all revisions; the app's record shows the newest only. */
export const appRevisionRoutes: readonly RouteDraft[] = revisionRoutes<typeof PlatformApp, AppContent>(
  PlatformApp,
  '{RG}/apps/{appName}',
  {
    parameter: 'appName',
    read: action('apps/read'),
    write: action('apps/write'),
    dto: appRecord.dto,
    toDto: appRecord.toDto,
    row: {
      dto: AppRevisionDto,
      of: ({ content: { image, commit, deploymentId }, ...rest }, { status }) =>
        shownRevision({ ...rest, image, commit, deploymentId }, status?.servingRevision),
    },
    single: { id: 'AppRevisionContentDto', content: CONTENT },
    rollback,
  },
)

/** Revision content that is not a spec field, or is never rolled back. */
const NOT_ROLLED_BACK = ['image', 'commit', 'deploymentId', 'volumes']

/** Restores configuration and image of a revision. Volumes are not rolled back: they must not shrink or be removed. */
function rollback(stored: Stored, content: AppContent, context: Context, location: ResourceLocation): object {
  const fields = Object.entries(content).filter(([name]) => !NOT_ROLLED_BACK.includes(name))
  const {
    computePlan: _plan,
    startCommand: _start,
    releaseCommand: _release,
    registryCredential: _key,
    ...kept
  } = stored.spec
  const spec = { ...kept, ...Object.fromEntries(fields), ...imageOf(stored, content, context) }
  const draft = withDefaults(PlatformApp.spec, withoutAbsent(spec))
  requireAppReferenceRights(draft, { ...location, services: context.services, context, previous: stored })
  return spec
}

/** @throws PlatformError IMAGE_GONE */
function imageOf(stored: Stored, { image, deploymentId }: AppContent, { services }: Context): object {
  if (stored.spec.sourceKind === 'Image') return { image }
  const { namespace = '' } = stored.metadata
  const found = services.records.peek(DeploymentRecord, { namespace, name: deploymentId })
  if (found?.status?.image === undefined) {
    const message = 'The image of this revision is no longer kept: deploy its code again.'
    throw new PlatformError('IMAGE_GONE', message, { deploymentId })
  }
  if (stored.status?.release?.deploymentId === deploymentId) return {}
  return { rollback: { deploymentId, requestedAt: timestamp(services.clock.now()) } }
}
