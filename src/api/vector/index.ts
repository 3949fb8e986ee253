import { z } from 'zod'
import type { QdrantPort } from '../../adapters/qdrant/port.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, dataAction, type RouteDraft, route } from '../http/route.ts'
import type { SecretReader } from '../records/secrets.ts'
import { ExternalAddressDto } from '../resources/dto.ts'
import { createViewBuilder, findResource } from '../resources/find.ts'
import { flag, text } from '../resources/paging.ts'
import { planFields, planRoutes } from '../resources/plans.ts'
import { resource } from '../resources/resource.ts'
import { replicasField, storageField } from '../resources/sizing.ts'
import { ApiKeyDto, connectionInfo, externalAddress, readApiKey, rotateApiKey } from './access.ts'
import { VectorHealth, vectorHealth } from './health.ts'
import { type VectorView, vectorRecord } from './record.ts'
import { snapshotRoutes } from './snapshots.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly vector: {
      readonly engine: QdrantPort
      readonly secrets: SecretReader
      readonly allowOwnImages: boolean
    }
  }
}

const PlanDto = namedRecord('VectorResourcePlanDto', planFields)

const ConnectionInfoDto = namedRecord('VectorConnectionInfo', {
  restEndpoint: z.string(),
  grpcEndpoint: z.string(),
  publicRestEndpoint: z.string().nullable(),
  publicGrpcEndpoint: z.string().nullable(),
  host: z.string(),
  restPort: z.int(),
  grpcPort: z.int(),
  tls: z.boolean(),
  apiKeyRequired: z.boolean(),
  apiKeyHeader: z.string(),
  caCertificate: z.string().nullable(),
})

const BASE = '{RG}/vectorclusters/{name}'

async function viewOf(context: Context): Promise<VectorView> {
  const { object, location } = await findResource(VectorCluster, context)
  return createViewBuilder<typeof VectorCluster>(context.services, location.boundaryId)(object, location.resourceGroup)
}

/** The nineteen routes of vector databases (interface sections 4.2 and 4.3). */
export const vectorRoutes: readonly RouteDraft[] = [
  ...resource(VectorCluster, {
    ...vectorRecord,
    example: { computePlan: 'vector-medium', replicas: 3 },
    fields: {
      vectorVersion: text('Version'),
      enableIngress: flag('Ingress'),
      enableLoadBalancer: flag('Load balancer'),
      replicas: replicasField(VectorCluster),
      storageSize: storageField(VectorCluster),
    },
  }),
  ...planRoutes({
    family: 'Vector',
    dto: PlanDto,
    productionReplicas: 3,
  }),
  ...snapshotRoutes(BASE),
  route('GET', `${BASE}/apikey`, {
    auth: dataAction('vectorcluster/readSecrets'),
    summary: 'The API key',
    reply: ApiKeyDto,
    handler: (context) => readApiKey(context),
  }),
  route('POST', `${BASE}/apikey/rotate`, {
    auth: dataAction('vectorcluster/writeSecrets'),
    isHeld: true,
    summary: 'Replace the API keys',
    reply: ApiKeyDto,
    handler: (context) => rotateApiKey(context),
  }),
  route('GET', `${BASE}/connectioninfo`, {
    auth: action('vectorcluster/read'),
    summary: 'REST and gRPC endpoints',
    reply: ConnectionInfoDto,
    handler: async (context) => {
      const view = await viewOf(context)
      return ok(connectionInfo(view), { etag: etagOf(view.object) })
    },
  }),
  route('GET', `${BASE}/external-ip`, {
    auth: action('vectorcluster/read'),
    summary: 'Public address',
    reply: ExternalAddressDto,
    handler: async (context) => {
      const view = await viewOf(context)
      return ok(externalAddress(view), { etag: etagOf(view.object) })
    },
  }),
  route('GET', `${BASE}/health`, {
    auth: action('vectorcluster/read'),
    summary: 'Health, as the engine reports it',
    reply: VectorHealth,
    handler: async (context) =>
      ok(await vectorHealth((await viewOf(context)).object, context.services, context.signal)),
  }),
]
