import { z } from 'zod'
import { defaultHost, publicUrl } from '../../contracts/workloads.ts'
import type { ActionName } from '../../core/actions.ts'
import { groupNamespace } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ResourceName } from '../../crds/fields.ts'
import { requireActionBelow, resourceScope } from '../callers/visibility.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { checkProjected, defaultClusterFor } from './chooseCluster.ts'
import { Uuid } from './dto.ts'
import { clusterInfo, findGroup } from './find.ts'
import { holderOf } from './platformNames.ts'
import { checkNewName } from './writes.ts'

const UrlPreviewDto = namedRecord('UrlPreviewDto', {
  url: z.string(),
  host: z.string(),
  isAvailable: z.boolean(),
  reason: z.string().nullable(),
})

/** The route for the public URL that a new resource would have. */
export function urlPreviewRoute(kind: AnyKind, path: string, write: ActionName): RouteDraft {
  const request = strictRecord(`${kind.kind}UrlRequest`, {
    name: ResourceName,
    resourceGroup: z.string(),
    clusterId: Uuid.nullish(),
  })
  return route('POST', path, {
    auth: action(write),
    summary: 'The public URL that one of this name would have',
    body: request,
    reply: UrlPreviewDto,
    handler: async (context: Context<string, unknown, z.output<typeof request>>) => {
      const { services } = context
      const { name, resourceGroup, clusterId } = context.body
      const boundaryId = context.parameters.boundaryId ?? ''
      checkNewName(name, services.reservedNames)
      await requireActionBelow(context, write, resourceScope(boundaryId, resourceGroup, kind.segment, name))
      await findGroup(context, boundaryId, resourceGroup)
      if (clusterId !== undefined && clusterId !== null) checkProjected(services, boundaryId, clusterId, kind)
      const namespace = groupNamespace(boundaryId, resourceGroup)
      const { domain, port } = clusterId
        ? clusterInfo(services, clusterId)
        : defaultClusterFor(kind, services, boundaryId)
      const host = defaultHost(kind.segment, namespace, name, domain)
      const isTaken = holderOf(services, 'Host', host) !== undefined
      const exists = services.records.peek(kind, { namespace, name }) !== undefined
      const reason = exists ? `"${name}" already exists.` : isTaken ? `The host "${host}" is taken.` : null
      return ok({ url: publicUrl(host, port), host, isAvailable: reason === null, reason })
    },
  })
}
