import { z } from 'zod'
import { type summarize, summaryOf } from '../../core/conditions.ts'
import { PlatformError } from '../../core/errors.ts'
import type { ObjectMeta } from '../../core/object.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { ExternalAddressDto } from '../resources/dto.ts'
import { invalidState } from '../resources/invalidState.ts'

/** How clients reach a database, for all kinds. */

export const ConnectionStringDto = namedRecord('ConnectionStringDto', {
  connectionString: z.string().describe('As a URI'),
  jdbcUrl: z.string(),
  adoNetString: z.string(),
  host: z.string(),
  database: z.string(),
  username: z.string(),
  password: z.string(),
  port: z.int(),
  readOnlyConnectionString: z.string().nullable().describe('To replicas, or as a user who may only read'),
  pooledConnectionString: z.string().nullable().describe('Through the pooler'),
  sslMode: z.string(),
  caCertificate: z.string().nullable().describe('What the certificate of the server is verified with, as PEM'),
})
export type ConnectionString = z.output<typeof ConnectionStringDto>

/** The fields of a database that determine its addresses. */
type Reachable = {
  metadata: ObjectMeta
  spec: { enableLoadBalancer: boolean }
  status?: (Parameters<typeof summarize>[0] & { externalAddresses?: readonly string[] | undefined }) | undefined
}

/** Returns the refusal for something that is being created and does not exist yet. */
export function notYetCreated(object: Pick<Reachable, 'metadata' | 'status'>, subject: string): PlatformError {
  return invalidState(object, `${subject} of "${object.metadata.name}" does not exist yet.`)
}

/** @throws PlatformError LOAD_BALANCER_DISABLED; INVALID_STATE until there is an address */
export function publicHost(object: Reachable): string {
  if (!object.spec.enableLoadBalancer) {
    throw new PlatformError('LOAD_BALANCER_DISABLED', `"${object.metadata.name}" has no load balancer.`)
  }
  const [address] = object.status?.externalAddresses ?? []
  if (address === undefined) throw notYetCreated(object, 'The address')
  return address
}

/** Cloud providers assign a load balancer an IP address or a host name. */
export function isHostName(address: string): boolean {
  return /[a-z]/i.test(address) && !address.includes(':')
}

/** The addresses of the load balancer, if there is to be one. */
export function balancedAddresses({ spec, status }: Reachable): readonly string[] {
  return spec.enableLoadBalancer ? (status?.externalAddresses ?? []) : []
}

/** Returns the address of the load balancer, with the only port of the engine. */
export function loadBalancerAddress(object: Reachable, port: { name: string; port: number }): ExternalAddressDto {
  return externalAddressOf(object, { isEnabled: object.spec.enableLoadBalancer, ports: [port] })
}

type ReachabilityOptions = {
  readonly isEnabled: boolean
  readonly isReady?: boolean
  /** By default that of the load balancer. */
  readonly hostname?: string | null | undefined
  readonly ports: readonly { readonly name: string; readonly port: number }[]
}

/** Returns how clients outside the cluster reach a database. */
export function externalAddressOf(
  object: Reachable,
  { isEnabled, isReady, hostname, ports }: ReachabilityOptions,
): ExternalAddressDto {
  const addresses = balancedAddresses(object)
  const summary = summaryOf(object)
  const pending = summary.status === 'Failed' ? 'Failed' : 'Pending'
  const state = !isEnabled ? 'Disabled' : (isReady ?? addresses.length > 0) ? 'Ready' : pending
  return {
    enabled: isEnabled,
    status: state,
    hostname: hostname === undefined ? (addresses.find(isHostName) ?? null) : hostname,
    ipAddresses: addresses.filter((address) => !isHostName(address)),
    ports: isEnabled ? ports.map((port) => ({ ...port, protocol: 'TCP' })) : [],
    message: state === 'Pending' || state === 'Failed' ? summary.statusMessage : null,
  }
}
