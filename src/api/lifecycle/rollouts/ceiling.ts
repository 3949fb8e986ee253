import { z } from 'zod'
import type { RoleChange } from '../../../adapters/clusterinspector/roles.ts'
import { isSameVersion } from '../../../contracts/lifecycle.ts'
import { timestamp } from '../../../core/clock.ts'
import { PlatformError } from '../../../core/errors.ts'
import { ok } from '../../http/answer.ts'
import type { Context } from '../../http/context.ts'
import { namedRecord } from '../../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../../http/route.ts'
import { DateTime } from '../../resources/dto.ts'

const PolicyRule = namedRecord('PolicyRule', {
  apiGroups: z.array(z.string()).readonly(),
  resources: z.array(z.string()).readonly(),
  verbs: z.array(z.string()).readonly(),
  resourceNames: z.array(z.string()).readonly().optional().describe('Only objects of these names; absent for all'),
})

const ProjectorCeilingDto = namedRecord('ProjectorCeilingDto', {
  release: z.string(),
  dryRun: z.boolean(),
  isApplied: z.boolean().describe('Whether the roles of the cluster are those of the release by now'),
  added: z.array(PolicyRule).describe('What they lack, or lacked before this request'),
  removed: z.array(PolicyRule).describe('What they hold beyond it, or held before this request'),
  appliedAt: DateTime.nullable(),
})

const CeilingQuery = z.object({
  release: z.string().min(1).max(64).describe('Version of the release whose roles are meant: the one that runs'),
  dryRun: z.enum(['true', 'false']).optional().describe('Whether only to say what would change'),
})

/**
 * POST /lifecycle/preflight/projector-ceiling/apply. Uses the caller's own token, so that the escalation check of the
 * API server applies.
 * @throws PlatformError ReleaseNotFound, forbidden
 */
async function applyCeiling(context: Context<string, z.output<typeof CeilingQuery>>) {
  const { services, query } = context
  const { release, dryRun } = query
  const { version, ceiling } = services.rollouts
  if (!isSameVersion(release, version)) {
    const message = `Release "${release}" was not found: only the roles of the running version ${version} are known.`
    throw new PlatformError('ReleaseNotFound', message, { release })
  }
  const changes = await ceiling.changes()
  const isDry = dryRun === 'true'
  const isChanged = !isDry && changes.length > 0
  if (isChanged && !(await ceiling.apply(context.header('authorization') ?? '', changes))) throw exceedsCaller(changes)
  return ok({
    release: version,
    dryRun: isDry,
    isApplied: isChanged || changes.length === 0,
    added: changes.flatMap(({ added }) => [...added]),
    removed: changes.flatMap(({ removed }) => [...removed]),
    appliedAt: isChanged ? timestamp(services.clock.now()) : null,
  })
}

function exceedsCaller(changes: readonly RoleChange[]): PlatformError {
  const roles = changes.map(({ name }) => name)
  const message = `The API server does not let you change ${roles.join(', ')}: a cluster administrator must apply the manifests of the release, or bind you to a ClusterRole that may update these and has their permissions.`
  return new PlatformError('forbidden', message, { roles })
}

export const ceilingRoutes: readonly RouteDraft[] = [
  route('POST', '/lifecycle/preflight/projector-ceiling/apply', {
    auth: action('rbac/projector/apply'),
    further: 'the right to change these ClusterRoles at the API server of Kubernetes',
    summary: 'Update the ClusterRoles behind role assignments to this release',
    query: CeilingQuery,
    reply: ProjectorCeilingDto,
    handler: applyCeiling,
  }),
]
