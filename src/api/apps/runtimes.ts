import { z } from 'zod'
import { objectId } from '../../core/ids.ts'
import { AppRuntime } from '../../crds/appruntimes.ts'
import type { Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { runtimeStatusOf } from '../resources/deployments/runtimes.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { findBoundary } from '../resources/find.ts'
import { text } from '../resources/paging.ts'

const AppRuntimeDto = namedRecord('AppRuntimeDto', {
  id: Uuid,
  name: z.string().describe('What runtime takes'),
  title: z.string(),
  versions: z.array(
    namedRecord('AppRuntimeVersion', {
      version: z.string(),
      isDefault: z.boolean(),
      status: z.enum(['Supported', 'Deprecated', 'Ended']),
      endsAt: DateTime.nullable(),
      builderImage: z.string(),
    }),
  ),
  detects: z.array(z.string()).describe('Files by which a repository is recognised'),
  defaultStartCommand: z.string(),
  defaultPort: z.int(),
  description: z.string(),
})

function runtimeDto({ metadata: { name }, spec }: RecordOf<typeof AppRuntime>, services: Services) {
  const { title, detects, defaultStartCommand, defaultPort, description } = spec
  return {
    ...{ id: objectId(AppRuntime.resource, { name }), name, title },
    versions: spec.versions.map((one) => ({
      version: one.version,
      isDefault: one.isDefault === true,
      status: runtimeStatusOf(one, services),
      endsAt: one.endsAt ?? null,
      builderImage: one.builderImage,
    })),
    ...{ detects, defaultStartCommand, defaultPort, description },
  }
}

export const runtimeRoute: RouteDraft = listRoute('{B}/resources/appruntimes', {
  auth: action('apps/read'),
  summary: 'Languages that apps can be built with',
  dto: AppRuntimeDto,
  sort: 'name',
  columns: { name: text('Name', { isSearched: true }), title: text('Title', { isSearched: true }) },
  rows: async (context) => {
    await findBoundary(context, context.parameters.boundaryId ?? '')
    return context.services.records.peekAll(AppRuntime).map((runtime) => runtimeDto(runtime, context.services))
  },
})
