import type { z } from 'zod'
import { type DeployedCollection, isBuildingPhase } from '../../../contracts/deployments.ts'
import { originOf } from '../../../contracts/sources/repositories.ts'
import { PlatformError } from '../../../core/errors.ts'
import { boundaryNamespace } from '../../../core/names.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { DeploymentRecord, deploymentPhaseOf } from '../../../crds/deployments.ts'
import { DeploymentSource } from '../../../crds/sources.ts'
import type { Context } from '../../http/context.ts'
import { REFERENCE_RIGHTS } from '../../http/furtherRights.ts'
import { strictRecord } from '../../http/namedRecord.ts'
import { type Authorization, type RouteDraft, route } from '../../http/route.ts'
import { findResource, type ResourceLocation } from '../find.ts'
import { refuseWhileDeleting } from '../writes.ts'
import { type DeployedObject, DeploymentLogEntryDto, deploymentsOf, type StoredDeployment } from './record.ts'
import { answerWith, startBuild } from './start.ts'

const { branch, commitSha } = DeploymentRecord.spec.shape

export type DeployRoute = {
  parameter?: string
  auth: Authorization
  /** Advice for a resource that has no repository. */
  instead: string
  /** Refuses a resource whose code would see what the caller may not. */
  refuse?: (object: DeployedObject, context: Context, location: ResourceLocation) => void
}

type Code = { repositoryUrl?: string | undefined; branch: string; deploymentSourceId?: string | undefined }

/** `<base>/deploy`: builds the newest commit of a branch, or the given one. */
export function deployRoute(
  kind: AnyKind,
  base: string,
  { parameter, auth, instead, refuse }: DeployRoute,
): RouteDraft {
  const request = strictRecord(`${kind.kind}DeployRequest`, {
    branch: branch.unwrap().nullish().describe('Instead of its branch'),
    commit: commitSha.unwrap().nullish().describe('The newest of the branch if absent'),
  })
  const collection = kind.segment as DeployedCollection
  type Request = z.output<typeof request> | undefined
  return route('POST', `${base}/deploy` as string, {
    auth,
    further: REFERENCE_RIGHTS,
    summary: 'Builds the code as it is now, and serves it',
    body: request,
    isBodyOptional: true,
    reply: DeploymentLogEntryDto,
    example: { branch: 'main' },
    answers: [200, 202],
    handler: async (context: Context<string, unknown, Request>) => {
      const { object, location, ref } = await findResource(kind, context as Context, parameter)
      refuseWhileDeleting(object)
      const { repositoryUrl, branch: own, deploymentSourceId } = object.spec as Code
      if (repositoryUrl === undefined) {
        throw new PlatformError('NOTHING_TO_BUILD', `It has no repository to build: ${instead}.`)
      }
      refuse?.(object as DeployedObject, context as Context, location)
      const wanted = { branch: context.body?.branch ?? own, commit: context.body?.commit ?? undefined }
      const history = deploymentsOf(context, { ...ref, collection })
      const deployed = { object: object as DeployedObject, location, ref, collection, history }
      const existing = history.find((record) => isSameCommit(record, wanted))
      if (existing !== undefined) return answerWith(deployed, existing)
      return startBuild(context, deployed, {
        cause: ['asked', wanted.branch, wanted.commit ?? ''],
        spec: {
          branch: wanted.branch,
          ...(wanted.commit !== undefined && { commitSha: wanted.commit }),
          ...originOf(repositoryUrl, sourceOf(context as Context, location, deploymentSourceId)),
        },
      })
    },
  })
}

function sourceOf({ services }: Context, { boundaryId }: ResourceLocation, id: string | undefined) {
  if (id === undefined) return undefined
  return services.records.peek(DeploymentSource, { namespace: boundaryNamespace(boundaryId), name: id })?.spec
}

/** A queued deployment fetches the newest commit when its turn comes; a running one builds the commit that it has. */
function isSameCommit(
  record: StoredDeployment,
  { branch: wantedBranch, commit }: { branch: string; commit: string | undefined },
) {
  const { strategy, branch, commitSha } = record.spec
  const phase = deploymentPhaseOf(record)
  if (strategy !== 'Build' || branch !== wantedBranch) return false
  if (commit === undefined) return phase === 'Queued' && commitSha === undefined
  const known = record.status?.commitSha ?? commitSha
  return (phase === 'Queued' || isBuildingPhase(phase)) && known?.startsWith(commit) === true
}
