import { z } from 'zod'
import { CERTIFICATE_STATES, type CertificateState } from '../../contracts/certificates.ts'
import { defaultHost, hostSuffixOf, isHostOf, platformDomainOf } from '../../contracts/workloads.ts'
import { refusedFields } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import type { ObjectMeta } from '../../core/object.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { clusterInfo } from './find.ts'
import { enumeration } from './paging.ts'
import { holderOf, hostTaken, shownHolder } from './platformNames.ts'
import type { ResourceView, WriteView } from './types.ts'

/** A resource that is served under hosts of its own. */
type Hosted = {
  readonly object: {
    readonly spec: { readonly isPublic?: boolean; readonly enableIngress?: boolean }
    readonly status?: {
      readonly publicUrl?: string | undefined
      readonly certificateStatus?: CertificateState | undefined
    }
  }
}

export const certificateStatusOf = ({ object: { spec, status } }: Hosted): CertificateState | null =>
  status?.certificateStatus ?? ((spec.isPublic ?? spec.enableIngress) ? 'NotRequested' : null)

/** The fields about hosts in the records of all kinds with public hosts. */
export const hostFields = {
  publicUrl: [
    z.string().nullable().describe('Where it answers from outside, once it does'),
    ({ object }: Hosted) => object.status?.publicUrl,
  ],
  certificateStatus: [
    z.enum(CERTIFICATE_STATES).nullable().describe('The worst of the certificates of its custom domains'),
    certificateStatusOf,
  ],
} as const

export const certificateField = enumeration<Hosted>('Certificate', CERTIFICATE_STATES, {
  of: certificateStatusOf,
  isSorted: false,
})

/** The public hosts of a spec. */
type Hosting = {
  isPublic: boolean
  customDomains: readonly string[]
  ingressHost?: string | undefined
  clusterId?: string | undefined
}

/**
 * Refuses custom domains below the domain of a cluster: the platform assigns those hosts.
 *
 * @returns the domain of the resource's own cluster
 * @throws PlatformError BAD_REQUEST
 */
export function refuseOwnDomain(
  { customDomains = [], clusterId }: Partial<Pick<Hosting, 'customDomains' | 'clusterId'>>,
  { services }: Pick<WriteView, 'services'>,
): string {
  const { domain } = clusterInfo(services, clusterId)
  const domains = services.records.peekAll(PlatformCluster, {}).map(({ spec }) => spec.domain)
  const isOfPlatform = (one: string) => platformDomainOf(one, [domain, ...domains])
  const host = customDomains.find((one) => isOfPlatform(one) !== undefined)
  if (host === undefined) return domain
  const message = `"${host}" must not lie below "${isOfPlatform(host)}", whose hosts the platform assigns`
  throw refusedFields([{ field: 'customDomains', message }])
}

type Asking = Pick<WriteView, 'context' | 'services' | 'boundaryId' | 'resourceGroup' | 'name'>

/** @throws PlatformError BAD_REQUEST, HOST_TAKEN */
export function refuseTakenHosts(
  { kind, segment }: AnyKind,
  { isPublic, ingressHost, customDomains, clusterId }: Hosting,
  { context, services, boundaryId, resourceGroup, name }: Asking,
): void {
  const namespace = groupNamespace(boundaryId, resourceGroup)
  if (!isPublic) return
  const domain = refuseOwnDomain({ customDomains, clusterId }, { services })
  for (const host of [ingressHost ?? defaultHost(segment, namespace, name, domain), ...customDomains])
    refuseHeldHost(context, host, { kind, namespace, name }, 'customDomains')
}

/** @throws PlatformError HOST_TAKEN */
function refuseHeldHost(
  context: WriteView['context'],
  host: string,
  asking: { kind: string; namespace: string; name: string },
  field: string,
): void {
  const holder = holderOf(context.services, 'Host', host)
  const isSameResource =
    holder?.kind === asking.kind && holder.namespace === asking.namespace && holder.name === asking.name
  if (holder !== undefined && !isSameResource)
    throw hostTaken(host, shownHolder(context, asking.namespace, holder), field)
}

type HostOwner = {
  readonly kind: AnyKind
  readonly enabled: boolean
  readonly chosen: string | undefined
  readonly held: string | undefined
}

/** The platform host that a resource has or will have; undefined if it has none. */
export function ownHost(
  { kind, enabled, chosen, held }: HostOwner,
  { object: { metadata }, cluster }: Pick<ResourceView, 'cluster'> & { object: { metadata: ObjectMeta } },
): string | undefined {
  if (chosen !== undefined || !enabled) return chosen
  return held ?? defaultHost(kind.segment, metadata.namespace ?? '', metadata.name, cluster.domain)
}

/**
 * Returns the host that the caller chose; undefined for the default one.
 *
 * @throws PlatformError BAD_REQUEST, HOST_TAKEN
 */
export function chooseHost(
  { kind, segment }: AnyKind,
  { ingressHost: host, clusterId }: { ingressHost?: string | undefined; clusterId?: string | undefined },
  view: Asking & {
    previous: { spec: { ingressHost?: string | undefined } } | undefined
  },
): string | undefined {
  if (host === undefined) return undefined
  const { context, services, boundaryId, resourceGroup, name, previous } = view
  const namespace = groupNamespace(boundaryId, resourceGroup)
  const { domain } = clusterInfo(services, clusterId)
  if (host === defaultHost(segment, namespace, name, domain)) return undefined
  if (host === previous?.spec.ingressHost) return host
  if (!isHostOf(boundaryId, host, domain)) {
    const message = `must end with ${hostSuffixOf(boundaryId, domain)}, as hosts of this boundary do`
    throw refusedFields([{ field: 'ingressHost', message }])
  }
  refuseHeldHost(context, host, { kind, namespace, name }, 'ingressHost')
  return host
}
