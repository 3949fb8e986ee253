import { z } from 'zod'
import {
  decodeVectorKeys,
  VECTOR_KEY_HEADER,
  VECTOR_PORTS,
  type VectorKeys,
  vectorEndpoints,
  vectorNames,
} from '../../contracts/vector.ts'
import { PlatformError } from '../../core/errors.ts'
import { hostInUrl } from '../../core/hostInUrl.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { balancedAddresses, externalAddressOf, notYetCreated } from '../databases/databaseAccess.ts'
import { type Answer, NO_STORE, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { DateTime, type ExternalAddressDto } from '../resources/dto.ts'
import { findResource, otherClusterOf } from '../resources/find.ts'
import { invalidState } from '../resources/invalidState.ts'
import { pollUntilChanged } from '../resources/pollUntilChanged.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { hostOf, type VectorObject, type VectorView } from './record.ts'

export const ApiKeyDto = namedRecord('VectorApiKeyDto', {
  apiKey: z.string().describe('The one that works now'),
  pendingApiKey: z.string().nullable().describe('While one is applied'),
  readOnlyApiKey: z.string().nullable(),
  createdAt: DateTime,
  rotatedAt: DateTime.nullable(),
  version: z.int(),
  rotationState: z.enum(['Applied', 'Applying']),
})
type ApiKeyDto = z.output<typeof ApiKeyDto>

async function readKeys(context: Context, object: VectorObject): Promise<VectorKeys | undefined> {
  const { namespace = '', name } = object.metadata
  const clusterId = otherClusterOf(context.services, object.spec.clusterId)
  return decodeVectorKeys(await context.services.vector.secrets.read(namespace, vectorNames(name).keys, clusterId))
}

function refuseWithoutKeys(object: VectorObject): void {
  if (object.spec.apiKeyEnabled) return
  throw new PlatformError('API_KEY_DISABLED', `"${object.metadata.name}" accepts requests without a key.`)
}

function keyDto(keys: VectorKeys, wantedVersion: number): ApiKeyDto | undefined {
  // If the Secret was lost while peers ran, the pending key is the first that will work.
  const shown = keys.current ?? keys.pending
  if (shown === undefined) return undefined
  const isApplying = keys.pending !== undefined || shown.version < wantedVersion
  return {
    apiKey: shown.apiKey,
    pendingApiKey: keys.pending?.apiKey ?? null,
    readOnlyApiKey: shown.readOnlyApiKey,
    createdAt: keys.createdAt,
    rotatedAt: keys.rotatedAt ?? null,
    version: shown.version,
    rotationState: isApplying ? 'Applying' : 'Applied',
  }
}

export async function readApiKey(context: Context): Promise<Answer<ApiKeyDto>> {
  const { object } = await findResource(VectorCluster, context)
  refuseWithoutKeys(object)
  const keys = await readKeys(context, object)
  const dto = keys === undefined ? undefined : keyDto(keys, object.spec.apiKeyVersion)
  if (dto === undefined) throw notYetCreated(object, 'The API key')
  return ok(dto, { headers: NO_STORE })
}

/**
 * Requests new keys by incrementing the version; the controller creates and applies them. Waits briefly until the new
 * key is stored, so that the response can contain it.
 */
export async function rotateApiKey(context: Context): Promise<Answer<ApiKeyDto>> {
  const { object: found, ref } = await findResource(VectorCluster, context)
  refuseWithoutKeys(found)
  const before = await readKeys(context, found)
  if (before === undefined) throw notYetCreated(found, 'The API key')
  const { object } = await context.services.records.update(VectorCluster, ref, {
    caller: context.caller,
    ifMatch: context.ifMatch,
    change: (stored) => {
      refuseWhileDeleting(stored)
      refuseWithoutKeys(stored)
      const { apiKeyVersion } = stored.spec
      const known = Math.max(before.current?.version ?? 0, before.pending?.version ?? 0)
      if (before.pending !== undefined || known < apiKeyVersion)
        throw invalidState(stored, `New keys of "${ref.name}" are already being applied.`)
      return { ...stored.spec, apiKeyVersion: apiKeyVersion + 1 }
    },
  })
  const { apiKeyVersion } = object.spec
  let keys = before
  await pollUntilChanged(context, async () => {
    keys = (await readKeys(context, object)) ?? keys
    return keys.pending?.version === apiKeyVersion || keys.current?.version === apiKeyVersion
  })
  const dto = keyDto(keys, apiKeyVersion)
  if (dto === undefined) throw notYetCreated(object, 'The API key')
  return ok(dto, { headers: NO_STORE, etag: etagOf(object) })
}

export function connectionInfo({ object }: VectorView) {
  const { name, namespace = '' } = object.metadata
  const { host, rest, grpc } = vectorEndpoints(namespace, name)
  const { status, spec } = object
  const [address] = balancedAddresses(object)
  return {
    restEndpoint: rest,
    grpcEndpoint: grpc,
    publicRestEndpoint: status?.publicEndpoint ?? null,
    publicGrpcEndpoint: address === undefined ? null : `http://${hostInUrl(address)}:${VECTOR_PORTS.grpc}`,
    host,
    restPort: VECTOR_PORTS.rest,
    grpcPort: VECTOR_PORTS.grpc,
    tls: false,
    apiKeyRequired: spec.apiKeyEnabled,
    apiKeyHeader: VECTOR_KEY_HEADER,
    caCertificate: null,
  }
}

/** Ingress or Gateway terminate TLS for the host; the load balancer leads to the engine directly. */
export function externalAddress(view: VectorView): ExternalAddressDto {
  const { object } = view
  const { enableIngress, enableLoadBalancer } = object.spec
  const loadBalancerPorts = (['rest', 'grpc'] as const).map((name) => ({ name, port: VECTOR_PORTS[name] }))
  return externalAddressOf(object, {
    isEnabled: enableIngress || enableLoadBalancer,
    isReady: balancedAddresses(object).length > 0 || (object.status?.publicEndpoint ?? null) !== null,
    hostname: enableIngress ? (hostOf(view) ?? null) : undefined,
    ports: [...(enableIngress ? [{ name: 'https', port: 443 }] : []), ...(enableLoadBalancer ? loadBalancerPorts : [])],
  })
}
